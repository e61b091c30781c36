import dagre from "@dagrejs/dagre";
import { type Edge, MarkerType, type Node, Position, ReactFlow } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { GraphDrawing } from "../../api/documents.ts";
import { edgeOf, type Visit, walk } from "./path.ts";

const NODE_PX = { width: 112, height: 44 };
const ARROW_PX = 18;
const GAPS_PX = { nodesep: 36, ranksep: 56, edgesep: 24 };

interface Props {
  graph: GraphDrawing;
  visits: readonly Visit[];
}

/** The graph of a run; the path lights up as it is taken. The list below says the same in words. */
export function PathGraph({ graph: whole, visits }: Props) {
  const { t } = useTranslation("diagnosis");
  const [isWide] = useState(() => window.matchMedia("(min-width: 44rem)").matches);
  const graph = useMemo(() => withoutEnds(whole), [whole]);
  const places = useMemo(() => layout(graph, isWide), [graph, isWide]);
  const { states, taken } = walk(graph, visits);
  const ends = isWide
    ? { targetPosition: Position.Left, sourcePosition: Position.Right }
    : { targetPosition: Position.Top, sourcePosition: Position.Bottom };
  const label = (name: string) => {
    const count = visits.filter((visit) => visit.node === name).length;
    const called = t(`nodes.${name as "planner"}`, { defaultValue: name });
    return count > 1 ? `${called} ×${count}` : called;
  };
  const nodes: Node[] = graph.nodes.map((name) => ({
    id: name,
    position: places.get(name) ?? { x: 0, y: 0 },
    data: { label: label(name) },
    className: `graph-node ${states.get(name) ?? ""}`,
    ...ends,
    ...NODE_PX,
  }));
  const edges: Edge[] = graph.edges
    // That a step is tried again stands in its box: a loop from a box to itself is hard to see.
    .filter(([source, target]) => source !== target)
    .map(([source, target]) => {
      const count = taken.get(edgeOf(source, target)) ?? 0;
      return {
        id: edgeOf(source, target),
        source,
        target,
        className: count > 0 ? "graph-edge taken" : "graph-edge",
        animated: count > 0 && states.get(target) === "running",
        markerEnd: {
          type: MarkerType.ArrowClosed,
          markerUnits: "userSpaceOnUse",
          width: ARROW_PX,
          height: ARROW_PX,
          color: count > 0 ? "var(--accent)" : "var(--line)",
        },
      };
    });
  return (
    <div className="graph" role="group" aria-label={t("run.graph")}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        fitView
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        zoomOnScroll={false}
        preventScrolling={false}
        proOptions={{ hideAttribution: false }}
      />
    </div>
  );
}

/** Leave out where every run begins and ends: that is no step. */
function withoutEnds({ nodes, edges }: GraphDrawing): GraphDrawing {
  const isStep = (name: string) => !name.startsWith("__");
  return {
    nodes: nodes.filter(isStep),
    edges: edges.filter(([source, target]) => isStep(source) && isStep(target)),
  };
}

/** Place the nodes in ranks, from left to right where there is room, else from top to bottom. */
function layout(graph: GraphDrawing, isWide: boolean): Map<string, { x: number; y: number }> {
  const drawn = new dagre.graphlib.Graph()
    .setGraph({ ...GAPS_PX, rankdir: isWide ? "LR" : "TB" })
    .setDefaultEdgeLabel(() => ({}));
  for (const name of graph.nodes) drawn.setNode(name, { ...NODE_PX });
  for (const [source, target] of graph.edges) if (source !== target) drawn.setEdge(source, target);
  dagre.layout(drawn);
  return new Map(
    graph.nodes.map((name) => {
      const { x, y } = drawn.node(name) as { x: number; y: number };
      return [name, { x: x - NODE_PX.width / 2, y: y - NODE_PX.height / 2 }];
    }),
  );
}
