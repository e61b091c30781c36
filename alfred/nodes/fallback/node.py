"""Ends a diagnosis that has no answer with what was asked, tried and missed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from alfred.nodes.diagnosis_context import DiagnosisContext
from alfred.nodes.diagnosis_excerpt import arguments_text
from alfred.nodes.diagnosis_phrases import phrase
from alfred.nodes.diagnosis_port import Config, Running
from alfred.nodes.diagnosis_shapes import View, items, language_of, mapping, text, texts

Language = Literal["zh", "en"]

UNKNOWN_REASON = "REASON_LOST"
MAX_STEPS = 4
_SOURCES = ("planner", "executor", "gatekeeper", "verifier", "composer")


async def fallback_node(view: View, config: Config, runtime: Running) -> dict[str, Any]:
    """Say in the question's language that nothing is established, and why."""
    context = runtime.context
    context.run.manifest("fallback").check_input(view)
    language = language_of(mapping(view, "incident_context"))
    trace = items(view, "tool_trace")
    reason = _reason(view)
    failures = [call for call in trace if call.get("outcome") in ("failed", "timeout", "refused")]
    return {
        "fallback_output": {
            "reason": reason,
            "headline": _headline(view, reason, context, language),
            "asked": text(view, "user_query").strip(),
            "tried": [_tried(call, language) for call in trace],
            "failed": [_failed(call, language) for call in failures],
            "next_steps": _next_steps(reason, failures, trace, context, language),
        }
    }


def _reason(view: View) -> str:
    events = items(view, "orchestration_events")
    return text(events[-1], "reason_code") or UNKNOWN_REASON if events else UNKNOWN_REASON


def _source(view: View, reason: str) -> str:
    """Name the node whose failure led here; its last event says it where the code does not."""
    events = items(view, "orchestration_events")
    node = text(events[-1], "node") if events else ""
    return node or next((each for each in _SOURCES if reason.startswith(each.upper())), "")


def _headline(view: View, reason: str, context: DiagnosisContext, language: Language) -> str:
    if not context.toolbox.probes:
        return phrase(language, "fallback_no_tools")
    source = _source(view, reason)
    return phrase(language, f"fallback_{source if source in _SOURCES else 'other'}")


def _tried(call: Mapping[str, Any], language: Language) -> str:
    return phrase(
        language,
        "tried",
        tool=text(call, "tool"),
        arguments=arguments_text(call),
        outcome=text(call, "outcome"),
        lines=len(texts(call, "lines")),
    )


def _failed(call: Mapping[str, Any], language: Language) -> str:
    error = text(call, "error") or text(call, "outcome")
    arguments = arguments_text(call)
    return phrase(language, "failed", tool=text(call, "tool"), arguments=arguments, error=error)


def _next_steps(
    reason: str,
    failures: Sequence[Mapping[str, Any]],
    trace: Sequence[Mapping[str, Any]],
    context: DiagnosisContext,
    language: Language,
) -> list[str]:
    if not context.toolbox.probes:
        return [phrase(language, "next_tools")]
    tools = dict.fromkeys(text(call, "tool") for call in failures)
    steps = [phrase(language, "next_failed", tool=tool) for tool in tools if tool]
    if reason.startswith("GATEKEEPER"):
        steps.append(phrase(language, "next_window"))
    if reason.startswith(("PLANNER", "VERIFIER", "COMPOSER", "VERDICT")):
        steps.append(phrase(language, "next_again"))
    asked = {text(call, "tool") for call in trace}
    steps += [
        phrase(language, "next_look", tool=probe.name, description=probe.description)
        for probe in context.toolbox.probes
        if probe.name not in asked
    ]
    return list(dict.fromkeys(steps))[:MAX_STEPS] or [phrase(language, "next_again")]
