"""The diagnosis machine does what its design says, on every path, computed from its own code."""

from __future__ import annotations

import typing
from collections.abc import Callable
from enum import StrEnum
from itertools import pairwise

import pytest

from alfred.graphs.diagnosis import status
from alfred.graphs.diagnosis import topology as t
from alfred.graphs.diagnosis.factory import STEPS, compile_diagnosis_graph
from alfred.graphs.diagnosis.router import decide
from alfred.graphs.diagnosis.state import EVENTS, DiagnosisState
from alfred.graphs.diagnosis.trace import trace_of
from tests.diagnosis_claims import (
    PURE,
    Subject,
    every_path_and_row_is_replayed_on_the_compiled_graph,
)
from tests.diagnosis_world import ScriptedPorts

KEYS = [
    "run_id",
    "session_id",
    "user_query",
    "incident_context",
    "planner_mode",
    "planner_status",
    "planner_output",
    "planner_retry_count",
    "executor_status",
    "executor_output",
    "tool_trace",
    "gatekeeper_status",
    "gatekeeper_output",
    "verifier_verdict_ceiling",
    "verified_input",
    "verifier_status",
    "verifier_output",
    "effective_verdict",
    "verifier_retry_count",
    "retry_context",
    "evidence_retry_count",
    "composer_status",
    "composer_output",
    "composer_retry_count",
    "fallback_output",
    "orchestration_events",
]


@pytest.fixture(scope="module")
def installed() -> Subject:
    return Subject(decide=decide, steps=STEPS, compile=compile_diagnosis_graph)


@pytest.mark.parametrize("claim", PURE, ids=lambda claim: claim.__name__)
def test_the_installed_machine_keeps_each_claim(
    installed: Subject, claim: Callable[[Subject], None]
) -> None:
    claim(installed)


async def test_every_path_and_row_is_replayed_on_the_compiled_graph(installed: Subject) -> None:
    await every_path_and_row_is_replayed_on_the_compiled_graph(installed)


async def test_every_replay_has_a_trace_of_its_transitions(installed: Subject) -> None:
    ports = ScriptedPorts()
    for path, script in installed.explored.paths.items():
        final = await ports.replay(script)
        trace = trace_of(final)
        steps = [(step.source, step.target) for step in trace.transitions]
        assert steps == list(pairwise(path))
        assert trace.final_node == path[-1]
        assert trace.degraded is (path[-1] == t.FALLBACK)
        assert trace.evidence_retry_count == path.count(t.EVIDENCE_RETRY)
        if trace.degraded:
            assert trace.termination_reason == trace.transitions[-1].reason_code


def test_the_state_declares_exactly_the_26_keys_and_only_the_events_append() -> None:
    hints = typing.get_type_hints(DiagnosisState, include_extras=True)
    assert len(KEYS) == 26
    assert list(hints) == KEYS
    appending = [key for key, hint in hints.items() if hasattr(hint, "__metadata__")]
    assert appending == [EVENTS]


def test_the_words_of_statuses_verdicts_and_modes_are_those_of_the_design() -> None:
    technical = ["COMPLETED", "INVALID_OUTPUT", "RETRYABLE_FAILED", "FAILED"]
    designed: dict[type[StrEnum], list[str]] = {
        status.PlannerStatus: technical,
        status.VerifierStatus: technical,
        status.ComposerStatus: technical,
        status.ExecutorStatus: ["COMPLETED", "PARTIAL", "FAILED"],
        status.GatekeeperStatus: ["COMPLETED", "REJECTED", "FAILED"],
        status.Verdict: ["PASS", "LOW_CONFID", "REJECT"],
        status.PlannerMode: ["FULL", "EVIDENCE_GAP_ONLY"],
        status.FactVerification: [
            "direct_support",
            "indirect_support",
            "no_evidence",
            "contradicted",
        ],
    }
    assert {kind: [str(word) for word in kind] for kind in designed} == designed
