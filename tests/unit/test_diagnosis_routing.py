"""The routes of a diagnosis on the real compiled graph, one behaviour of the design a test."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import httpx
import pytest

from alfred.engine.attempt import Decision
from alfred.errors import AnswerInvalid, GraphInvalid, LoopExhausted, ModelFailed
from alfred.graphs.diagnosis import topology as t
from alfred.graphs.diagnosis.factory import build_diagnosis_graph, compile_diagnosis_graph
from alfred.graphs.diagnosis.ports import DiagnosisActions
from alfred.graphs.diagnosis.state import EVENTS
from alfred.graphs.diagnosis.trace import TRACES
from tests.diagnosis_world import (
    ADMITTED,
    BUILT,
    COMPOSED,
    FELL_BACK,
    GAP,
    GATHERED,
    PLANNED,
    RETRY,
    ROUND,
    SUPPORTED,
    Outcome,
    ScriptedPorts,
    UnexpectedCallError,
    ended,
    path_of,
    verdict,
)

NORMAL = [t.PLANNER, t.EXECUTOR, t.GATEKEEPER, t.VERIFIED_INPUT, t.VERIFIER, t.COMPOSER]
PASSED = verdict("PASS", SUPPORTED)
UNSURE = verdict("LOW_CONFID", GAP)
Script = Iterable[tuple[str, Outcome]]


@pytest.fixture(scope="module")
def ports() -> ScriptedPorts:
    return ScriptedPorts()


def reasons(state: dict[str, Any]) -> list[str]:
    return [event["reason_code"] for event in state[EVENTS]]


async def test_a_normal_diagnosis_runs_each_node_once(ports: ScriptedPorts) -> None:
    final = await ports.replay([*ROUND, PASSED, COMPOSED])
    assert ports.sequence == NORMAL
    assert reasons(final)[-1] == t.ANSWER_COMPOSED
    assert final["composer_output"] == {"text": "so"}
    assert "fallback_output" not in final


async def test_each_port_sees_the_thread_of_its_own_run(ports: ScriptedPorts) -> None:
    await ports.replay([*ROUND, PASSED, COMPOSED])
    first = list(ports.thread_ids)
    await ports.replay([*ROUND, PASSED, COMPOSED])
    assert len(first) == len(ports.thread_ids) == 6
    assert len(set(first)) == len(set(ports.thread_ids)) == 1
    assert set(first).isdisjoint(ports.thread_ids)


@pytest.mark.parametrize("status", ["INVALID_OUTPUT", "RETRYABLE_FAILED"])
async def test_a_planner_that_fails_technically_once_is_asked_again(
    ports: ScriptedPorts, status: str
) -> None:
    final = await ports.replay([ended(t.PLANNER, status), *ROUND, PASSED, COMPOSED])
    assert ports.sequence == [t.PLANNER, *NORMAL]
    assert reasons(final)[:2] == [f"PLANNER_{status}", t.PLAN_READY]
    assert final["planner_retry_count"] == 1


@pytest.mark.parametrize("status", ["INVALID_OUTPUT", "RETRYABLE_FAILED"])
async def test_a_planner_that_fails_technically_twice_falls_back(
    ports: ScriptedPorts, status: str
) -> None:
    final = await ports.replay([ended(t.PLANNER, status), ended(t.PLANNER, status), FELL_BACK])
    assert ports.sequence == [t.PLANNER, t.PLANNER, t.FALLBACK]
    assert reasons(final)[1:] == [t.PLANNER_RETRY_EXHAUSTED] * 2


@pytest.mark.parametrize("status", ["FAILED", "NO_SUCH_STATUS"])
async def test_a_planner_that_fails_otherwise_falls_back_at_once(
    ports: ScriptedPorts, status: str
) -> None:
    final = await ports.replay([ended(t.PLANNER, status), FELL_BACK])
    assert ports.sequence == [t.PLANNER, t.FALLBACK]
    known = status == "FAILED"
    assert reasons(final)[1] == (t.PLANNER_FAILED if known else t.PLANNER_STATUS_UNKNOWN)


async def test_evidence_that_is_partial_is_admitted_like_any(ports: ScriptedPorts) -> None:
    partial = (t.EXECUTOR, {"executor_status": "PARTIAL"})
    final = await ports.replay([PLANNED, partial, ADMITTED, BUILT, PASSED, COMPOSED])
    assert ports.sequence == NORMAL
    assert t.EVIDENCE_PARTIAL in reasons(final)


@pytest.mark.parametrize("status", ["FAILED", "NO_SUCH_STATUS"])
async def test_an_executor_that_gathered_nothing_falls_back(
    ports: ScriptedPorts, status: str
) -> None:
    await ports.replay([PLANNED, ended(t.EXECUTOR, status), FELL_BACK])
    assert ports.sequence == [t.PLANNER, t.EXECUTOR, t.FALLBACK]


@pytest.mark.parametrize("status", ["REJECTED", "FAILED", "NO_SUCH_STATUS"])
async def test_a_gatekeeper_that_admits_nothing_falls_back(
    ports: ScriptedPorts, status: str
) -> None:
    await ports.replay([PLANNED, GATHERED, ended(t.GATEKEEPER, status), FELL_BACK])
    assert ports.sequence == [t.PLANNER, t.EXECUTOR, t.GATEKEEPER, t.FALLBACK]


@pytest.mark.parametrize("status", ["INVALID_OUTPUT", "RETRYABLE_FAILED"])
async def test_a_verifier_that_fails_technically_once_is_asked_again(
    ports: ScriptedPorts, status: str
) -> None:
    final = await ports.replay([*ROUND, ended(t.VERIFIER, status), PASSED, COMPOSED])
    assert ports.sequence == [*NORMAL[:5], t.VERIFIER, t.COMPOSER]
    assert final["verifier_retry_count"] == 1


@pytest.mark.parametrize("status", ["INVALID_OUTPUT", "RETRYABLE_FAILED"])
async def test_a_verifier_that_fails_technically_twice_falls_back(
    ports: ScriptedPorts, status: str
) -> None:
    failed = ended(t.VERIFIER, status)
    final = await ports.replay([*ROUND, failed, failed, FELL_BACK])
    assert ports.sequence == [*NORMAL[:5], t.VERIFIER, t.FALLBACK]
    assert reasons(final)[-1] == t.VERIFIER_RETRY_EXHAUSTED


@pytest.mark.parametrize("status", ["FAILED", "NO_SUCH_STATUS"])
async def test_a_verifier_that_fails_otherwise_falls_back(
    ports: ScriptedPorts, status: str
) -> None:
    await ports.replay([*ROUND, ended(t.VERIFIER, status), FELL_BACK])
    assert ports.sequence == [*NORMAL[:5], t.FALLBACK]


async def test_a_verifier_that_completes_without_a_verdict_falls_back(
    ports: ScriptedPorts,
) -> None:
    for word in (None, "MAYBE"):
        final = await ports.replay([*ROUND, verdict(word, SUPPORTED), FELL_BACK])
        assert ports.sequence == [*NORMAL[:5], t.FALLBACK]
        assert reasons(final)[-1] == t.VERDICT_MISSING


async def test_a_rejecting_verdict_is_still_composed(ports: ScriptedPorts) -> None:
    final = await ports.replay([*ROUND, verdict("REJECT", ("a", "contradicted")), COMPOSED])
    assert ports.sequence == NORMAL
    assert t.VERDICT_REJECT in reasons(final)


@pytest.mark.parametrize("verification", ["no_evidence", "indirect_support"])
async def test_low_confidence_with_a_gap_gathers_once_more(
    ports: ScriptedPorts, verification: str
) -> None:
    unsure = verdict("LOW_CONFID", ("the pool", verification))
    final = await ports.replay([*ROUND, unsure, RETRY, *ROUND, PASSED, COMPOSED])
    assert ports.sequence == [*NORMAL[:5], t.EVIDENCE_RETRY, *NORMAL]
    assert final["evidence_retry_count"] == 1
    assert final["planner_mode"] == "EVIDENCE_GAP_ONLY"
    assert reasons(final)[6] == t.GAP_PLAN_READY


async def test_a_second_low_confidence_is_composed(ports: ScriptedPorts) -> None:
    final = await ports.replay([*ROUND, UNSURE, RETRY, *ROUND, UNSURE, COMPOSED])
    assert ports.calls[t.EVIDENCE_RETRY] == 1
    assert reasons(final)[-2:] == [t.LOW_CONFID_RETRY_EXHAUSTED, t.ANSWER_COMPOSED]


@pytest.mark.parametrize("ceiling", ["LOW_CONFID", "REJECT", None])
async def test_low_confidence_under_a_low_ceiling_is_composed(
    ports: ScriptedPorts, ceiling: str | None
) -> None:
    admitted = (
        t.GATEKEEPER,
        {"gatekeeper_status": "COMPLETED", "verifier_verdict_ceiling": ceiling},
    )
    final = await ports.replay([PLANNED, GATHERED, admitted, BUILT, UNSURE, COMPOSED])
    assert ports.sequence == NORMAL
    assert t.LOW_CONFID_CEILING in reasons(final)


async def test_low_confidence_without_a_gap_is_composed(ports: ScriptedPorts) -> None:
    for facts in ((), (SUPPORTED,), (("  ", "no_evidence"),)):
        final = await ports.replay([*ROUND, verdict("LOW_CONFID", *facts), COMPOSED])
        assert ports.sequence == NORMAL
        assert t.LOW_CONFID_NO_GAP in reasons(final)


async def test_the_second_round_has_technical_retries_of_its_own(ports: ScriptedPorts) -> None:
    failed_plan, failed_check = (
        ended(t.PLANNER, "INVALID_OUTPUT"),
        ended(t.VERIFIER, "INVALID_OUTPUT"),
    )
    once = [failed_plan, *ROUND, failed_check]
    failed_text = ended(t.COMPOSER, "RETRYABLE_FAILED")
    final = await ports.replay(
        [*once, UNSURE, RETRY, *once, PASSED, failed_text, failed_text, FELL_BACK]
    )
    assert len(ports.sequence) == 18
    assert ports.calls == dict(t.ENTRIES)
    assert final["evidence_retry_count"] == 1


async def test_a_technical_retry_does_not_spend_the_evidence_retry(ports: ScriptedPorts) -> None:
    once = [ended(t.PLANNER, "RETRYABLE_FAILED"), *ROUND, ended(t.VERIFIER, "RETRYABLE_FAILED")]
    final = await ports.replay([*once, UNSURE, RETRY, *ROUND, PASSED, COMPOSED])
    assert final["evidence_retry_count"] == 1
    assert final["planner_retry_count"] == 0
    assert final["verifier_retry_count"] == 0


async def test_nothing_that_the_verifier_said_of_the_first_round_routes_the_second(
    ports: ScriptedPorts,
) -> None:
    silent = (t.VERIFIER, {"verifier_status": "COMPLETED"})
    final = await ports.replay([*ROUND, UNSURE, RETRY, *ROUND, silent, FELL_BACK])
    assert reasons(final)[-1] == t.VERDICT_MISSING
    assert final["effective_verdict"] is None


@pytest.mark.parametrize("status", ["INVALID_OUTPUT", "RETRYABLE_FAILED"])
async def test_a_composer_that_fails_technically_once_is_asked_again(
    ports: ScriptedPorts, status: str
) -> None:
    final = await ports.replay([*ROUND, PASSED, ended(t.COMPOSER, status), COMPOSED])
    assert ports.sequence == [*NORMAL, t.COMPOSER]
    assert final["composer_retry_count"] == 1


@pytest.mark.parametrize("status", ["INVALID_OUTPUT", "RETRYABLE_FAILED"])
async def test_a_composer_that_fails_technically_twice_falls_back(
    ports: ScriptedPorts, status: str
) -> None:
    failed = ended(t.COMPOSER, status)
    final = await ports.replay([*ROUND, PASSED, failed, failed, FELL_BACK])
    assert ports.sequence == [*NORMAL, t.COMPOSER, t.FALLBACK]
    assert reasons(final)[-1] == t.COMPOSER_RETRY_EXHAUSTED


@pytest.mark.parametrize("status", ["FAILED", "NO_SUCH_STATUS"])
async def test_a_composer_that_fails_otherwise_falls_back(
    ports: ScriptedPorts, status: str
) -> None:
    await ports.replay([*ROUND, PASSED, ended(t.COMPOSER, status), FELL_BACK])
    assert ports.sequence == [*NORMAL, t.FALLBACK]


async def test_each_attempt_leaves_one_event_that_counts_it(ports: ScriptedPorts) -> None:
    final = await ports.replay([ended(t.PLANNER, "INVALID_OUTPUT"), *ROUND, PASSED, COMPOSED])
    attempts = [(event["node"], event["attempt"]) for event in final[EVENTS]]
    assert attempts[:3] == [(t.PLANNER, 1), (t.PLANNER, 2), (t.EXECUTOR, 1)]
    assert path_of(final) == ports.sequence
    assert all(set(e) == {"node", "outcome", "reason_code", "attempt"} for e in final[EVENTS])


async def test_calls_of_both_rounds_are_in_the_trace_of_tools(ports: ScriptedPorts) -> None:
    again = (t.EXECUTOR, {"executor_status": "COMPLETED", "tool_trace": [{"id": "c2"}]})
    second = [PLANNED, again, ADMITTED, BUILT]
    final = await ports.replay([*ROUND, UNSURE, RETRY, *second, PASSED, COMPOSED])
    assert final["tool_trace"] == [{"id": "c1"}, {"id": "c2"}]


async def test_a_port_sees_only_its_part_of_the_state(ports: ScriptedPorts) -> None:
    await ports.replay(
        [*ROUND, PASSED, COMPOSED], {"run_id": "r", "session_id": "s", "user_query": "why?"}
    )
    verifier = ports.views[ports.sequence.index(t.VERIFIER)]
    assert set(verifier) == {"verified_input", "verifier_verdict_ceiling", "verifier_output"}
    planner = ports.views[0]
    assert planner == {"run_id": "r", "session_id": "s", "user_query": "why?"}


def test_a_port_that_is_missing_or_not_async_is_refused_when_the_ports_are_given() -> None:
    async def port(*_: Any) -> dict[str, Any]:
        return {}

    given: dict[str, Any] = dict.fromkeys(t.NODES, port)
    DiagnosisActions(**given)

    class Callable:
        async def __call__(self, *_: Any) -> dict[str, Any]:
            return {}

    DiagnosisActions(**{**given, t.COMPOSER: Callable()})
    for wrong in (None, dict, 3, Callable):
        with pytest.raises(GraphInvalid, match="composer") as refused:
            DiagnosisActions(**{**given, t.COMPOSER: wrong})
        assert refused.value.code == "graph.port"


def test_the_graph_declares_its_budgets_and_its_limit() -> None:
    async def port(*_: Any) -> dict[str, Any]:
        return {}

    builder = build_diagnosis_graph(DiagnosisActions(**dict.fromkeys(t.NODES, port)))
    declared = {node: spec.metadata["loop_entries"] for node, spec in builder.nodes.items()}
    assert declared == dict(t.ENTRIES)
    assert sum(declared.values()) == 18 < t.RECURSION_LIMIT
    compiled = compile_diagnosis_graph(DiagnosisActions(**dict.fromkeys(t.NODES, port)))
    assert compiled.config is not None
    assert compiled.config["recursion_limit"] == 32


FAILURES: list[tuple[Exception, str]] = [
    (TimeoutError(), "RETRYABLE_FAILED"),
    (ConnectionResetError(), "RETRYABLE_FAILED"),
    (httpx.ReadTimeout("slow"), "RETRYABLE_FAILED"),
    (httpx.ConnectError("down"), "RETRYABLE_FAILED"),
    (ModelFailed("model.timeout", "slow"), "RETRYABLE_FAILED"),
    (ModelFailed("model.overloaded", "busy"), "RETRYABLE_FAILED"),
    (ModelFailed("model.no_key", "no key"), "FAILED"),
    (AnswerInvalid("model.invalid_output", "no"), "INVALID_OUTPUT"),
    (AnswerInvalid("model.truncated", "cut"), "INVALID_OUTPUT"),
    *(
        (
            httpx.HTTPStatusError(
                str(code),
                request=httpx.Request("GET", "http://metrics.test"),
                response=httpx.Response(code),
            ),
            status,
        )
        for code, status in (
            (500, "RETRYABLE_FAILED"),
            (503, "RETRYABLE_FAILED"),
            (429, "RETRYABLE_FAILED"),
            (404, "FAILED"),
            (401, "FAILED"),
        )
    ),
    (ValueError("whatever"), "FAILED"),
    (KeyError("x"), "FAILED"),
]


@pytest.mark.parametrize(("error", "status"), FAILURES, ids=lambda value: repr(value)[:40])
async def test_what_a_port_raises_becomes_its_status(
    ports: ScriptedPorts, error: Exception, status: str
) -> None:
    rest: Script = [FELL_BACK] if status == "FAILED" else [*ROUND, PASSED, COMPOSED]
    final = await ports.replay([(t.PLANNER, error), *rest])
    assert final[EVENTS][0]["outcome"] == status


@pytest.mark.parametrize("node", [t.VERIFIED_INPUT, t.EVIDENCE_RETRY, t.FALLBACK])
async def test_a_step_without_a_status_that_raises_leaves_nothing_and_goes_on(
    ports: ScriptedPorts, node: str
) -> None:
    failed = (node, RuntimeError("broken"))
    scripts: dict[str, list[tuple[str, Outcome]]] = {
        t.VERIFIED_INPUT: [PLANNED, GATHERED, ADMITTED, failed, PASSED, COMPOSED],
        t.EVIDENCE_RETRY: [*ROUND, UNSURE, failed, *ROUND, PASSED, COMPOSED],
        t.FALLBACK: [ended(t.PLANNER, "FAILED"), failed],
    }
    final = await ports.replay(scripts[node])
    event = next(event for event in final[EVENTS] if event["node"] == node)
    assert event["outcome"] == "FAILED"
    written = {t.EVIDENCE_RETRY: "retry_context", t.FALLBACK: "fallback_output"}
    assert final[written.get(node, node)] is None


@pytest.mark.parametrize(
    "returned",
    [
        {"composer_status": "COMPLETED", "composer_retry_count": 0},
        {"composer_status": "COMPLETED", "orchestration_events": []},
        {"composer_status": "COMPLETED", "effective_verdict": "PASS"},
        {"composer_status": "COMPLETED", "surprise": 1},
        ["composer_status"],
        None,
    ],
)
async def test_a_port_that_writes_what_is_not_its_own_has_failed(
    ports: ScriptedPorts, returned: Any
) -> None:
    final = await ports.replay([*ROUND, PASSED, (t.COMPOSER, returned), FELL_BACK])
    assert reasons(final)[-1] == t.COMPOSER_FAILED


async def test_a_call_that_no_script_expects_stops_the_run(ports: ScriptedPorts) -> None:
    with pytest.raises(UnexpectedCallError, match="composer was called once too often"):
        await ports.replay([*ROUND, PASSED])


async def test_an_entry_beyond_the_budget_is_an_error_and_not_another_round() -> None:
    def forever(_: str, __: Any) -> Decision:
        return Decision(t.RETRY_PLANNER, t.PLANNER_INVALID_OUTPUT)

    ports = ScriptedPorts(lambda actions: compile_diagnosis_graph(actions, decide=forever))
    with pytest.raises(LoopExhausted, match="'planner' was to run more than 4 times"):
        await ports.replay([PLANNED] * 5)
    assert ports.calls == {t.PLANNER: 4}


async def test_a_cancelled_run_is_cancelled_and_not_failed() -> None:
    started = asyncio.Event()

    async def hang(*_: Any) -> dict[str, Any]:
        started.set()
        await asyncio.sleep(60)
        return {}

    graph = compile_diagnosis_graph(DiagnosisActions(**dict.fromkeys(t.NODES, hang)))
    run = asyncio.create_task(graph.ainvoke({"run_id": "r"}))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


async def test_the_trace_of_a_replay_has_the_frozen_keys(ports: ScriptedPorts) -> None:
    final = await ports.replay([PLANNED, ended(t.EXECUTOR, "FAILED"), FELL_BACK])
    assert TRACES.build(final[EVENTS], evidence_retry_count=0).to_map() == {
        "version": 1,
        "transitions": [
            {"from": "planner", "to": "executor", "reason_code": "PLAN_READY", "attempt": 1},
            {"from": "executor", "to": "fallback", "reason_code": "EXECUTOR_FAILED", "attempt": 1},
        ],
        "final_node": "fallback",
        "termination_reason": "EXECUTOR_FAILED",
        "degraded": True,
        "evidence_retry_count": 0,
    }
