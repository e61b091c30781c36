import { describe, expect, it } from "vitest";
import { fieldsOf, isOver, latest, NOTHING_READ, read, type RunEvent } from "./reading.ts";

const after = (...events: RunEvent[]) => events.reduce(read, NOTHING_READ);

describe("read", () => {
  it("shows a step as running until it is finished", () => {
    const begun = after({ type: "RUN_STARTED" }, { type: "STEP_STARTED", stepName: "extract_job" });
    expect(begun.steps).toEqual([{ name: "extract_job", state: "running", reason: "" }]);
    const ended = read(begun, { type: "STEP_FINISHED", stepName: "extract_job" });
    expect(ended.steps.map((step) => step.state)).toEqual(["done"]);
  });

  it("keeps a node that runs again as a step of its own", () => {
    const twice = after(
      { type: "STEP_STARTED", stepName: "planner" },
      { type: "STEP_FINISHED", stepName: "planner" },
      { type: "STEP_STARTED", stepName: "planner" },
    );
    expect(twice.steps.map((step) => step.state)).toEqual(["done", "running"]);
  });

  it("builds the shared document of snapshots and deltas", () => {
    const held = { value: "工程师", evidence: null };
    const reading = after(
      { type: "STATE_SNAPSHOT", snapshot: { fields: {} } },
      {
        type: "STATE_DELTA",
        delta: [
          { op: "add", path: "/fields/extract_job", value: {} },
          { op: "add", path: "/fields/extract_job/~1title", value: held },
        ],
      },
    );
    expect(fieldsOf(reading)).toEqual([{ node: "extract_job", pointer: "/title", ...held }]);
  });

  it("keeps what it has where a delta does not fit", () => {
    const reading = after(
      { type: "STATE_SNAPSHOT", snapshot: { fields: {} } },
      { type: "STATE_DELTA", delta: [{ op: "replace", path: "/none/of/it", value: 1 }] },
    );
    expect(reading.shared).toEqual({ fields: {} });
  });

  it("ends as interrupted where a person has to answer", () => {
    const reading = after(
      { type: "RUN_STARTED" },
      { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [] } },
    );
    expect(reading.state).toBe("interrupted");
    expect(isOver(reading)).toBe(true);
  });

  it("begins anew where the turn is run again", () => {
    const reading = after(
      { type: "STEP_STARTED", stepName: "extract_job" },
      { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [] } },
      { type: "RUN_STARTED" },
    );
    expect(reading).toEqual({ ...NOTHING_READ, state: "running" });
  });

  it("says what goes on with the names that people know of the steps", () => {
    const called = (node: string) => (node === "extract_job" ? "阅读招聘信息" : node);
    const said = (text: string) => latest(after({ type: "CUSTOM", value: { text } }), called);
    expect(said("extract_job[2]: reading …")).toBe("阅读招聘信息[2]: reading …");
    expect(said("Fetching https://jobs.example …")).toBe("Fetching https://jobs.example …");
    expect(latest(NOTHING_READ, called)).toBe("");
  });

  it("joins the pieces of a reply", () => {
    const reading = after(
      { type: "TEXT_MESSAGE_START" },
      { type: "TEXT_MESSAGE_CONTENT", delta: "原因" },
      { type: "TEXT_MESSAGE_CONTENT", delta: "已找到" },
    );
    expect(reading.reply).toBe("原因已找到");
  });
});
