"""Whatever a port does, the wrapper keeps the state plain, its events whole and its counts true."""

from __future__ import annotations

import asyncio
import copy
import json
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from alfred.engine.attempt import Step, settle
from alfred.engine.orchestration_event import append_events, make_event
from alfred.errors import GraphInvalid
from alfred.graphs.diagnosis import topology as t
from alfred.graphs.diagnosis.factory import build_diagnosis_graph, compile_diagnosis_graph
from alfred.graphs.diagnosis.ports import DiagnosisActions
from alfred.graphs.diagnosis.router import decide
from alfred.graphs.diagnosis.state import EVENTS
from alfred.graphs.diagnosis.status import FactVerification, PlannerStatus, Verdict, VerifierStatus
from alfred.graphs.diagnosis.trace import trace_of
from tests.diagnosis_world import (
    ADMITTED,
    BUILT,
    COMPOSED,
    FELL_BACK,
    GAP,
    GATHERED,
    PLANNED,
    RETRY,
    SUPPORTED,
    path_of,
    verdict,
)

Act = Callable[..., Awaitable[Any]]
NORMAL = [t.PLANNER, t.EXECUTOR, t.GATEKEEPER, t.VERIFIED_INPUT, t.VERIFIER, t.COMPOSER]
PLAIN_OUTCOMES = dict(
    [PLANNED, GATHERED, ADMITTED, BUILT, verdict("PASS", SUPPORTED), RETRY, COMPOSED, FELL_BACK]
)


def returning(outcome: Any) -> Act:
    async def port(*_: Any) -> Any:
        return outcome

    return port


def raising(error: BaseException) -> Act:
    async def port(*_: Any) -> Any:
        raise error

    return port


def actions(**given: Act) -> DiagnosisActions:
    """Give the ports of a normal diagnosis, but for those named."""
    plain = {node: returning(PLAIN_OUTCOMES[node]) for node in t.NODES}
    return DiagnosisActions(**{**plain, **given})


def thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


async def run(given: Mapping[str, Any] | None = None, **ports: Act) -> dict[str, Any]:
    """Run with checkpoints, so that what cannot be saved is noticed."""
    graph = compile_diagnosis_graph(actions(**ports), checkpoints=InMemorySaver())
    return dict(await graph.ainvoke(dict(given or {"run_id": "r"}), thread("t")))


async def test_a_port_that_changes_what_it_sees_changes_nothing() -> None:
    def spoiling(outcome: Any) -> Act:
        async def port(view: dict[str, Any], *_: Any) -> Any:
            for value in view.values():
                if isinstance(value, dict | list):
                    value.clear()
            view["planner_mode"] = "EVIDENCE_GAP_ONLY"
            return outcome

        return port

    given = {"run_id": "r", "incident_context": {"alerts": ["slow"]}}
    spoilt = {node: spoiling(PLAIN_OUTCOMES[node]) for node in t.NODES}
    final = await run(copy.deepcopy(given), **spoilt)
    assert final == await run(copy.deepcopy(given))
    fallen = {**spoilt, t.COMPOSER: spoiling({"composer_status": "FAILED"})}
    end = await run(given, **fallen)
    assert path_of(end) == [*NORMAL, t.FALLBACK]
    assert end[EVENTS][-1]["attempt"] == 1
    assert given["incident_context"] == {"alerts": ["slow"]}


async def test_what_a_port_keeps_of_its_answer_is_not_the_state() -> None:
    answer = {"planner_status": "COMPLETED", "planner_output": {"steps": [1]}}

    async def later(*_: Any) -> Any:
        answer["planner_output"] = {}
        steps.clear()
        return PLAIN_OUTCOMES[t.EXECUTOR]

    steps: list[Any] = answer["planner_output"]["steps"]  # type: ignore[index]
    final = await run(planner=returning(answer), executor=later)
    assert final["planner_output"] == {"steps": [1]}


async def test_members_of_enums_are_kept_as_the_text_they_stand_for() -> None:
    fact = {"fact": "pool", "verification": FactVerification.DIRECT_SUPPORT}
    final = await run(
        planner=returning(
            {"planner_status": PlannerStatus.COMPLETED, "planner_output": {"a": (1,)}}
        ),
        verifier=returning(
            {
                "verifier_status": VerifierStatus.COMPLETED,
                "effective_verdict": Verdict.PASS,
                "verifier_output": {"facts_checked": (fact,)},
            }
        ),
    )
    assert path_of(final) == NORMAL
    assert final["planner_output"] == {"a": [1]}
    kept = final["verifier_output"]["facts_checked"][0]["verification"]
    for text in (final["planner_status"], final["effective_verdict"], kept):
        assert type(text) is str


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


def ring() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {"a": {1, 2}},
        math.nan,
        [math.inf],
        2**63,
        {"a": -(2**63) - 1},
        datetime(2031, 5, 1, tzinfo=UTC),
        {("a", "b"): 1},
        nested(100),
        nested(100_000),
        ring(),
        b"bytes",
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_value_that_no_checkpoint_can_hold_is_a_failure_of_its_port(value: Any) -> None:
    returned = {"composer_status": "COMPLETED", "composer_output": value}
    final = await run(composer=returning(returned))
    assert path_of(final) == [*NORMAL, t.FALLBACK]
    assert final[EVENTS][-1]["reason_code"] == t.COMPOSER_FAILED
    assert final["composer_output"] is None


async def test_large_and_odd_values_that_json_can_hold_pass_unchanged() -> None:
    value = {"text": "\ud800 \x00 日志" * 50_000, "n": [2**63 - 1, -(2**63), 0.1, None, True]}
    value["deep"] = nested(97)
    returned = {"composer_status": "COMPLETED", "composer_output": value}
    final = await run(composer=returning(returned))
    assert final["composer_output"] == value
    assert json.dumps(final)


async def test_what_is_too_deep_to_be_copied_for_a_port_still_ends() -> None:
    graph = compile_diagnosis_graph(actions())
    final = await graph.ainvoke({"run_id": "r", "incident_context": {"deep": nested(900)}})
    assert path_of(final) == [t.PLANNER, t.FALLBACK]


@pytest.mark.parametrize("error", [TimeoutError(), ValueError("x")])
async def test_a_step_that_is_never_tried_again_has_failed_whatever_it_met(
    error: Exception,
) -> None:
    for node, reason in ((t.EXECUTOR, t.EXECUTOR_FAILED), (t.GATEKEEPER, t.GATEKEEPER_FAILED)):
        final = await run(**{node: raising(error)})
        assert final[f"{node}_status"] == "FAILED"
        assert final[EVENTS][-1]["reason_code"] == reason
        assert final[EVENTS][-2]["outcome"] == "FAILED"
    final = await run(verified_input=raising(error))
    assert final[EVENTS][3]["outcome"] == "FAILED"


async def test_a_run_that_crashed_goes_on_where_it_was_with_each_event_once() -> None:
    class Killed(BaseException):
        pass

    calls: Counter[str] = Counter()

    def counted(node: str) -> Act:
        async def port(*_: Any) -> Any:
            calls[node] += 1
            if node == t.VERIFIER and calls[node] == 2:
                raise Killed
            if node == t.VERIFIER and calls[node] == 1:
                return {"verifier_status": "INVALID_OUTPUT"}
            return PLAIN_OUTCOMES[node]

        return port

    ports = actions(**{node: counted(node) for node in t.NODES})
    graph = compile_diagnosis_graph(ports, checkpoints=InMemorySaver())
    with pytest.raises(Killed):
        await graph.ainvoke({"run_id": "r"}, thread("t"), durability="async")
    final = await graph.ainvoke(None, thread("t"), durability="async")
    path = [*NORMAL[:5], t.VERIFIER, t.COMPOSER]
    assert path_of(final) == path
    assert calls == Counter({**Counter(path), t.VERIFIER: 3})
    assert final["verifier_retry_count"] == 1
    assert [s.attempt for s in trace_of(final).transitions] == [1, 1, 1, 1, 1, 2]


async def test_a_pause_inside_a_port_is_resumed_and_leaves_one_event() -> None:
    async def asking(*_: Any) -> Any:
        answer = interrupt("which cluster?")
        return {"executor_status": "COMPLETED", "executor_output": {"cluster": answer}}

    graph = compile_diagnosis_graph(actions(executor=asking), checkpoints=InMemorySaver())
    paused = await graph.ainvoke({"run_id": "r"}, thread("t"))
    assert path_of(paused) == [t.PLANNER]
    final = await graph.ainvoke(Command(resume="east"), thread("t"))
    assert path_of(final) == NORMAL
    assert final["executor_output"] == {"cluster": "east"}


async def test_two_runs_on_one_graph_do_not_meet() -> None:
    first_waits = asyncio.Event()

    async def planning(view: Mapping[str, Any], *_: Any) -> Any:
        if view["run_id"] == "first":
            await first_waits.wait()
            return {"planner_status": "FAILED"}
        return PLAIN_OUTCOMES[t.PLANNER]

    async def composing(*_: Any) -> Any:
        first_waits.set()
        return PLAIN_OUTCOMES[t.COMPOSER]

    graph = compile_diagnosis_graph(actions(planner=planning, composer=composing))
    first, second = await asyncio.gather(
        graph.ainvoke({"run_id": "first"}), graph.ainvoke({"run_id": "second"})
    )
    assert path_of(first) == [t.PLANNER, t.FALLBACK]
    assert path_of(second) == NORMAL


async def test_a_graph_around_the_machine_holds_each_event_once() -> None:
    class Around(TypedDict, total=False):
        run_id: str
        planner_status: str
        orchestration_events: Annotated[list[Any], append_events]

    fallen = actions(planner=returning({"planner_status": "FAILED"}))
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(Around)
    builder.add_node("inner", build_diagnosis_graph(fallen).compile())
    builder.add_edge(START, "inner")
    builder.add_edge("inner", END)
    held = [make_event(t.PLANNER, "INVALID_OUTPUT", t.PLANNER_INVALID_OUTPUT, 1)]
    final = await builder.compile().ainvoke({"run_id": "r", EVENTS: held})
    assert [(e["node"], e["attempt"]) for e in final[EVENTS]] == [
        (t.PLANNER, 1),
        (t.PLANNER, 2),
        (t.FALLBACK, 1),
    ]


@pytest.mark.parametrize("events", ["x", None, [3], [{"node": "planner"}], {"node": "planner"}])
async def test_a_state_with_events_that_are_none_is_refused_before_anything_runs(
    events: Any,
) -> None:
    async def never(*_: Any) -> Any:
        raise AssertionError("nothing may run")

    with pytest.raises(GraphInvalid) as refused:
        await run({"run_id": "r", EVENTS: events}, planner=never)
    assert refused.value.code == "graph.event"


async def test_no_value_of_a_state_stops_a_run_or_opens_a_loop() -> None:
    keys = {
        "planner_mode",
        *(f"{node}_retry_count" for node in (t.PLANNER, t.VERIFIER, t.COMPOSER, "evidence")),
        *(f"{node}_status" for node in (t.PLANNER, t.EXECUTOR, t.GATEKEEPER, t.VERIFIER)),
        "verifier_output",
        "effective_verdict",
        "verifier_verdict_ceiling",
        "tool_trace",
        "retry_context",
        "incident_context",
    }
    unsure = returning(dict([verdict("LOW_CONFID", GAP)])[t.VERIFIER])
    invalid = returning({"composer_status": "INVALID_OUTPUT"})
    for odd in (None, "INVALID_OUTPUT", -7, math.nan, [["x"]], {"facts_checked": 3}, object):
        graph = compile_diagnosis_graph(actions(verifier=unsure, composer=invalid))
        final = await graph.ainvoke(dict.fromkeys(keys, odd))
        assert path_of(final)[-1] == t.FALLBACK
        assert all(n <= t.ENTRIES[node] for node, n in Counter(path_of(final)).items())


def test_what_the_wrapper_counts_stands_above_what_a_port_wrote() -> None:
    step = Step(
        node=t.FALLBACK,
        reads=frozenset(),
        writes=frozenset({"count"}),
        entries=1,
        control=lambda _: {"count": 1},
    )
    assert settle(step, {}, {"count": 0}, decide, events=EVENTS)["count"] == 1
