"""Asks the model for a plan, and hands on the steps of it that can be run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alfred.errors import AnswerInvalid
from alfred.nodes.diagnosis_context import DiagnosisContext
from alfred.nodes.diagnosis_excerpt import (
    MAX_QUESTION_CHARS,
    barred,
    call_line,
    evidence_block,
    excerpt_of,
    shortened,
    usable_calls,
)
from alfred.nodes.diagnosis_phrases import phrase
from alfred.nodes.diagnosis_port import Asking, Config, Running, ask
from alfred.nodes.diagnosis_shapes import View, items, language_of, mapping, text, texts, unique
from alfred.nodes.diagnosis_tools import tool_line
from alfred.nodes.planner.plan import held_plan, plan_schema
from alfred.probes.probe import Probe

MAX_ADVICE = 3
MAX_GAPS = 4


async def planner_node(view: View, config: Config, runtime: Running) -> dict[str, Any]:
    """Plan at most four calls; a second round plans for the gaps and asks unasked tools first.

    INVALID_OUTPUT where nothing of the plan can be run, unless the first look has evidence and the
    model plans nothing on purpose. A second round that twice finds nothing new to ask goes on with
    what the first one found.
    Errors: those of the model, but for an answer out of shape.
    """
    context = runtime.context
    manifest = context.run.manifest("planner")
    manifest.check_input(view)
    language = language_of(mapping(view, "incident_context"))
    trace = items(view, "tool_trace")
    if not context.toolbox.probes:
        return _result("FAILED", [], [], [phrase(language, "fallback_no_tools")])
    probes = _ordered(context, view)
    context.told(phrase(language, "planning"))
    asking = Asking(
        manifest=manifest,
        gathered=_gathered(view, context, probes),
        schema=plan_schema(probes, trace),
        language=language,
    )
    try:
        answer = await ask(context, config, asking)
    except AnswerInvalid as error:
        return _result("INVALID_OUTPUT", [], [], [error.message])
    planned = items(answer, "steps")
    plan = held_plan(planned, context.toolbox, trace, language)
    is_given_up = _is_second_round(view) and bool(_earlier_problems(view))
    if (
        not plan.steps
        and not is_given_up
        and (planned or not usable_calls(trace) or _is_second_round(view))
    ):
        problems = [phrase(language, "plan_empty"), *(each["why"] for each in plan.dropped)]
        return _result("INVALID_OUTPUT", [], plan.dropped, problems)
    return _result("COMPLETED", plan.steps, plan.dropped, [])


def _result(
    status: str,
    steps: Sequence[Mapping[str, Any]],
    dropped: Sequence[Mapping[str, Any]],
    problems: Sequence[str],
) -> dict[str, Any]:
    output = {"steps": list(steps), "dropped": list(dropped), "problems": list(problems)}
    return {"planner_status": status, "planner_output": output}


def _is_second_round(view: View) -> bool:
    return view.get("planner_mode") == "EVIDENCE_GAP_ONLY"


def _ordered(context: DiagnosisContext, view: View) -> list[Probe]:
    """Put the tools that were not asked first in a second round; their own order otherwise."""
    if not _is_second_round(view):
        return list(context.toolbox.probes)
    unasked = texts(mapping(view, "retry_context"), "unasked")
    return sorted(context.toolbox.probes, key=lambda probe: probe.name not in unasked)


def _gathered(view: View, context: DiagnosisContext, probes: Sequence[Probe]) -> dict[str, Any]:
    incident = mapping(view, "incident_context")
    trace = items(view, "tool_trace")
    window = mapping(incident, "window")
    retry = mapping(view, "retry_context")
    unasked = texts(retry, "unasked")
    return {
        # In their own order, so that this part of the prompt stays the same over both rounds.
        "tools": "\n".join(tool_line(probe) for probe in context.toolbox.probes),
        "question": shortened(text(view, "user_query"), MAX_QUESTION_CHARS),
        "scope": ", ".join(f"{k}={v}" for k, v in mapping(incident, "scope").items()) or "-",
        "window": f"{text(window, 'start')} – {text(window, 'end')}",
        "advice": _advice(incident, context),
        "made": barred(map(call_line, trace)) or "(none)",
        "evidence": evidence_block(
            [excerpt_of(call) for call in usable_calls(trace)], context.evidence_chars
        ),
        "gaps": barred(texts(retry, "gap_facts")[:MAX_GAPS]) if _is_second_round(view) else "",
        "unasked": ", ".join(probe.name for probe in probes if probe.name in unasked) or "-",
        "problems": barred(_earlier_problems(view)[:MAX_GAPS]),
    }


def _earlier_problems(view: View) -> list[str]:
    """Say why the plan before this one was refused; nothing where there was none."""
    return texts(mapping(view, "planner_output"), "problems")


def _advice(incident: Mapping[str, Any], context: DiagnosisContext) -> str:
    previous = mapping(incident, "previous")
    said = [*texts(incident, "guidance"), *context.guidance]
    if text(previous, "question"):
        said.insert(0, f"{text(previous, 'question')} -> {text(previous, 'cause') or '?'}")
    return barred(unique(said)[:MAX_ADVICE])
