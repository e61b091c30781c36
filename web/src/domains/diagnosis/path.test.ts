import { describe, expect, it } from "vitest";
import type { GraphDrawing } from "../../api/documents.ts";
import { edgeOf, stepsOf, visitsOf, walk } from "./path.ts";

const graph: GraphDrawing = {
  nodes: ["planner", "executor", "verifier"],
  edges: [
    ["planner", "executor"],
    ["planner", "planner"],
    ["executor", "verifier"],
  ],
};
const visit = (node: string) => ({ node, state: "done" as const, reason: "" });

describe("walk", () => {
  it("counts each edge that was taken", () => {
    const { taken } = walk(graph, [visit("planner"), visit("planner"), visit("executor")]);
    expect(taken.get(edgeOf("planner", "planner"))).toBe(1);
    expect(taken.get(edgeOf("planner", "executor"))).toBe(1);
  });

  it("draws no edge that the graph does not declare", () => {
    expect(walk(graph, [visit("planner"), visit("verifier")]).taken.size).toBe(0);
  });

  it("keeps a node's latest state", () => {
    const again = [{ ...visit("planner"), state: "failed" as const }, visit("planner")];
    expect(walk(graph, again).states.get("planner")).toBe("done");
  });
});

describe("stepsOf", () => {
  it("begins with what a run begins with, however the server lists it", () => {
    const drawn = stepsOf({
      nodes: ["__end__", "__start__", "again", "look", "plan"],
      edges: [
        ["again", "plan"],
        ["look", "again"],
        ["look", "__end__"],
        ["plan", "look"],
        ["__start__", "plan"],
      ],
    });
    expect(drawn.nodes).toEqual(["plan", "look", "again"]);
    expect(drawn.edges).toEqual([
      ["plan", "look"],
      ["look", "again"],
      ["again", "plan"],
    ]);
  });

  it("keeps every step of a graph that names no beginning", () => {
    expect(stepsOf(graph).nodes).toEqual(graph.nodes);
  });
});

describe("visitsOf", () => {
  const events = [{ node: "planner", outcome: "COMPLETED", reason_code: "PLAN_READY", attempt: 1 }];
  const steps = [
    { name: "dispatch", state: "done" as const, reason: "" },
    { name: "planner", state: "done" as const, reason: "" },
    { name: "executor", state: "running" as const, reason: "" },
  ];

  it("takes what happens now where it is further than what is recorded", () => {
    const visits = visitsOf(events, steps, new Set(graph.nodes));
    expect(visits.map((each) => each.node)).toEqual(["planner", "executor"]);
  });

  it("takes what is recorded where nothing is heard live", () => {
    expect(visitsOf(events, [], new Set(graph.nodes))).toEqual([
      { node: "planner", state: "done", reason: "PLAN_READY" },
    ]);
  });
});
