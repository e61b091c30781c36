"""Admits what may count as evidence; no model has a say in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alfred.nodes.diagnosis_port import Config, Running
from alfred.nodes.diagnosis_shapes import Evidence, View, items, mapping, text
from alfred.nodes.gatekeeper.admission import (
    as_evidence,
    ceiling,
    chosen_numbers,
    refusal,
    uncalled,
)
from alfred.probes.probe import Probe


async def gatekeeper_node(view: View, config: Config, runtime: Running) -> dict[str, Any]:
    """Admit evidence and name the highest verdict that it can carry.

    REJECTED where none is admissible. A time-out alone does not lower the ceiling: it is what
    another round is for.
    """
    context = runtime.context
    context.run.manifest("gatekeeper").check_input(view)
    window = mapping(mapping(view, "incident_context"), "window")
    trace = items(view, "tool_trace")
    claims = items(mapping(view, "executor_output"), "claims")
    admitted: list[Evidence] = []
    kept: list[dict[str, Any]] = []
    refused: list[dict[str, str]] = []
    for call in trace:
        if reason := refusal(call, kept, window):
            refused.append({"id": text(call, "id"), "tool": text(call, "tool"), "reason": reason})
            continue
        kept.append(call)
        admitted.append(_evidence(call, context.toolbox.get(text(call, "tool"))))
    for missing in uncalled(claims, trace):
        refused.append({"id": missing, "tool": "", "reason": "NOT_CALLED"})
    return {
        "gatekeeper_status": "COMPLETED" if admitted else "REJECTED",
        "gatekeeper_output": {"admitted": admitted, "refused": refused},
        "verifier_verdict_ceiling": ceiling(claims, admitted),
    }


def _evidence(call: Mapping[str, Any], probe: Probe | None) -> Evidence:
    """Write a call as evidence; that of a tool which is gone is no primary source."""
    is_primary = probe is not None and probe.is_primary
    return as_evidence(call, is_primary=is_primary, chosen=chosen_numbers(call, probe))
