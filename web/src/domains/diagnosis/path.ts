import type { GraphDrawing } from "../../api/documents.ts";
import type { Step } from "../../live/reading.ts";
import type { StepEvent } from "./runs.ts";

export interface Visit {
  node: string;
  state: Step["state"] | "failed";
  reason: string;
}

/** How the graph stands: each node's latest state, and how often each edge was taken. */
export interface Walk {
  states: ReadonlyMap<string, Visit["state"]>;
  taken: ReadonlyMap<string, number>;
}

export const edgeOf = (source: string, target: string): string => `${source}→${target}`;

/**
 * Order the steps as they lie from the beginning, without where every run begins and ends.
 *
 * Which edges lead back depends on where the drawing begins; unordered, a step that is only
 * reached late could stand first.
 */
export function stepsOf({ nodes, edges }: GraphDrawing): GraphDrawing {
  const isStep = (name: string) => !name.startsWith("__");
  const reached = nodes.filter((name) => name.startsWith("__start"));
  for (const name of reached)
    for (const [source, target] of edges)
      if (source === name && !reached.includes(target)) reached.push(target);
  const steps = [...new Set([...reached, ...nodes])].filter(isStep);
  const place = (edge: readonly [string, string]) => steps.indexOf(edge[0]);
  return {
    nodes: steps,
    edges: edges
      .filter(([source, target]) => isStep(source) && isStep(target))
      .sort((one, other) => place(one) - place(other)),
  };
}

/** Give what was recorded as visits; the step that runs now comes from the live reading. */
export function visitsOf(
  events: readonly StepEvent[],
  steps: readonly Step[],
  nodes: ReadonlySet<string>,
): Visit[] {
  const recorded = events.map(({ node, outcome, reason_code }) => ({
    node,
    state: outcome === "COMPLETED" ? ("done" as const) : ("failed" as const),
    reason: reason_code,
  }));
  const live = steps
    .filter((step) => nodes.has(step.name))
    .map(({ name, state, reason }) => ({ node: name, state, reason }));
  return live.length > recorded.length ? live : recorded;
}

/** Follow visits over the edges that the graph declares; no other is ever drawn as taken. */
export function walk(graph: GraphDrawing, visits: readonly Visit[]): Walk {
  const declared = new Set(graph.edges.map(([source, target]) => edgeOf(source, target)));
  const taken = new Map<string, number>();
  visits.slice(1).forEach((visit, index) => {
    const edge = edgeOf(visits[index]?.node ?? "", visit.node);
    if (declared.has(edge)) taken.set(edge, (taken.get(edge) ?? 0) + 1);
  });
  return { states: new Map(visits.map((visit) => [visit.node, visit.state])), taken };
}
