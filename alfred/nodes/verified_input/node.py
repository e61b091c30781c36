"""Takes claims and admitted evidence out of what was gathered, for whoever judges them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alfred.nodes.denial import tells_of_alert, tells_of_alert_alone
from alfred.nodes.diagnosis_port import Config, Running
from alfred.nodes.diagnosis_shapes import (
    Excerpt,
    View,
    items,
    language_of,
    mapping,
    text,
    texts,
)
from alfred.probes.masking import mask_secrets


async def verified_input_node(view: View, config: Config, runtime: Running) -> dict[str, Any]:
    """Build the verifier's input: no plan, no reasoning, no evidence that was refused.

    What code read off a call that was refused goes with it; a model's claim stays, as a gap.
    """
    runtime.context.run.manifest("verified_input").check_input(view)
    admitted = items(mapping(view, "gatekeeper_output"), "admitted")
    kinds = {text(each, "id"): text(each, "kind") for each in admitted}
    claims = [
        {
            "id": text(claim, "id"),
            "fact": mask_secrets(text(claim, "fact")),
            "role": _role(claim, kinds),
            "evidence": [each for each in texts(claim, "evidence") if each in kinds],
            "by": text(claim, "by"),
        }
        for claim in items(mapping(view, "executor_output"), "claims")
        if claim.get("by") != "code" or kinds.keys() & texts(claim, "evidence")
    ]
    return {
        "verified_input": {
            "question": mask_secrets(text(view, "user_query").strip()),
            "language": language_of(mapping(view, "incident_context")),
            "claims": claims,
            "evidence": [_excerpt(each) for each in admitted],
        }
    }


def _role(claim: Mapping[str, Any], kinds: Mapping[str, str]) -> str:
    """Name what a claim is to the question: that an alert fires is to be explained, no cause."""
    fact = text(claim, "fact")
    cited = {kinds[each] for each in texts(claim, "evidence") if each in kinds}
    is_alert = tells_of_alert_alone(fact) or (cited == {"alerts"} and tells_of_alert(fact))
    return "symptom" if is_alert and claim.get("role") == "cause" else text(claim, "role")


def _excerpt(admitted: Mapping[str, Any]) -> Excerpt:
    return {
        "id": text(admitted, "id"),
        "asked": mask_secrets(text(admitted, "asked")),
        "chosen": texts(admitted, "chosen"),
        "where": mask_secrets(text(admitted, "where")),
        "lines": [mask_secrets(line) for line in texts(admitted, "lines")],
        "is_negative": admitted.get("is_negative") is True,
        "truncated": admitted.get("truncated") is True,
    }
