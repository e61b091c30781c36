"""Holds the sentences of an answer against the facts that they cite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from alfred.nodes.checkable import is_checkable, missing_from, references_in
from alfred.nodes.checkable_text import visible
from alfred.nodes.denial import denies_alerts, is_hedged, states_cause, turns_round
from alfred.nodes.diagnosis_excerpt import cited, cited_lines, shortened
from alfred.nodes.diagnosis_phrases import phrase
from alfred.nodes.diagnosis_shapes import (
    STATES_CAUSE,
    SUPPORTED,
    CheckedFact,
    FindingKind,
    Sentence,
    firing_alerts,
    text,
    texts,
    unique,
)

MAX_WRITTEN = 4
"""Sentences that a model is asked for; a small one takes five seconds for each."""
MAX_SENTENCES = 6
MAX_TEXT_CHARS = 300


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

    Where no cause may be named, facts that name one are left out, and always those that name one
    under another role.
    """
    return [
        fact
        for fact in grounds.facts
        if fact["verification"] in SUPPORTED
        and not fact["unsupported"]
        and fact["reason"] != STATES_CAUSE
        and (fact["role"] != "cause" or grounds.finding in ("cause", "hypotheses"))
    ]


def held_sentences(sentences: Sequence[Mapping[str, Any]], grounds: Grounds) -> Written:
    """Keep the sentences that rest on supported facts.

    A number or name that the cited evidence does not hold is a problem: the whole answer has to be
    written again. A sentence that cites no such fact, that holds nothing checkable, that denies
    what its facts say, or that names a cause which is not established, is dropped.
    """
    written = Written()
    known = {fact["id"]: fact for fact in sayable(grounds)}
    for sentence in sentences[:MAX_SENTENCES]:
        words = shortened(visible(text(sentence, "text")), MAX_TEXT_CHARS)
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
        if grounds.finding == "hypotheses" and not is_hedged(words) and _name_cause(facts):
            words = phrase(grounds.language, "likely", fact=words)
        written.sentences.append({"text": words, "facts": ids, "evidence": evidence, "by": "model"})
    return written


def _flaw(words: str, facts: Sequence[CheckedFact], grounds: Grounds) -> str:
    """Say why a sentence cannot stand, whatever its numbers; nothing where it can."""
    if not facts:
        return phrase(grounds.language, "cites_nothing")
    if _names_cause(words, facts, grounds.finding):
        return phrase(grounds.language, "claims_cause")
    if not is_checkable(words):
        return phrase(grounds.language, "not_checkable")
    if _says_otherwise(words, facts, grounds):
        return phrase(grounds.language, "says_otherwise")
    is_cited = set(references_in(words)) <= _cited_by(facts)
    return "" if is_cited else phrase(grounds.language, "cites_nothing")


def _names_cause(words: str, facts: Sequence[CheckedFact], finding: FindingKind) -> bool:
    """Say whether a sentence states a cause that it may not state.

    It needs a fact that is one; and what is only likely has to be called so.
    """
    if not states_cause(words):
        return False
    return not _name_cause(facts) or (finding != "cause" and not is_hedged(words))


def _name_cause(facts: Sequence[CheckedFact]) -> bool:
    return any(fact["role"] == "cause" for fact in facts)


def _says_otherwise(words: str, facts: Sequence[CheckedFact], grounds: Grounds) -> bool:
    """Say whether a sentence denies what its facts say; facts of what is well deny by nature."""
    if denies_alerts(words, firing_alerts(grounds.facts)):
        return True
    if any(fact["role"] in ("normal", "ruled_out") and fact["by"] == "model" for fact in facts):
        return False
    ids = [each for fact in facts for each in fact["evidence"]]
    said = [fact["fact"] for fact in facts]
    return turns_round(words, said, cited_lines(grounds.evidence, ids))


def _cited_by(facts: Sequence[CheckedFact]) -> set[str]:
    return {each for fact in facts for each in (fact["id"], *fact["evidence"])}


def without_problems(written: Written) -> Written:
    """Leave out what made an answer invalid: asked twice, a model will not do better."""
    refused = [{"text": problem, "why": problem} for problem in written.problems]
    return Written(sentences=written.sentences, dropped=[*written.dropped, *refused])


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
