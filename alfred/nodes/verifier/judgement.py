"""What code makes of a model's word on a fact: it can only lower it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from alfred.nodes.checkable import (
    Excerpts,
    Name,
    Token,
    is_checkable,
    missing_from,
    references_in,
    tokens_of,
)
from alfred.nodes.denial import (
    denies,
    denies_alerts,
    denies_what_stands,
    says_absent,
    states_cause,
)
from alfred.nodes.diagnosis_excerpt import cited, cited_lines
from alfred.nodes.diagnosis_shapes import (
    GAPS,
    STATES_CAUSE,
    SUPPORTED,
    VERDICTS,
    CheckedFact,
    Verdict,
    Verification,
    text,
    texts,
    unique,
)

MIN_QUOTE_CHARS = 12
"""Shorter words stand in some line by chance."""
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
    firing: Sequence[str] = (),
    question: str = "",
) -> CheckedFact:
    """Judge one claim from what a model said of it and from the lines that are cited.

    `said` is empty for a claim that the model was not asked about, or left out. `firing` are the
    alerts that code read off the evidence: no claim may deny them. A cause has to say something
    that the `question` does not.
    """
    found = _judge(claim, said, evidence)
    if claim.get("by") != "code":
        found = _held_to_code(claim, found, evidence, firing)
        if claim.get("role") == "cause" and found.verification in SUPPORTED:
            found = _held_to_question(text(claim, "fact"), found, evidence, question)
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
    if claim.get("role") == "symptom" and (quoted := _quoted(text(claim, "fact"), evidence)):
        return _Finding("direct_support", "SUPPORTED", [quoted], [])
    if not ids:
        reason = "CITES_UNKNOWN" if wanted else "NO_CITATION"
        return _Finding("no_evidence", reason, [], missing_from(text(claim, "fact"), Excerpts([])))
    finds_nothing = all(is_negative[each] for each in ids)
    missing = [
        *missing_from(text(claim, "fact"), cited(evidence, ids)),
        *_cited_elsewhere(text(claim, "fact"), ids, evidence),
    ]
    if missing and claim.get("by") != "code":
        elsewhere = _held_elsewhere(text(claim, "fact"), ids, evidence)
        ids, missing = ([elsewhere], []) if elsewhere else (ids, missing)
        finds_nothing = all(is_negative[each] for each in ids)
    if claim.get("by") == "code" and not missing:
        reason = "NEGATIVE_EVIDENCE" if finds_nothing else "SUPPORTED"
        return _Finding("direct_support", reason, ids, [])
    verification = _verification(text(said, "verification"))
    if verification == "contradicted":
        return _Finding(verification, "MODEL_SAYS_CONTRADICTED", ids, missing)
    if finds_nothing:
        return _of_nothing_found(claim, verification, ids, missing)
    return _weighed(text(claim, "fact"), verification, ids, missing)


def _quoted(fact: str, evidence: Sequence[Mapping[str, Any]]) -> str:
    """Name the evidence of which a fact is a line, or a part of one, word for word; or nothing.

    Such a fact needs no model's word: it is what the evidence says.
    """
    words = _plain(fact)
    if len(words) < MIN_QUOTE_CHARS or not is_checkable(fact):
        return ""
    for each in evidence:
        if any(words in _plain(line) for line in texts(each, "lines")):
            return text(each, "id")
    return ""


def _plain(words: str) -> str:
    return " ".join(words.casefold().split()).strip(" .。|\"'")


def _held_elsewhere(fact: str, ids: Sequence[str], evidence: Sequence[Mapping[str, Any]]) -> str:
    """Name the one piece of evidence that holds all of a fact though the fact cites another."""
    if references_in(fact):
        return ""
    for each in evidence:
        name = text(each, "id")
        if (
            name not in ids
            and texts(each, "lines")
            and not missing_from(fact, cited([each], [name]))
        ):
            return name
    return ""


def _held_to_question(
    fact: str, found: _Finding, evidence: Sequence[Mapping[str, Any]], question: str
) -> _Finding:
    """Lower a cause that says nothing of the evidence but what was asked."""
    lines, asked = Excerpts(cited_lines(evidence, found.evidence)), Excerpts([question])
    if any(lines.hold(token) and not asked.hold(token) for token in tokens_of(fact)):
        return found
    return found._replace(verification="no_evidence", reason="RESTATES_QUESTION")


def _cited_elsewhere(
    fact: str, ids: Sequence[str], evidence: Sequence[Mapping[str, Any]]
) -> list[str]:
    """List the ids of evidence that a fact names in words and does not cite."""
    shown = cited(evidence, ids)
    return [
        each
        for each in references_in(fact)
        if each[0] == "E" and each not in ids and not shown.hold(Token(each, Name(each)))
    ]


def _held_to_code(
    claim: Mapping[str, Any],
    found: _Finding,
    evidence: Sequence[Mapping[str, Any]],
    firing: Sequence[str],
) -> _Finding:
    """Lower a model's claim that denies what stands there, or says more than its role may."""
    fact, lines = text(claim, "fact"), cited_lines(evidence, found.evidence)
    if denies_alerts(fact, firing):
        return found._replace(verification="contradicted", reason="CODE_READS_OTHERWISE")
    if found.verification not in SUPPORTED:
        return found
    if denies_what_stands(fact, lines):
        return found._replace(verification="no_evidence", reason="LINE_SAYS_OTHERWISE")
    cut = {text(each, "id") for each in evidence if each.get("truncated") is True}
    if says_absent(fact) and cut.intersection(found.evidence):
        # What is left out may hold it.
        return found._replace(verification="indirect_support", reason="TRUNCATED")
    if claim.get("role") != "cause" and not denies(fact) and states_cause(fact, lines):
        return found._replace(verification="indirect_support", reason=STATES_CAUSE)
    return found


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
    fact = text(claim, "fact")
    found = _weighed(fact, verification, ids, missing)
    if found.verification not in SUPPORTED:
        return found
    if claim.get("role") in POSITIVE and not denies(fact):
        return found._replace(verification="no_evidence", reason="NEGATIVE_EVIDENCE")
    if found.verification != "direct_support":
        return found
    shown: Verification = "indirect_support" if claim.get("role") in POSITIVE else "direct_support"
    return _Finding(shown, "NEGATIVE_EVIDENCE", ids, [])


def verdict_of(facts: Sequence[CheckedFact]) -> Verdict:
    """Name the highest verdict that the facts allow.

    A contradicted fact gives REJECT, a gap in a cause LOW_CONFID. Where no cause is stated, one
    supported fact is enough: what has no support is not said, and no reason to look again. No fact
    at all establishes nothing.
    """
    if not facts or any(fact["verification"] == "contradicted" for fact in facts):
        return "REJECT"
    causes = [fact for fact in facts if fact["role"] == "cause"]
    if not causes:
        is_known = any(fact["verification"] == "direct_support" for fact in facts)
        return "PASS" if is_known else "LOW_CONFID"
    return "LOW_CONFID" if any(fact["verification"] in GAPS for fact in causes) else "PASS"


def lowest(*verdicts: str | None) -> Verdict:
    """Take the lowest of several verdicts; one that is missing or unknown is not PASS."""
    ranks = [VERDICTS.index(cast("Verdict", each)) if each in VERDICTS else 1 for each in verdicts]
    return VERDICTS[min(ranks)]
