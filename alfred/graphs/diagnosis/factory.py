"""Builds the diagnosis graph: nodes in their wrappers, edges with their maps, counters."""

# LangGraph leaves type parameters of its builders open; what goes in and out is typed here.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from alfred.engine.attempt import Decide, Step, Update, attempted
from alfred.engine.guards import ENTRIES as ENTRIES_KEY
from alfred.graphs.diagnosis import topology as t
from alfred.graphs.diagnosis.ports import DiagnosisActions
from alfred.graphs.diagnosis.router import decide as router_decide
from alfred.graphs.diagnosis.state import EVENTS, DiagnosisState, State, read_count, read_list
from alfred.graphs.diagnosis.status import (
    TECHNICAL,
    ComposerStatus,
    ExecutorStatus,
    GatekeeperStatus,
    PlannerMode,
    PlannerStatus,
    VerifierStatus,
)

Builder = StateGraph[Any, Any, Any, Any]
Compiled = CompiledStateGraph[Any, Any, Any, Any]

QUESTION = frozenset({"run_id", "session_id", "user_query", "incident_context"})


def build_diagnosis_graph(actions: DiagnosisActions, *, decide: Decide = router_decide) -> Builder:
    """Build the graph, uncompiled.

    No retry policy of LangGraph's is set: its hidden attempts would leave no event.
    """
    builder = StateGraph(DiagnosisState)
    for node, step in STEPS.items():
        function: Any = attempted(step, actions.of(node), decide, events=EVENTS)
        builder.add_node(node, function, metadata={ENTRIES_KEY: step.entries})
    builder.add_edge(START, t.PLANNER)
    for node, targets in t.TARGETS.items():
        if len(targets) == 1:
            builder.add_edge(node, *targets.values())
        else:
            routes: dict[Hashable, str] = {**targets}
            builder.add_conditional_edges(node, _edge(node, decide), routes)
    return builder


def compile_diagnosis_graph(
    actions: DiagnosisActions,
    *,
    decide: Decide = router_decide,
    checkpoints: BaseCheckpointSaver[Any] | None = None,
) -> Compiled:
    """Compile the graph with the topology's recursion limit; LangGraph's own is in the thousands.

    A run has a thread of its own: counters and events of an earlier one would count for it.
    """
    compiled = build_diagnosis_graph(actions, decide=decide).compile(checkpointer=checkpoints)
    return compiled.with_config(recursion_limit=t.RECURSION_LIMIT)


def _edge(node: str, decide: Decide) -> Callable[[State], Awaitable[str]]:
    async def route(state: State) -> str:
        return decide(node, state).route

    route.__name__ = f"route_from_{node}"
    return route


def _count_retry(status: str, counter: str) -> Callable[[State], Update]:
    """Count a re-entry after a technical failure; the first entry counts nothing."""

    def control(before: State) -> Update:
        held = read_count(before, counter, spent=t.MAX_TECHNICAL_RETRIES)
        failed = before.get(status)
        is_retry = isinstance(failed, str) and failed in TECHNICAL
        return {counter: held + 1 if is_retry else held}

    return control


def _start_verification(_: State) -> Update:
    """A new input is verified from the start: nothing of an earlier round may route."""
    return {
        "verifier_retry_count": 0,
        "verifier_status": None,
        "verifier_output": None,
        "effective_verdict": None,
    }


def _start_second_round(before: State) -> Update:
    held = read_count(before, "evidence_retry_count", spent=t.MAX_EVIDENCE_RETRIES)
    return {
        "evidence_retry_count": held + 1,
        "planner_retry_count": 0,
        "planner_mode": PlannerMode.EVIDENCE_GAP_ONLY.value,
    }


def _both_rounds(held: Any, added: Any) -> list[Any]:
    """Join the calls of both rounds; one that is there already is not taken twice."""
    calls = read_list({"held": held}, "held")
    return [*calls, *(call for call in read_list({"added": added}, "added") if call not in calls)]


def _values(members: Iterable[StrEnum]) -> frozenset[str]:
    return frozenset(member.value for member in members)


STEPS: Mapping[str, Step] = MappingProxyType(
    {
        t.PLANNER: Step(
            node=t.PLANNER,
            reads=QUESTION.union({"planner_mode", "planner_output", "retry_context", "tool_trace"}),
            writes=frozenset({"planner_status", "planner_output"}),
            entries=t.ENTRIES[t.PLANNER],
            status="planner_status",
            statuses=_values(PlannerStatus),
            control=_count_retry("planner_status", "planner_retry_count"),
        ),
        t.EXECUTOR: Step(
            node=t.EXECUTOR,
            reads=QUESTION.union({"planner_mode", "planner_output", "tool_trace"}),
            writes=frozenset({"executor_status", "executor_output", "tool_trace"}),
            entries=t.ENTRIES[t.EXECUTOR],
            status="executor_status",
            statuses=_values(ExecutorStatus),
            merge={"tool_trace": _both_rounds},
        ),
        t.GATEKEEPER: Step(
            node=t.GATEKEEPER,
            reads=frozenset(
                {"incident_context", "planner_output", "executor_output", "tool_trace"}
            ),
            writes=frozenset(
                {"gatekeeper_status", "gatekeeper_output", "verifier_verdict_ceiling"}
            ),
            entries=t.ENTRIES[t.GATEKEEPER],
            status="gatekeeper_status",
            statuses=_values(GatekeeperStatus),
        ),
        t.VERIFIED_INPUT: Step(
            node=t.VERIFIED_INPUT,
            reads=frozenset(
                {"user_query", "incident_context", "executor_output", "gatekeeper_output"}
            ),
            writes=frozenset({"verified_input"}),
            entries=t.ENTRIES[t.VERIFIED_INPUT],
            control=_start_verification,
        ),
        t.VERIFIER: Step(
            node=t.VERIFIER,
            reads=frozenset({"verified_input", "verifier_verdict_ceiling", "verifier_output"}),
            writes=frozenset({"verifier_status", "verifier_output", "effective_verdict"}),
            entries=t.ENTRIES[t.VERIFIER],
            status="verifier_status",
            statuses=_values(VerifierStatus),
            control=_count_retry("verifier_status", "verifier_retry_count"),
        ),
        t.EVIDENCE_RETRY: Step(
            node=t.EVIDENCE_RETRY,
            reads=frozenset({"planner_output", "tool_trace", "verifier_output"}),
            writes=frozenset({"retry_context"}),
            entries=t.ENTRIES[t.EVIDENCE_RETRY],
            control=_start_second_round,
        ),
        t.COMPOSER: Step(
            node=t.COMPOSER,
            reads=QUESTION.union(
                {
                    "verified_input",
                    "verifier_output",
                    "effective_verdict",
                    "tool_trace",
                    "composer_output",
                }
            ),
            writes=frozenset({"composer_status", "composer_output"}),
            entries=t.ENTRIES[t.COMPOSER],
            status="composer_status",
            statuses=_values(ComposerStatus),
            control=_count_retry("composer_status", "composer_retry_count"),
        ),
        t.FALLBACK: Step(
            node=t.FALLBACK,
            reads=QUESTION.union(
                {
                    "planner_status",
                    "executor_status",
                    "gatekeeper_status",
                    "gatekeeper_output",
                    "verifier_status",
                    "verifier_output",
                    "composer_status",
                    "tool_trace",
                    EVENTS,
                }
            ),
            writes=frozenset({"fallback_output"}),
            entries=t.ENTRIES[t.FALLBACK],
        ),
    }
)
"""What each node may see and write, and how its entries are counted."""
