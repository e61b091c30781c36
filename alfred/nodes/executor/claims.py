"""Claims over evidence: those that code reads off it, and those that a model states."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from alfred.nodes.checkable import is_checkable
from alfred.nodes.checkable_text import visible
from alfred.nodes.diagnosis_excerpt import shortened
from alfred.nodes.diagnosis_phrases import phrase
from alfred.nodes.diagnosis_shapes import Author, Claim, Role, items, text, texts, unique
from alfred.nodes.diagnosis_tools import step_schemas
from alfred.probes.probe import Probe

MAX_CLAIMS = 4
MAX_FACT_CHARS = 160
MAX_ALERTS = 5
MAX_CODE_CHARS = 240
_FIRING = re.compile(r"\bfir(?:ing|es|ed)\b|触发", re.IGNORECASE)
_NOT_FIRING = re.compile(
    r"\b(?:not|never|no longer|stopped)\s+(?:\w+\s+)?fir"
    r"|(?<![=\"\w.-])(?:pending|resolved|inactive)\b",
    re.IGNORECASE,
)
_BESIDE = re.compile(r"\{[^{}]*\}| - .*", re.DOTALL)
"""The labels of an alert and its summary: their words do not tell its state."""


def claims_schema(
    ids: Sequence[str], probes: Sequence[Probe], made: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Describe claims that cite these pieces of evidence, and one more call where tools are left.

    No evidence at all leaves no list that could be cited.
    """
    claim = {
        "type": "object",
        "properties": {
            "fact": {"type": "string", "maxLength": MAX_FACT_CHARS},
            "role": {"enum": ["cause", "symptom", "ruled_out", "normal"]},
            "evidence": {"type": "array", "maxItems": 3, "items": {"enum": list(ids)}},
        },
        "required": ["fact", "role", "evidence"],
        "additionalProperties": False,
    }
    fields: dict[str, Any] = {"claims": {"type": "array", "maxItems": MAX_CLAIMS, "items": claim}}
    if schemas := step_schemas(probes, made):
        fields["more"] = {"anyOf": [*schemas, {"type": "null"}]}
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def claims_of_code(
    calls: Sequence[Mapping[str, Any]], language: Literal["zh", "en"]
) -> list[Claim]:
    """Read off the evidence what needs no model: alerts that fire, questions that found nothing.

    An alert's line is quoted; a question without an answer is named as it was asked.
    """
    claims: list[Claim] = []
    for call in calls:
        asked = text(call, "asked")
        if call.get("outcome") == "empty" and asked:
            is_alerts = call.get("kind") == "alerts"
            role: Role = "ruled_out" if call.get("kind") == "changes" else "normal"
            said = phrase(language, "no_alert" if is_alerts else "found_nothing", asked=asked)
            claims.append(_claim(shortened(said, MAX_CODE_CHARS), role, [text(call, "id")], "code"))
        elif call.get("kind") == "alerts":
            firing = [line for line in texts(call, "lines") if _is_firing(line)]
            for line in firing[:MAX_ALERTS]:
                said = phrase(language, "alert_fires", line=line)
                claims.append(
                    _claim(shortened(said, MAX_CODE_CHARS), "symptom", [text(call, "id")], "code")
                )
    return claims


def claims_of_model(answer: Mapping[str, Any]) -> list[Claim]:
    """Take the claims of a model's answer, with whatever evidence it cites.

    What cites nothing and names nothing that could be looked up is no claim about evidence.
    """
    return [
        _claim(
            shortened(text(each, "fact"), MAX_FACT_CHARS),
            each["role"],
            texts(each, "evidence"),
            "model",
        )
        for each in items(answer, "claims")[:MAX_CLAIMS]
        if texts(each, "evidence") or is_checkable(text(each, "fact"))
    ]


def joined_claims(*groups: Sequence[Claim]) -> list[Claim]:
    """Join claims in this order and number them; one that says the same adds its evidence.

    Where code says the same as a model, it says it in the role that code gave it.
    """
    held: dict[str, Claim] = {}
    for claim in (each for group in groups for each in group):
        key = " ".join(claim["fact"].casefold().split()).rstrip(".。")
        if key in held:
            held[key]["evidence"] = unique([*held[key]["evidence"], *claim["evidence"]])
            if claim["by"] == "code":
                held[key].update(role=claim["role"], by=claim["by"])
        else:
            held[key] = claim
    return [{**claim, "id": f"F{i}"} for i, claim in enumerate(held.values(), start=1)]


def _claim(fact: str, role: Role, evidence: Sequence[str], by: Author) -> Claim:
    return {"id": "", "fact": visible(fact), "role": role, "evidence": unique(evidence), "by": by}


def _is_firing(line: str) -> bool:
    state = _BESIDE.sub(" ", line)
    return bool(_FIRING.search(state)) and not _NOT_FIRING.search(state)
