"""The path of a diagnosis, drawn on the edges that its graph declares."""

from __future__ import annotations

from alfred.engine.orchestration_trace import START, OrchestrationTrace, TraceBuilder
from alfred.graphs.diagnosis import topology as t
from alfred.graphs.diagnosis.state import EVENTS, State, read_count, read_list

TRACES = TraceBuilder(
    edges={
        START: frozenset({t.PLANNER}),
        **{node: frozenset(targets.values()) for node, targets in t.TARGETS.items()},
    },
    degraded_at=frozenset({t.FALLBACK}),
)


def trace_of(state: State) -> OrchestrationTrace:
    """Derive the path of a run from its state; errors: `graph.event`."""
    count = read_count(state, "evidence_retry_count", spent=t.MAX_EVIDENCE_RETRIES)
    return TRACES.build(read_list(state, EVENTS), evidence_retry_count=count)
