"""What of a posting's requirements a user has on record, by name and word for word, no model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict
from uuid import UUID

from alfred.engine.evidence import Span
from alfred.engine.source_text import SourceText
from alfred.services.skill_mention import Skill, SkillText, own_words
from alfred.services.text_key import text_key

Verdict = Literal["on_record", "partly_on_record", "nothing_on_record"]
MAX_QUOTES = 3


@dataclass(frozen=True, kw_only=True)
class Record:
    """A row that tells of the user, with its texts; names of employers in it are no skills."""

    table: str
    id: UUID
    texts: tuple[str, ...]
    masked: tuple[str, ...] = field(default=())


class Quote(TypedDict):
    """A sentence of a record that names what is asked for."""

    table: str
    id: UUID
    quote: str


class Compared(TypedDict):
    """Something a requirement asks for: how it was looked for, and where it was found."""

    name: str
    by: Literal["skill", "words"]
    spellings: list[str]
    support: list[Quote]


class Matched(TypedDict):
    """A requirement with what is on record for it. Years and levels are not compared."""

    id: UUID
    kind: str
    importance: str
    text: str
    verdict: Verdict
    compared: list[Compared]


def match_requirements(
    requirements: Sequence[dict[str, Any]], records: Sequence[Record], skills: Sequence[Skill]
) -> list[Matched]:
    """Compare each requirement with every record.

    A requirement that names skills of the vocabulary is compared by each of them, under all their
    names; any other by its own words as a whole.
    Shapes: a requirement has id, kind, importance, text, skill_id; at most `MAX_QUOTES` quotes
    for each thing that is asked for, in the order of the records.
    """
    texts = [(record, _Told(record, skills)) for record in records]
    return [_match(requirement, texts, skills) for requirement in requirements]


def asked_for(requirement: dict[str, Any], skills: Sequence[Skill]) -> list[Skill]:
    """Say what a requirement asks for: the skills it names, or else its own words."""
    named = {m.skill.name: m.skill for m in SkillText(requirement["text"]).mentions(skills)}
    linked = next((s for s in skills if s.id and s.id == str(requirement["skill_id"])), None)
    if linked is not None:
        named.setdefault(linked.name, linked)
    if named:
        return list(named.values())
    words = own_words(requirement["text"])
    return [Skill(name=words, spellings=frozenset({text_key(words)}))]


class _Told:
    """A record's texts, read once; a skill in the name of an employer does not count."""

    def __init__(self, record: Record, skills: Sequence[Skill]) -> None:
        self._skills = skills
        self._texts = [SkillText(text) for text in record.texts]
        self._masked = [
            [span for name in record.masked for span in SourceText(text.text).places(name)]
            for text in self._texts
        ]
        self._known = [text.mentions(skills) for text in self._texts]

    def quote(self, wanted: Skill) -> str | None:
        """Quote the first sentence that names what is wanted."""
        for text, known, masked in zip(self._texts, self._known, self._masked, strict=True):
            # Words are looked for among the vocabulary: inside a skill's longer name they are none.
            found = known if wanted.id else text.mentions([*self._skills, wanted])
            for mention in found:
                if mention.skill == wanted and not any(_holds(m, mention.span) for m in masked):
                    return text.sentence(mention.span)
        return None


def _holds(outer: Span, inner: Span) -> bool:
    return outer["start"] <= inner["start"] and inner["end"] <= outer["end"]


def _match(
    requirement: dict[str, Any], texts: Sequence[tuple[Record, _Told]], skills: Sequence[Skill]
) -> Matched:
    compared = [_compare(wanted, texts) for wanted in asked_for(requirement, skills)]
    found = [bool(each["support"]) for each in compared]
    verdict: Verdict = "partly_on_record" if any(found) else "nothing_on_record"
    return {
        "id": requirement["id"],
        "kind": requirement["kind"],
        "importance": requirement["importance"],
        "text": requirement["text"],
        "verdict": "on_record" if all(found) else verdict,
        "compared": compared,
    }


def _compare(wanted: Skill, texts: Iterable[tuple[Record, _Told]]) -> Compared:
    support: list[Quote] = []
    for record, told in texts:
        if len(support) < MAX_QUOTES and (quote := told.quote(wanted)):
            support.append({"table": record.table, "id": record.id, "quote": quote})
    return {
        "name": wanted.name,
        "by": "skill" if wanted.id else "words",
        "spellings": sorted(wanted.spellings),
        "support": support,
    }
