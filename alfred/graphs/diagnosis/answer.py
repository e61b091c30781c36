"""The answer of a diagnosis: what is stored, shown and noted of the machine's last state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, cast

from alfred.graphs.diagnosis.state import State, read_last_reason, read_list


class Answer(TypedDict):
    """What a diagnosis says, plain JSON.

    `finding` is "cause", "hypotheses", "no_fault" or "not_established"; None where the machine
    ended in its fallback, which states nothing about the system and fills `tried`, `failed` and
    `next_steps` instead. `coincidences` are changes shortly before the first alert, read off by
    code, and no causes. `reason` is the code with which the path ended.
    """

    language: str
    finding: str | None
    verdict: str | None
    headline: str
    sentences: list[dict[str, Any]]
    cause: dict[str, Any] | None
    hypotheses: list[dict[str, Any]]
    coincidences: list[dict[str, Any]]
    missing: list[str]
    next_checks: list[dict[str, Any]]
    facts: list[dict[str, Any]]
    evidence: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    tried: list[str]
    failed: list[str]
    next_steps: list[str]
    reason: str


def answer_of(state: State) -> Answer:
    """Read the answer from a final state."""
    composed = (
        read_object(state, "composer_output") if state.get("composer_status") == "COMPLETED" else {}
    )
    fallen = {} if composed else read_object(state, "fallback_output")
    context = read_object(state, "incident_context")
    return {
        "language": str(context.get("language", "en")),
        "finding": composed.get("finding"),
        "verdict": state.get("effective_verdict") if composed else None,
        "headline": str(composed.get("headline") or fallen.get("headline") or ""),
        "sentences": read_list(composed, "sentences"),
        "cause": composed.get("cause"),
        "hypotheses": read_list(composed, "hypotheses"),
        "coincidences": read_list(composed, "coincidences"),
        "missing": read_list(composed, "missing"),
        "next_checks": read_list(composed, "next_checks"),
        "facts": read_list(read_object(state, "verifier_output"), "facts_checked"),
        "evidence": read_list(read_object(state, "gatekeeper_output"), "admitted"),
        "calls": read_list(state, "tool_trace"),
        "tried": read_list(fallen, "tried"),
        "failed": read_list(fallen, "failed"),
        "next_steps": read_list(fallen, "next_steps"),
        "reason": read_last_reason(state) or "",
    }


_CUT_OFF = {
    "CANCELLED": {"en": "The diagnosis was cancelled.", "zh": "诊断已取消。"},
    "LIMIT_SECONDS": {
        "en": "The diagnosis took longer than it may.",
        "zh": "诊断用时超过上限，已停止。",
    },
    "CRASHED": {
        "en": "The diagnosis was cut off each time it was taken up again, and is given up.",
        "zh": "诊断每次继续时都被中断，已放弃。",
    },
}
_STOPPED = {"en": "The diagnosis was stopped by an error: {}.", "zh": "诊断因错误而停止：{}。"}
_NOTHING_STATED = {"en": " Nothing is established.", "zh": "没有得出结论。"}


def cut_off(state: State, reason: str) -> Answer:
    """Say of a run that did not end by itself what stopped it; it states nothing else."""
    language = "zh" if read_object(state, "incident_context").get("language") == "zh" else "en"
    told = _CUT_OFF.get(reason, _STOPPED)[language].format(reason)
    answer = answer_of({**state, "composer_status": None, "fallback_output": None})
    answer["headline"] = f"{told}{_NOTHING_STATED[language]}"
    answer["reason"] = reason
    return answer


def read_object(state: State, key: str) -> dict[str, Any]:
    """Read a mapping; empty where there is none."""
    value = state.get(key)
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {}
