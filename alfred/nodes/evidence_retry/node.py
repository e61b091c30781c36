"""Turns the facts without evidence into the task of a second round."""

from __future__ import annotations

from typing import Any

from alfred.nodes.diagnosis_port import Config, Running
from alfred.nodes.diagnosis_shapes import GAPS, View, items, mapping, text


async def evidence_retry_node(view: View, config: Config, runtime: Running) -> dict[str, Any]:
    """Name the gaps, causes first, the calls that were tried, and the tools that nobody asked."""
    context = runtime.context
    context.run.manifest("evidence_retry").check_input(view)
    facts = items(mapping(view, "verifier_output"), "facts_checked")
    gaps = [fact for fact in facts if fact.get("verification") in GAPS and text(fact, "fact")]
    gaps.sort(key=lambda fact: fact.get("role") != "cause")
    trace = items(view, "tool_trace")
    asked = {text(call, "tool") for call in trace}
    return {
        "retry_context": {
            "gap_facts": [text(fact, "fact") for fact in gaps],
            "tried": [
                {
                    "tool": text(call, "tool"),
                    "arguments": mapping(call, "arguments"),
                    "outcome": text(call, "outcome"),
                }
                for call in trace
            ],
            "unasked": [
                probe.name
                for probe in context.toolbox.probes
                if probe.name not in asked and probe.kind != "guidance"
            ],
        }
    }
