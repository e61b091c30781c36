"""Admits what may count as evidence; no model has a say in it."""

from __future__ import annotations

from typing import Any

from alfred.nodes.diagnosis_port import Config, Running
from alfred.nodes.diagnosis_shapes import Evidence, View, items, mapping, text
from alfred.nodes.gatekeeper.admission import as_evidence, ceiling, refusal, uncalled


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
        probe = context.toolbox.get(text(call, "tool"))
        kept.append(call)
        admitted.append(as_evidence(call, is_primary=probe is not None and probe.is_primary))
    for missing in uncalled(claims, trace):
        refused.append({"id": missing, "tool": "", "reason": "NOT_CALLED"})
    return {
        "gatekeeper_status": "COMPLETED" if admitted else "REJECTED",
        "gatekeeper_output": {"admitted": admitted, "refused": refused},
        "verifier_verdict_ceiling": ceiling(claims, admitted),
    }
