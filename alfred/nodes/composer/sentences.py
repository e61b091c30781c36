"""Holds the sentences of an answer against the facts that they cite."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from alfred.nodes.checkable import is_checkable, missing_from
from alfred.nodes.diagnosis_excerpt import cited, shortened
from alfred.nodes.diagnosis_phrases import phrase
from alfred.nodes.diagnosis_shapes import (
    SUPPORTED,
    CheckedFact,
    FindingKind,
    Sentence,
    text,
    texts,
    unique,
)

MAX_WRITTEN = 4
"""Sentences that a model is asked for; a small one takes five seconds for each."""
MAX_SENTENCES = 6
MAX_TEXT_CHARS = 300
_CAUSAL = re.compile(
    r"\b(?:because|due to|caus(?:e|es|ed|ing|al)|root[- ]cause|as a result|led to|leads? to"
    r"|result(?:s|ed|ing)? (?:of|from|in)|leading to|trigger(?:s|ed|ing)? by|triggered|owing to"
    r"|thanks to|responsible for|blame|culprit|stems? from|therefore|hence|consequently|so that"
    r"|why)\b"
    r"|由于|因为|导致|引起|引发|造成|致使|根因|根本原因|原因|源于|归因|所以|因此|从而|罪魁",
    re.IGNORECASE,
)
_HEDGED = re.compile(
    r"\b(?:likely|probabl[ey]|possibl[ey]|may|might|could|perhaps|suspect(?:ed|s)?|suggests?|seems?"
    r"|appears?|hypothes[ie]s|not (?:established|proven|confirmed))\b"
    r"|可能|疑似|或许|也许|大概|推测|怀疑|尚未证实",
    re.IGNORECASE,
)


@dataclass
class Written:
    """The sentences that may stand, those that were dropped, and what makes the answer invalid."""

    sentences: list[Sentence] = field(default_factory=list[Sentence])
    dropped: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    problems: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, kw_only=True)
class Grounds:
    """What sentences are held against."""

    facts: Sequence[CheckedFact]
    evidence: Sequence[Mapping[str, Any]]
    finding: FindingKind
    language: Literal["zh", "en"]


def sayable(grounds: Grounds) -> list[CheckedFact]:
    """Keep the facts that an answer may state: supported, and with nothing in them unsupported.

    Where no cause may be named, facts that name one are left out.
    """
    return [
        fact
        for fact in grounds.facts
        if fact["verification"] in SUPPORTED
        and not fact["unsupported"]
        and (fact["role"] != "cause" or grounds.finding in ("cause", "hypotheses"))
    ]


def held_sentences(sentences: Sequence[Mapping[str, Any]], grounds: Grounds) -> Written:
    """Keep the sentences that rest on supported facts.

    A number or name that the cited evidence does not hold is a problem: the whole answer has to be
    written again. A sentence that cites no such fact, that holds nothing checkable, or that names a
    cause which is not established, is dropped.
    """
    written = Written()
    known = {fact["id"]: fact for fact in sayable(grounds)}
    for sentence in sentences[:MAX_SENTENCES]:
        words = shortened(text(sentence, "text"), MAX_TEXT_CHARS)
        facts = [known[each] for each in unique(texts(sentence, "facts")) if each in known]
        if not words:
            continue
        if why := _flaw(words, facts, grounds):
            written.dropped.append({"text": words, "why": why})
            continue
        evidence = unique(each for fact in facts for each in fact["evidence"])
        if missing := missing_from(words, cited(grounds.evidence, evidence)):
            tokens = ", ".join(missing)
            told = phrase(grounds.language, "not_in_evidence", tokens=tokens)
            written.problems.append(f"{words} – {told}")
            continue
        ids = [fact["id"] for fact in facts]
        written.sentences.append({"text": words, "facts": ids, "evidence": evidence, "by": "model"})
    return written


def _flaw(words: str, facts: Sequence[CheckedFact], grounds: Grounds) -> str:
    """Say why a sentence cannot stand, whatever its numbers; nothing where it can."""
    if not facts:
        return phrase(grounds.language, "cites_nothing")
    if _names_cause(words, facts, grounds.finding):
        return phrase(grounds.language, "claims_cause")
    return "" if is_checkable(words) else phrase(grounds.language, "not_checkable")


def _names_cause(words: str, facts: Sequence[CheckedFact], finding: FindingKind) -> bool:
    """Say whether a sentence states a cause that it may not state.

    It needs a fact that is one; and what is only likely has to be called so.
    """
    if not _CAUSAL.search(words):
        return False
    has_cause = any(fact["role"] == "cause" for fact in facts)
    return not has_cause or (finding != "cause" and not _HEDGED.search(words))


def quoted_facts(grounds: Grounds) -> list[Sentence]:
    """Make sentences of the supported facts themselves, for when the model's cannot stand."""
    order = ("cause", "symptom", "ruled_out", "normal")
    ranked = sorted(sayable(grounds), key=lambda fact: order.index(fact["role"]))
    return [
        {
            "text": _quoted(fact, grounds),
            "facts": [fact["id"]],
            "evidence": list(fact["evidence"]),
            "by": "code",
        }
        for fact in ranked[:MAX_SENTENCES]
    ]


def _quoted(fact: CheckedFact, grounds: Grounds) -> str:
    if fact["role"] == "cause" and grounds.finding == "hypotheses":
        return phrase(grounds.language, "likely", fact=fact["fact"])
    return fact["fact"]
