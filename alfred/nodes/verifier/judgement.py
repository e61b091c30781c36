"""What code makes of a model's word on a fact: it can only lower it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from alfred.nodes.checkable import Excerpts, is_checkable, missing_from, tokens_of
from alfred.nodes.diagnosis_excerpt import cited
from alfred.nodes.diagnosis_shapes import (
    GAPS,
    SUPPORTED,
    VERDICTS,
    CheckedFact,
    Verdict,
    Verification,
    text,
    texts,
    unique,
)

POSITIVE = ("cause", "symptom")
"""Roles that say that something is; where nothing was found, nothing shows it directly."""


class _Finding(NamedTuple):
    verification: Verification
    reason: str
    evidence: list[str]
    unsupported: list[str]


def checked(
    claim: Mapping[str, Any],
    said: Mapping[str, Any],
    evidence: Sequence[Mapping[str, Any]],
) -> CheckedFact:
    """Judge one claim from what a model said of it and from the lines that are cited.

    `said` is empty for a claim that the model was not asked about, or left out.
    """
    found = _judge(claim, said, evidence)
    return {
        "id": text(claim, "id"),
        "fact": text(claim, "fact"),
        "role": claim["role"],
        "by": claim["by"],
        "verification": found.verification,
        "evidence": found.evidence,
        "reason": found.reason,
        "unsupported": found.unsupported,
    }


def _judge(
    claim: Mapping[str, Any],
    said: Mapping[str, Any],
    evidence: Sequence[Mapping[str, Any]],
) -> _Finding:
    is_negative = {text(each, "id"): each.get("is_negative") is True for each in evidence}
    wanted = unique([*texts(said, "evidence"), *texts(claim, "evidence")])
    ids = [each for each in wanted if each in is_negative]
    if not ids:
        reason = "CITES_UNKNOWN" if wanted else "NO_CITATION"
        return _Finding("no_evidence", reason, [], missing_from(text(claim, "fact"), Excerpts([])))
    finds_nothing = all(is_negative[each] for each in ids)
    missing = missing_from(text(claim, "fact"), cited(evidence, ids))
    if claim.get("by") == "code" and not missing:
        reason = "NEGATIVE_EVIDENCE" if finds_nothing else "SUPPORTED"
        return _Finding("direct_support", reason, ids, [])
    verification = _verification(text(said, "verification"))
    if verification == "contradicted":
        return _Finding(verification, "MODEL_SAYS_CONTRADICTED", ids, missing)
    if finds_nothing:
        return _of_nothing_found(claim, verification, ids, missing)
    return _weighed(text(claim, "fact"), verification, ids, missing)


def _verification(said: str) -> Verification:
    """Read a model's word; one that is missing or unknown supports nothing."""
    for known in (*GAPS, *SUPPORTED, "contradicted"):
        if said == known:
            return known
    return "no_evidence"


def _weighed(fact: str, verification: Verification, ids: list[str], missing: list[str]) -> _Finding:
    if not is_checkable(fact):
        return _Finding("no_evidence", "NOTHING_CHECKABLE", ids, [])
    if missing:
        # What is partly there may be derived; of what is nowhere, nothing was.
        is_derived = len(missing) < len(tokens_of(fact)) and verification != "no_evidence"
        found: Verification = "indirect_support" if is_derived else "no_evidence"
        return _Finding(found, "TOKEN_NOT_IN_EVIDENCE", ids, missing)
    if verification != "direct_support":
        return _Finding(verification, "MODEL_SAYS_GAP", ids, [])
    return _Finding(verification, "SUPPORTED", ids, [])


def _of_nothing_found(
    claim: Mapping[str, Any], verification: Verification, ids: list[str], missing: list[str]
) -> _Finding:
    """Weigh a claim that rests on questions without an answer: it cannot show that something is."""
    found = _weighed(text(claim, "fact"), verification, ids, missing)
    if found.verification != "direct_support":
        return found
    shown: Verification = "indirect_support" if claim.get("role") in POSITIVE else "direct_support"
    return _Finding(shown, "NEGATIVE_EVIDENCE", ids, [])


def verdict_of(facts: Sequence[CheckedFact]) -> Verdict:
    """Name the highest verdict that the facts allow.

    A contradicted fact gives REJECT, a gap in a cause LOW_CONFID; where no cause is stated, all
    the rest has to be supported. No fact at all establishes nothing.
    """
    if not facts or any(fact["verification"] == "contradicted" for fact in facts):
        return "REJECT"
    causes = [fact for fact in facts if fact["role"] == "cause"]
    judged = causes or facts
    return "LOW_CONFID" if any(fact["verification"] in GAPS for fact in judged) else "PASS"


def lowest(*verdicts: str | None) -> Verdict:
    """Take the lowest of several verdicts; one that is missing or unknown is not PASS."""
    ranks = [VERDICTS.index(cast("Verdict", each)) if each in VERDICTS else 1 for each in verdicts]
    return VERDICTS[min(ranks)]
