"""The path of a machine's run, derived from its events alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from alfred.engine.orchestration_event import OrchestrationEvent, read_event
from alfred.errors import GraphInvalid

VERSION = 1
START = "__start__"


@dataclass(frozen=True, kw_only=True)
class OrchestrationTransition:
    """One edge that the run took; reason and attempt are those of its source."""

    source: str
    target: str
    reason_code: str
    attempt: int

    def to_map(self) -> dict[str, Any]:
        """Return the transition as JSON; its four keys are frozen."""
        return {
            "from": self.source,
            "to": self.target,
            "reason_code": self.reason_code,
            "attempt": self.attempt,
        }


@dataclass(frozen=True, kw_only=True)
class OrchestrationTrace:
    """How a run went. `degraded` says that it ended in the node that answers without the model."""

    version: int
    transitions: tuple[OrchestrationTransition, ...]
    final_node: str
    termination_reason: str
    degraded: bool
    evidence_retry_count: int

    def to_map(self) -> dict[str, Any]:
        """Return the trace as JSON; its six keys are frozen."""
        return {
            "version": self.version,
            "transitions": [step.to_map() for step in self.transitions],
            "final_node": self.final_node,
            "termination_reason": self.termination_reason,
            "degraded": self.degraded,
            "evidence_retry_count": self.evidence_retry_count,
        }


@dataclass(frozen=True, kw_only=True)
class TraceBuilder:
    """Builds the traces of one machine; `edges` are those it declares, its start included."""

    edges: Mapping[str, frozenset[str]]
    degraded_at: frozenset[str]

    def build(self, events: Sequence[Any], *, evidence_retry_count: int) -> OrchestrationTrace:
        """Derive a run's trace; a run that was cut off has one too, up to where it came.

        Errors: `graph.event` for no events, for one that is none or names no node of this machine,
        for neighbours that no edge connects and for an attempt that does not follow on the node's
        last: a path is never guessed, and an event that is doubled or lost is noticed.
        """
        read = [read_event(given) for given in events]
        if not read:
            raise _refused("there are none")
        self._require_path(read)
        if evidence_retry_count < 0:
            raise _refused(f"the count of evidence retries is {evidence_retry_count}")
        return OrchestrationTrace(
            version=VERSION,
            transitions=tuple(
                OrchestrationTransition(
                    source=before["node"],
                    target=after["node"],
                    reason_code=before["reason_code"],
                    attempt=before["attempt"],
                )
                for before, after in pairwise(read)
            ),
            final_node=read[-1]["node"],
            termination_reason=read[-1]["reason_code"],
            degraded=read[-1]["node"] in self.degraded_at,
            evidence_retry_count=evidence_retry_count,
        )

    def _require_path(self, events: Sequence[OrchestrationEvent]) -> None:
        nodes = [event["node"] for event in events]
        for node in nodes:
            if node not in self.edges:
                raise _refused(f"{node!r} is no node of this graph")
        for source, target in pairwise([START, *nodes]):
            if target not in self.edges[source]:
                raise _refused(f"no edge leads from {source!r} to {target!r}")
        runs: Counter[str] = Counter()
        for event in events:
            runs[event["node"]] += 1
            if event["attempt"] != runs[event["node"]]:
                raise _refused(
                    f"attempt {event['attempt']} of {event['node']!r} stands where"
                    f" {runs[event['node']]} is due"
                )


def _refused(problem: str) -> GraphInvalid:
    return GraphInvalid(
        "graph.event",
        f"The events of a run make no path: {problem}.",
        hint="The events of another graph or of another version of it can't be drawn on this one.",
    )
