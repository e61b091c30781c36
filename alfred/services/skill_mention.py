"""Where a text names a skill: whole names only, and no ordinary word that is spelt like one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from alfred.engine.evidence import Span
from alfred.engine.normalised_text import NormalisedText, is_chinese
from alfred.engine.source_text import SourceText
from alfred.services.text_key import text_key

MAX_QUOTE_CHARS = 200
_ORDINARY = frozenset(
    str.split(
        """
        access angular ansible ant assembly basic chef dart ember excel express flask flow flutter
        go hive julia ml node pandas perl pg pig puppet rails react ruby rust scratch
        slack spark spring storm swift teams unity word
        """
    )
)
"""Names that are ordinary words or units as well; they count only where they stand as names do."""
_CONTEXT = re.compile(
    r"(?:develop|engineer|program|language|service|back-?end|front-?end|cod(?:e|ing)|micro|apps?\b"
    r"|application|project|script|macro|framework|native\b|vba\b|sql\b|model|pipeline|boot\b|skill)",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"\b(?:program|languages?\b|cod(?:e|ing)\b|script|statistic|data\b|software|skills?\b)"
    r"|语言|编程|统计|数据|开发|技能",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"\s+(?:to|live|ahead|beyond|back|for|through|out|up|on|with|over|further|at|quickly)\b",
    re.IGNORECASE,
)
_JOINED = "-&'’"
_LISTING = ",;/|、，；·•()（）[]【】:：。\n"
_INTRODUCTION = re.compile(
    r"^(?:[-•·*]\s*)?(?:you (?:know|have|can use|are (?:good|fluent) (?:at|in))"
    r"|(?:good|strong|solid|basic|deep|working|hands-on|proven)?\s*"
    r"(?:experience|knowledge|understanding|command|proficien(?:cy|t)|familiar(?:ity)?|skills?|fluen(?:cy|t))"
    r"\s+(?:of|with|in|using)"
    r"|熟悉|掌握|精通|了解|熟练使用|熟练掌握|能熟练使用|会使用|具备|具有|拥有|会)\s*",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"\s*(?:\(?(?:is )?(?:a plus|preferred|required|desired|nice to have)\)?"
    r"|(?:优先|者优先|经验者优先|的?经验|的?能力|使用经验))[.。]?$",
    re.IGNORECASE,
)
_SENTENCE_ENDS = re.compile(r"[。！？!?\n；;]|\.(?=\s|$)")


@dataclass(frozen=True, kw_only=True)
class Skill:
    """A skill, or other words that are looked for, under every spelling that counts as it."""

    name: str
    spellings: frozenset[str]
    id: str | None = None
    """The row of the vocabulary; None for words that it does not have."""


@dataclass(frozen=True, kw_only=True)
class Mention:
    """A place where a text names a skill, in code points of the text."""

    skill: Skill
    span: Span


class SkillText:
    """A text in which skills are looked for, made once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._source = SourceText(text)
        self._comparable = NormalisedText(text).text

    def mentions(self, skills: Iterable[Skill]) -> list[Mention]:
        """Find the named skills in the order of the text; a name inside a longer one is none.

        `Java` is not in JavaScript; with both spellings given, nor is it in "Java Script".
        """
        found = [
            Mention(skill=skill, span=span)
            for skill in skills
            for spelling in skill.spellings
            for span in self._places(spelling)
        ]
        kept = [one for one in found if not any(_is_inside(one, other) for other in found)]
        named = {one.skill.id or one.skill.name for one in kept}
        return sorted(
            (one for one in kept if self._is_told(one, others=len(named) > 1)),
            key=lambda one: one.span["start"],
        )

    def sentence(self, span: Span) -> str:
        """Quote the sentence around a place, shortened around it where it is long."""
        start, end = _sentence(self.text, span)
        if end - start > MAX_QUOTE_CHARS:
            room = (MAX_QUOTE_CHARS - (span["end"] - span["start"])) // 2
            cut = max(start, span["start"] - room), min(end, span["end"] + room)
            before, after = ("…" if cut[0] > start else ""), ("…" if cut[1] < end else "")
            return f"{before}{' '.join(self.text[slice(*cut)].split())}{after}"
        return " ".join(self.text[start:end].split())

    def _places(self, spelling: str) -> Iterator[Span]:
        wanted = _comparable(spelling)
        if wanted not in self._comparable:
            return
        for span in self._source.places(spelling):
            # The look-up also takes a value without its punctuation, where `.net` would be a net.
            if _comparable(self.text[span["start"] : span["end"]]) != wanted:
                continue
            if not _may_be_ordinary(spelling) or _stands_as_name(self.text, span):
                yield span

    def _is_told(self, one: Mention, *, others: bool) -> bool:
        """Say whether a single letter is more than a letter: other skills or code are spoken of."""
        span = one.span
        if span["end"] - span["start"] > 1 or is_chinese(self.text[span["start"]]):
            return True
        start, end = _sentence(self.text, span)
        return others or _CODE.search(self.text[start:end]) is not None


def _is_inside(one: Mention, other: Mention) -> bool:
    size = one.span["end"] - one.span["start"]
    around = other.span["end"] - other.span["start"]
    return (
        around > size
        and other.span["start"] <= one.span["start"]
        and one.span["end"] <= other.span["end"]
    )


@lru_cache(maxsize=2048)
def _comparable(spelling: str) -> str:
    return NormalisedText(spelling).text


def _may_be_ordinary(spelling: str) -> bool:
    return spelling in _ORDINARY or (len(spelling) == 1 and spelling.isascii())


def _stands_as_name(text: str, span: Span) -> bool:
    """Say whether a word that may be an ordinary one stands as a name: in a list, or capitalised.

    At a sentence's beginning a capital says nothing, and before a word of motion neither.
    """
    before, after = text[: span["start"]], text[span["end"] :]
    if any(char in _JOINED for char in before[-1:] + after[:1]):
        return False
    left, right = before.rstrip(" \t"), after.lstrip(" \t")
    begins = not left or left[-1] in "\n.!?。！？"
    ends = not right or right[0] in "\n。！？!?" or re.match(r"\.(?:\s|$)", right) is not None
    is_left_open = not left or left[-1] in _LISTING or is_chinese(left[-1])
    is_right_open = ends or right[0] in _LISTING or is_chinese(right[0])
    if is_left_open and is_right_open:
        return True
    word = text[span["start"] : span["end"]]
    if len(word) > 1 and word.isupper():
        return True
    if not word[0].isupper() or _NO_NAME.match(after):
        return False
    is_with_context = _CONTEXT.match(right) is not None
    return is_with_context or not (begins or right[:1].isupper())


def _sentence(text: str, span: Span) -> tuple[int, int]:
    """Find the sentence around a place, its closing mark included, a line break not."""
    start = max((m.end() for m in _SENTENCE_ENDS.finditer(text, 0, span["start"])), default=0)
    mark = _SENTENCE_ENDS.search(text, span["end"])
    if mark is None:
        return start, len(text)
    return start, mark.start() if mark[0] == "\n" else mark.end()


def own_words(text: str) -> str:
    """Take from a requirement what only introduces it: "experience with Figma" asks for Figma."""
    words = _INTRODUCTION.sub("", text.strip())
    words = _CLOSING.sub("", words).strip(" \t.。;；,，、:：-•·*")
    return words or text.strip()


def skill_called(words: str, skills: Sequence[Skill]) -> Skill:
    """Return the skill that words name, or the words themselves as something to look for."""
    own = own_words(words)
    for key in (text_key(words), text_key(own)):
        if (known := next((s for s in skills if key in s.spellings), None)) is not None:
            return known
    return Skill(name=own, spellings=frozenset({text_key(own)}))
