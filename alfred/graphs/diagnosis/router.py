"""Where a diagnosis goes from each node, and why: one pure function for the edge and the event."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from alfred.engine.attempt import Decision
from alfred.graphs.diagnosis import topology as t
from alfred.graphs.diagnosis.state import (
    State,
    has_gap_fact,
    read_count,
    read_last_reason,
    read_member,
    read_mode,
    read_verdict,
)
from alfred.graphs.diagnosis.status import (
    ComposerStatus,
    ExecutorStatus,
    GatekeeperStatus,
    PlannerMode,
    PlannerStatus,
    Verdict,
    VerifierStatus,
)


def decide(node: str, state: State) -> Decision:
    """Choose the route out of a node from the state after it.

    Total: whatever a state holds gives a decision, and what is unknown leads to the fallback.
    """
    return _DECISIONS[node](state)


def _from_planner(state: State) -> Decision:
    match read_member(state, "planner_status", PlannerStatus):
        case PlannerStatus.COMPLETED:
            is_gap_plan = read_mode(state) is PlannerMode.EVIDENCE_GAP_ONLY
            return Decision(t.EXECUTOR, t.GAP_PLAN_READY if is_gap_plan else t.PLAN_READY)
        case PlannerStatus.INVALID_OUTPUT:
            return _again(state, "planner_retry_count", t.RETRY_PLANNER, t.PLANNER_INVALID_OUTPUT)
        case PlannerStatus.RETRYABLE_FAILED:
            return _again(state, "planner_retry_count", t.RETRY_PLANNER, t.PLANNER_RETRYABLE_FAILED)
        case PlannerStatus.FAILED:
            return Decision(t.FALLBACK, t.PLANNER_FAILED)
        case None:
            return Decision(t.FALLBACK, t.PLANNER_STATUS_UNKNOWN)


def _from_executor(state: State) -> Decision:
    match read_member(state, "executor_status", ExecutorStatus):
        case ExecutorStatus.COMPLETED:
            return Decision(t.GATEKEEPER, t.EVIDENCE_COLLECTED)
        case ExecutorStatus.PARTIAL:
            return Decision(t.GATEKEEPER, t.EVIDENCE_PARTIAL)
        case ExecutorStatus.FAILED:
            return Decision(t.FALLBACK, t.EXECUTOR_FAILED)
        case None:
            return Decision(t.FALLBACK, t.EXECUTOR_STATUS_UNKNOWN)


def _from_gatekeeper(state: State) -> Decision:
    match read_member(state, "gatekeeper_status", GatekeeperStatus):
        case GatekeeperStatus.COMPLETED:
            return Decision(t.VERIFIED_INPUT, t.EVIDENCE_ADMITTED)
        case GatekeeperStatus.REJECTED:
            return Decision(t.FALLBACK, t.GATEKEEPER_REJECTED)
        case GatekeeperStatus.FAILED:
            return Decision(t.FALLBACK, t.GATEKEEPER_FAILED)
        case None:
            return Decision(t.FALLBACK, t.GATEKEEPER_STATUS_UNKNOWN)


def _from_verified_input(_: State) -> Decision:
    return Decision(t.VERIFIER, t.VERIFIED_INPUT_BUILT)


def _from_verifier(state: State) -> Decision:
    match read_member(state, "verifier_status", VerifierStatus):
        case VerifierStatus.COMPLETED:
            return _after_verdict(state)
        case VerifierStatus.INVALID_OUTPUT:
            return _again(
                state, "verifier_retry_count", t.RETRY_VERIFIER, t.VERIFIER_INVALID_OUTPUT
            )
        case VerifierStatus.RETRYABLE_FAILED:
            return _again(
                state, "verifier_retry_count", t.RETRY_VERIFIER, t.VERIFIER_RETRYABLE_FAILED
            )
        case VerifierStatus.FAILED:
            return Decision(t.FALLBACK, t.VERIFIER_FAILED)
        case None:
            return Decision(t.FALLBACK, t.VERIFIER_STATUS_UNKNOWN)


def _after_verdict(state: State) -> Decision:
    match read_verdict(state, "effective_verdict"):
        case Verdict.PASS:
            return Decision(t.COMPOSER, t.VERDICT_PASS)
        case Verdict.REJECT:
            return Decision(t.COMPOSER, t.VERDICT_REJECT)
        case Verdict.LOW_CONFID:
            return _on_low_confidence(state)
        case None:
            return Decision(t.FALLBACK, t.VERDICT_MISSING)


def _on_low_confidence(state: State) -> Decision:
    """Look for more evidence once, if it may be enough and something is known to be missing."""
    if read_verdict(state, "verifier_verdict_ceiling") is not Verdict.PASS:
        return Decision(t.COMPOSER, t.LOW_CONFID_CEILING)
    if not has_gap_fact(state):
        return Decision(t.COMPOSER, t.LOW_CONFID_NO_GAP)
    tried = read_count(state, "evidence_retry_count", spent=t.MAX_EVIDENCE_RETRIES)
    if tried >= t.MAX_EVIDENCE_RETRIES:
        return Decision(t.COMPOSER, t.LOW_CONFID_RETRY_EXHAUSTED)
    return Decision(t.EVIDENCE_RETRY, t.LOW_CONFID_EVIDENCE_GAP)


def _from_evidence_retry(_: State) -> Decision:
    return Decision(t.PLANNER, t.EVIDENCE_GAP_PLANNED)


def _from_composer(state: State) -> Decision:
    match read_member(state, "composer_status", ComposerStatus):
        case ComposerStatus.COMPLETED:
            return Decision(t.END, t.ANSWER_COMPOSED)
        case ComposerStatus.INVALID_OUTPUT:
            return _again(
                state, "composer_retry_count", t.RETRY_COMPOSER, t.COMPOSER_INVALID_OUTPUT
            )
        case ComposerStatus.RETRYABLE_FAILED:
            return _again(
                state, "composer_retry_count", t.RETRY_COMPOSER, t.COMPOSER_RETRYABLE_FAILED
            )
        case ComposerStatus.FAILED:
            return Decision(t.FALLBACK, t.COMPOSER_FAILED)
        case None:
            return Decision(t.FALLBACK, t.COMPOSER_STATUS_UNKNOWN)


def _from_fallback(state: State) -> Decision:
    """End with the reason that led here, so that the end of the path says something."""
    return Decision(t.END, read_last_reason(state) or t.REASON_LOST)


def _again(state: State, counter: str, retry: str, reason: str) -> Decision:
    if read_count(state, counter, spent=t.MAX_TECHNICAL_RETRIES) < t.MAX_TECHNICAL_RETRIES:
        return Decision(retry, reason)
    return Decision(t.FALLBACK, _EXHAUSTED[retry])


_EXHAUSTED: Mapping[str, str] = {
    t.RETRY_PLANNER: t.PLANNER_RETRY_EXHAUSTED,
    t.RETRY_VERIFIER: t.VERIFIER_RETRY_EXHAUSTED,
    t.RETRY_COMPOSER: t.COMPOSER_RETRY_EXHAUSTED,
}

_DECISIONS: Mapping[str, Callable[[State], Decision]] = {
    t.PLANNER: _from_planner,
    t.EXECUTOR: _from_executor,
    t.GATEKEEPER: _from_gatekeeper,
    t.VERIFIED_INPUT: _from_verified_input,
    t.VERIFIER: _from_verifier,
    t.EVIDENCE_RETRY: _from_evidence_retry,
    t.COMPOSER: _from_composer,
    t.FALLBACK: _from_fallback,
}
