"""The 26 keys of a diagnosis and their typed reads: what is absent or odd never opens a way."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, TypedDict, TypeVar, cast

from alfred.engine.orchestration_event import OrchestrationEvent, append_events
from alfred.graphs.diagnosis.status import GAPS, PlannerMode, Verdict

State = Mapping[str, Any]
Member = TypeVar("Member", bound=StrEnum)

EVENTS = "orchestration_events"


class DiagnosisState(TypedDict, total=False):
    """What the nodes of one diagnosis share. Every key is replaced, only the events append.

    Plain JSON throughout. LangGraph drops a key that is not declared here without a word.
    """

    run_id: str
    session_id: str
    user_query: str
    incident_context: dict[str, Any]

    planner_mode: str
    planner_status: str | None
    planner_output: dict[str, Any] | None
    planner_retry_count: int

    executor_status: str | None
    executor_output: dict[str, Any] | None
    tool_trace: list[dict[str, Any]]

    gatekeeper_status: str | None
    gatekeeper_output: dict[str, Any] | None
    verifier_verdict_ceiling: str | None

    verified_input: dict[str, Any] | None

    verifier_status: str | None
    verifier_output: dict[str, Any] | None
    effective_verdict: str | None
    verifier_retry_count: int

    retry_context: dict[str, Any] | None
    evidence_retry_count: int

    composer_status: str | None
    composer_output: dict[str, Any] | None
    composer_retry_count: int

    fallback_output: dict[str, Any] | None

    orchestration_events: Annotated[list[OrchestrationEvent], append_events]


def read_member(state: State, key: str, members: type[Member]) -> Member | None:
    """Read a status or verdict; None where it is absent, of another type, or unknown."""
    value = state.get(key)
    if not isinstance(value, str):
        return None
    try:
        return members(value)
    except ValueError:
        return None


def read_mode(state: State) -> PlannerMode:
    """Read what is planned for: the whole question, unless the state says otherwise."""
    return read_member(state, "planner_mode", PlannerMode) or PlannerMode.FULL


def read_verdict(state: State, key: str) -> Verdict | None:
    """Read a verdict or a ceiling; a missing ceiling is not PASS."""
    return read_member(state, key, Verdict)


def read_count(state: State, key: str, *, spent: int) -> int:
    """Read a counter: 0 where it is absent, `spent` where it cannot be a count.

    A counter that something has spoilt so closes its loop instead of opening it.
    """
    value = state.get(key)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        return spent
    return value


def read_list(state: State, key: str) -> list[Any]:
    """Read a list; empty where there is none."""
    value = state.get(key)
    return list(cast("list[Any]", value)) if isinstance(value, list) else []


def read_last_reason(state: State) -> str | None:
    """Read the reason code of the latest event."""
    events = read_list(state, EVENTS)
    if not events or not isinstance(events[-1], Mapping):
        return None
    reason = cast("State", events[-1]).get("reason_code")
    return reason if isinstance(reason, str) else None


def has_gap_fact(state: State) -> bool:
    """Say whether the verifier left a named fact with no evidence, or only indirect evidence."""
    output = state.get("verifier_output")
    if not isinstance(output, Mapping):
        return False
    return any(_is_gap(fact) for fact in read_list(cast("State", output), "facts_checked"))


def _is_gap(checked: Any) -> bool:
    if not isinstance(checked, Mapping):
        return False
    fields = cast("State", checked)
    fact, verification = fields.get("fact"), fields.get("verification")
    return isinstance(fact, str) and bool(fact.strip()) and verification in tuple(GAPS)
