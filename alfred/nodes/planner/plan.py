"""Holds a plan against the tools and the calls that were made: what cannot be run is dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from alfred.engine.mistake import did_you_mean
from alfred.nodes.diagnosis_phrases import phrase
from alfred.nodes.diagnosis_shapes import PlannedStep, mapping, text
from alfred.nodes.diagnosis_tools import step_schemas
from alfred.probes.probe import Probe
from alfred.probes.tool_call import is_same_call
from alfred.probes.toolbox import Toolbox, misfit

MAX_STEPS = 4


@dataclass
class Plan:
    """The steps that can be run, and what was dropped with the reason."""

    steps: list[PlannedStep] = field(default_factory=list[PlannedStep])
    dropped: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def held_plan(
    steps: Sequence[Mapping[str, Any]],
    toolbox: Toolbox,
    trace: Sequence[Mapping[str, Any]],
    language: Literal["zh", "en"],
) -> Plan:
    """Keep the steps that name a tool, fit its arguments and ask something new."""
    plan = Plan()
    for step in steps:
        call: PlannedStep = {
            "tool": text(step, "tool"),
            "arguments": mapping(step, "arguments"),
            "expects": text(step, "expects"),
        }
        probe = toolbox.get(call["tool"])
        if probe is None:
            hint = did_you_mean(call["tool"], [each.name for each in toolbox.probes])
            why = f"{phrase(language, 'no_such_tool')} {hint}".strip()
        elif problem := misfit(probe, call["arguments"]):
            why = problem
        elif any(is_same_call(call, made) for made in [*trace, *plan.steps]):
            why = phrase(language, "asked_before")
        elif len(plan.steps) >= MAX_STEPS:
            why = phrase(language, "beyond_limit", limit=MAX_STEPS)
        else:
            plan.steps.append(call)
            continue
        dropped = {"tool": call["tool"], "arguments": call["arguments"], "why": why}
        if dropped not in plan.dropped:
            plan.dropped.append(dropped)
    return plan


def plan_schema(probes: Sequence[Probe], made: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Describe a plan over these tools that repeats none of the calls made."""
    steps: dict[str, Any] = {"type": "array", "maxItems": 0}
    if schemas := step_schemas(probes, made):
        steps = {"type": "array", "maxItems": MAX_STEPS, "items": {"anyOf": schemas}}
    return {
        "type": "object",
        "properties": {"steps": steps},
        "required": ["steps"],
        "additionalProperties": False,
    }
