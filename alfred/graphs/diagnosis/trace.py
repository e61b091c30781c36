"""The path of a diagnosis, drawn on the edges that its graph declares."""

from __future__ import annotations

from alfred.engine.orchestration_trace import START, TraceBuilder
from alfred.graphs.diagnosis import topology as t

TRACES = TraceBuilder(
    edges={
        START: frozenset({t.PLANNER}),
        **{node: frozenset(targets.values()) for node, targets in t.TARGETS.items()},
    },
    degraded_at=frozenset({t.FALLBACK}),
)
