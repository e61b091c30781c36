"""A path is read from events alone: in order, on declared edges, without a word of payload."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from alfred.engine.orchestration_event import make_event
from alfred.engine.orchestration_trace import START, TraceBuilder
from alfred.errors import GraphInvalid

TRACES = TraceBuilder(
    edges={
        START: frozenset({"plan"}),
        "plan": frozenset({"plan", "act", "give_up"}),
        "act": frozenset({"__end__"}),
        "give_up": frozenset({"__end__"}),
    },
    degraded_at=frozenset({"give_up"}),
)
RETRIED = [
    make_event("plan", "INVALID_OUTPUT", "TRY_AGAIN", 1),
    make_event("plan", "COMPLETED", "READY", 2),
    make_event("act", "COMPLETED", "DONE", 1),
]
FRESH: dict[str, Any] = {"node": "plan", "outcome": "X", "reason_code": "R", "attempt": 1}


def test_neighbouring_events_are_the_transitions_in_their_order() -> None:
    trace = TRACES.build(RETRIED, evidence_retry_count=1)
    assert [(s.source, s.target, s.reason_code, s.attempt) for s in trace.transitions] == [
        ("plan", "plan", "TRY_AGAIN", 1),
        ("plan", "act", "READY", 2),
    ]
    assert (trace.final_node, trace.termination_reason) == ("act", "DONE")
    assert trace.degraded is False


def test_a_run_that_ended_in_the_fallback_is_degraded() -> None:
    events = [RETRIED[0], make_event("give_up", "COMPLETED", "TRY_AGAIN", 1)]
    trace = TRACES.build(events, evidence_retry_count=0)
    assert trace.degraded is True
    assert trace.termination_reason == "TRY_AGAIN"


def test_the_map_has_the_frozen_keys_and_nothing_else() -> None:
    made = TRACES.build(RETRIED, evidence_retry_count=1).to_map()
    assert list(made) == [
        "version",
        "transitions",
        "final_node",
        "termination_reason",
        "degraded",
        "evidence_retry_count",
    ]
    assert all(list(s) == ["from", "to", "reason_code", "attempt"] for s in made["transitions"])


def test_a_trace_cannot_be_changed() -> None:
    trace = TRACES.build(RETRIED, evidence_retry_count=0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.degraded = True  # type: ignore[misc]
    assert isinstance(trace.transitions, tuple)
    trace.to_map()["transitions"].clear()
    assert len(trace.transitions) == 2


@pytest.mark.parametrize(
    "events",
    [
        [],
        ["plan"],
        [None],
        [{}],
        [{**FRESH, "text": "the user's words"}],
        [{key: value for key, value in FRESH.items() if key != "attempt"}],
        [{**FRESH, "node": " "}],
        [{**FRESH, "outcome": ""}],
        [{**FRESH, "reason_code": None}],
        [{**FRESH, "attempt": 0}],
        [{**FRESH, "attempt": True}],
        [{**FRESH, "attempt": "1"}],
        [{**FRESH, "node": "elsewhere"}],
    ],
)
def test_no_events_and_what_is_no_event_are_refused(events: list[Any]) -> None:
    with pytest.raises(GraphInvalid) as refused:
        TRACES.build(events, evidence_retry_count=0)
    assert refused.value.code == "graph.event"


@pytest.mark.parametrize("nodes", [["act"], ["plan", "act", "plan"], ["plan", "give_up", "act"]])
def test_neighbours_without_an_edge_are_refused(nodes: list[str]) -> None:
    events = [make_event(node, "COMPLETED", "R", 1) for node in nodes]
    with pytest.raises(GraphInvalid, match="no edge leads from"):
        TRACES.build(events, evidence_retry_count=0)


@pytest.mark.parametrize("attempts", [[1, 1], [2], [1, 3], [2, 1]])
def test_an_event_that_is_doubled_or_lost_is_noticed(attempts: list[int]) -> None:
    events = [make_event("plan", "INVALID_OUTPUT", "TRY_AGAIN", each) for each in attempts]
    with pytest.raises(GraphInvalid, match="is due"):
        TRACES.build(events, evidence_retry_count=0)


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(GraphInvalid, match="evidence retries is -1"):
        TRACES.build(RETRIED, evidence_retry_count=-1)
