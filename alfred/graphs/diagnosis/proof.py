"""What the diagnosis machine can do, computed from its installed router and counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END
from langgraph.runtime import Runtime

from alfred.engine.attempt import Decide, Step
from alfred.engine.check import GraphReport, check_graph
from alfred.engine.enumeration import Exploration, Machine, explore, figures
from alfred.graphs.diagnosis import topology as t
from alfred.graphs.diagnosis.domain_graph import DIAGNOSE
from alfred.graphs.diagnosis.factory import STEPS, Builder, build_diagnosis_graph
from alfred.graphs.diagnosis.ports import DiagnosisActions
from alfred.graphs.diagnosis.router import decide as router_decide
from alfred.graphs.diagnosis.state import EVENTS, State, read_count
from alfred.graphs.diagnosis.status import (
    TECHNICAL,
    ComposerStatus,
    ExecutorStatus,
    FactVerification,
    GatekeeperStatus,
    PlannerStatus,
    Verdict,
    VerifierStatus,
)

UNKNOWN = "SOMETHING_ELSE"

STAGES = (
    t.FALLBACK,
    t.COMPOSER,
    t.EVIDENCE_RETRY,
    t.VERIFIER,
    t.VERIFIED_INPUT,
    t.GATEKEEPER,
    t.EXECUTOR,
    t.PLANNER,
)
"""From the last stage of a round to the first."""

_TECHNICAL_STATE = {
    t.PLANNER: ("planner_status", "planner_retry_count"),
    t.VERIFIER: ("verifier_status", "verifier_retry_count"),
    t.COMPOSER: ("composer_status", "composer_retry_count"),
}


def machines() -> dict[str, Builder]:
    """Build what runs inside a step of the domain's graph, by the step; nothing of it can run."""
    return {DIAGNOSE: _declared()}


def _declared() -> Builder:
    async def never(view: State, config: RunnableConfig, runtime: Runtime[Any]) -> State:
        raise AssertionError("a proof runs no step")

    return build_diagnosis_graph(DiagnosisActions(**dict.fromkeys(t.NODES, never)))


def prove_diagnosis() -> GraphReport:
    """Check what the graph declares, and explore every path of it; no port is called."""
    builder = _declared()
    limit = t.RECURSION_LIMIT
    report = check_graph("diagnosis", builder, recursion_limit=limit, is_explored=True)
    machine = diagnosis_machine()
    found = figures(machine, explore_diagnosis(machine), recursion_limit=limit)
    return replace(report, figures=found, problems=[*report.problems, *found.problems])


def diagnosis_machine(
    *, steps: Mapping[str, Step] = STEPS, decide: Decide = router_decide
) -> Machine:
    """Describe the machine for an exploration; the defaults are what a graph runs."""
    return Machine(
        steps=steps,
        decide=decide,
        targets=t.TARGETS,
        start=t.PLANNER,
        end=END,
        events=EVENTS,
        outcomes=OUTCOMES,
        hands_on=frozenset({t.FALLBACK}),
        measure=measure,
    )


def measure(node: str, state: State) -> tuple[int, int, int]:
    """Say how far a run is from its end, before a node runs: it falls with every transition.

    Shapes: evidence rounds left, stages left in this round, technical retries left of this stage.
    """
    rounds = t.MAX_EVIDENCE_RETRIES - read_count(
        state, "evidence_retry_count", spent=t.MAX_EVIDENCE_RETRIES
    )
    retries = 0
    if node in _TECHNICAL_STATE:
        status, counter = _TECHNICAL_STATE[node]
        tried = read_count(state, counter, spent=t.MAX_TECHNICAL_RETRIES)
        retries = t.MAX_TECHNICAL_RETRIES - tried - (1 if state.get(status) in TECHNICAL else 0)
    return rounds, STAGES.index(node), retries


def explore_diagnosis(machine: Machine | None = None) -> Exploration:
    """Explore the machine from a new run's state."""
    return explore(machine or diagnosis_machine(), {})


def _with_status(key: str, members: Iterable[StrEnum]) -> list[dict[str, Any]]:
    return [{key: word} for word in (*(member.value for member in members), UNKNOWN)]


def _facts(verification: FactVerification) -> dict[str, Any]:
    return {"facts_checked": [{"fact": "checkout is slow", "verification": verification.value}]}


def _verifier_outcomes() -> list[dict[str, Any]]:
    outputs: list[dict[str, Any]] = [*map(_facts, FactVerification), {"facts_checked": []}]
    verdicts = [*(verdict.value for verdict in Verdict), UNKNOWN, None]
    completed, *others = _with_status("verifier_status", VerifierStatus)
    return others + [
        {**completed, "effective_verdict": verdict, "verifier_output": output}
        for verdict in verdicts
        for output in outputs
    ]


OUTCOMES: Mapping[str, Sequence[Mapping[str, Any]]] = {
    t.PLANNER: _with_status("planner_status", PlannerStatus),
    t.EXECUTOR: _with_status("executor_status", ExecutorStatus),
    t.GATEKEEPER: [
        {**ended, "verifier_verdict_ceiling": ceiling}
        for ended in _with_status("gatekeeper_status", GatekeeperStatus)
        for ceiling in (*(verdict.value for verdict in Verdict), UNKNOWN, None)
    ],
    t.VERIFIED_INPUT: [{"verified_input": {}}],
    t.VERIFIER: _verifier_outcomes(),
    t.EVIDENCE_RETRY: [{"retry_context": {}}],
    t.COMPOSER: _with_status("composer_status", ComposerStatus),
    t.FALLBACK: [{"fallback_output": {}}],
}
"""What each port may return, one sample for each case that a guard tells apart."""
