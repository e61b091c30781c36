import dagre from "@dagrejs/dagre";
import {
  type Edge,
  MarkerType,
  type Node,
  type NodeHandle,
  Position,
  ReactFlow,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { GraphDrawing } from "../../api/documents.ts";
import { edgeOf, stepsOf, type Visit, walk } from "./path.ts";

const NODE_PX = { width: 128, height: 44 };
const ARROW_PX = 18;
const GAPS_PX = { nodesep: 36, ranksep: 56, edgesep: 24 };
const POINT_PX = { width: 1, height: 1 };
const MIDDLE_PX = { x: NODE_PX.width / 2, y: NODE_PX.height / 2 };

/**
 * Where edges end and begin, said in numbers: what the library measures by itself it forgets when
 * a node is drawn anew, and with it the edge.
 */
const ACROSS = endsAt(
  { type: "target", position: Position.Left, ...POINT_PX, x: 0, y: MIDDLE_PX.y },
  { type: "source", position: Position.Right, ...POINT_PX, x: NODE_PX.width, y: MIDDLE_PX.y },
);
const DOWN = endsAt(
  { type: "target", position: Position.Top, ...POINT_PX, x: MIDDLE_PX.x, y: 0 },
  { type: "source", position: Position.Bottom, ...POINT_PX, x: MIDDLE_PX.x, y: NODE_PX.height },
);

function endsAt(target: NodeHandle, source: NodeHandle) {
  const handles = [target, source];
  return { handles, targetPosition: target.position, sourcePosition: source.position };
}

interface Props {
  graph: GraphDrawing;
  visits: readonly Visit[];
}

/** The graph of a run; the path lights up as it is taken. The list below says the same in words. */
export function PathGraph({ graph: whole, visits }: Props) {
  const { t } = useTranslation("diagnosis");
  const [isWide] = useState(() => window.matchMedia("(min-width: 44rem)").matches);
  const graph = useMemo(() => stepsOf(whole), [whole]);
  const places = useMemo(() => layout(graph, isWide), [graph, isWide]);
  const { states, taken } = walk(graph, visits);
  const ends = isWide ? ACROSS : DOWN;
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
      const axis = isWide ? "x" : "y";
      const isBack = (places.get(target)?.[axis] ?? 0) <= (places.get(source)?.[axis] ?? 0);
      return {
        id: edgeOf(source, target),
        source,
        target,
        // What leads back goes around the boxes instead of through them.
        type: isBack ? "smoothstep" : "default",
        className: count > 0 ? "graph-edge taken" : "graph-edge",
        animated: count > 0 && states.get(target) === "running",
        markerEnd: {
          type: MarkerType.ArrowClosed,
          markerUnits: "userSpaceOnUse",
          width: ARROW_PX,
          height: ARROW_PX,
          color: count > 0 ? "var(--accent)" : "var(--edge)",
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
