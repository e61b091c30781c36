"""What the steps of a diagnosis hand to each other, as plain JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict, cast

View = Mapping[str, Any]

Role = Literal["cause", "symptom", "ruled_out", "normal"]
Verification = Literal["direct_support", "indirect_support", "no_evidence", "contradicted"]
Verdict = Literal["PASS", "LOW_CONFID", "REJECT"]
FindingKind = Literal["cause", "hypotheses", "no_fault", "not_established"]
Author = Literal["model", "code"]

VERDICTS: Sequence[Verdict] = ("REJECT", "LOW_CONFID", "PASS")
"""From the lowest to the highest."""
SUPPORTED = ("direct_support", "indirect_support")
STATES_CAUSE = "STATES_CAUSE"
"""Why a fact of another role may not be said: its words state a cause that no line states."""
GAPS = ("no_evidence", "indirect_support")


class PlannedStep(TypedDict):
    """One call to make, and what it is expected to show."""

    tool: str
    arguments: dict[str, Any]
    expects: str


class Claim(TypedDict):
    """Something said about the system, with the evidence it rests on; `by` code means quoted."""

    id: str
    fact: str
    role: Role
    evidence: list[str]
    by: Author


class Evidence(TypedDict):
    """An admitted call. `is_negative`: it was asked and there is nothing.

    `chosen` are the numbers that whoever asked chose freely: that they stand in the question shows
    nothing.
    """

    id: str
    tool: str
    kind: str
    is_primary: bool
    is_negative: bool
    asked: str
    chosen: list[str]
    where: str
    start: str | None
    end: str | None
    lines: list[str]
    truncated: bool


class Excerpt(TypedDict):
    """What the verifier and the composer see of a piece of evidence."""

    id: str
    asked: str
    chosen: list[str]
    where: str
    lines: list[str]
    is_negative: bool
    truncated: bool


class CheckedFact(TypedDict):
    """A claim after its verification; `unsupported` are its words that stand in no evidence."""

    id: str
    fact: str
    role: Role
    by: Author
    verification: Verification
    evidence: list[str]
    reason: str
    unsupported: list[str]


class Sentence(TypedDict):
    """One sentence of an answer, with the facts and the evidence that it cites."""

    text: str
    facts: list[str]
    evidence: list[str]
    by: Author


def mapping(view: View, key: str) -> dict[str, Any]:
    """Read a mapping; empty where there is none."""
    value = view.get(key)
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {}


def items(view: View, key: str) -> list[dict[str, Any]]:
    """Read a list of mappings; whatever else stands in it is left out."""
    value = view.get(key)
    listed = cast("list[Any]", value) if isinstance(value, list) else []
    return [dict(cast("Mapping[str, Any]", each)) for each in listed if isinstance(each, Mapping)]


def texts(view: View, key: str) -> list[str]:
    """Read a list of texts; whatever else stands in it is left out."""
    value = view.get(key)
    listed = cast("list[Any]", value) if isinstance(value, list) else []
    return [each for each in listed if isinstance(each, str)]


def text(view: View, key: str) -> str:
    """Read a text; empty where there is none."""
    value = view.get(key)
    return value if isinstance(value, str) else ""


def language_of(view: View) -> Literal["zh", "en"]:
    """Read the language of an incident or an input; a third one is answered in English."""
    return "zh" if view.get("language") == "zh" else "en"


def unique(values: Iterable[str]) -> list[str]:
    """Keep the first of equal texts."""
    return list(dict.fromkeys(values))


def firing_alerts(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """List what code read off the evidence of alerts that fire."""
    return [
        text(claim, "fact")
        for claim in claims
        if claim.get("by") == "code" and claim.get("role") == "symptom"
    ]
