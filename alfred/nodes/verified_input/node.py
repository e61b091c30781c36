"""Takes claims and admitted evidence out of what was gathered, for whoever judges them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    evidence = [_excerpt(each) for each in items(mapping(view, "gatekeeper_output"), "admitted")]
    known = {each["id"] for each in evidence}
    claims = [
        {
            "id": text(claim, "id"),
            "fact": mask_secrets(text(claim, "fact")),
            "role": text(claim, "role"),
            "evidence": [each for each in texts(claim, "evidence") if each in known],
            "by": text(claim, "by"),
        }
        for claim in items(mapping(view, "executor_output"), "claims")
        if claim.get("by") != "code" or known.intersection(texts(claim, "evidence"))
    ]
    return {
        "verified_input": {
            "question": mask_secrets(text(view, "user_query").strip()),
            "language": language_of(mapping(view, "incident_context")),
            "claims": claims,
            "evidence": evidence,
        }
    }


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
