"""The words of a value in order with little between them, as where a model left out a bullet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from alfred.engine.normalised_text import CHINESE, is_chinese, is_word

_MAX_SKIPPED = 2
"""Words that may be skipped in all, in a value long enough to be recognised without them."""
_MAX_MARKS = 4
"""Punctuation marks that may stand between two words of a value."""
_MAX_COUNTED = 6
"""Words counted to find the rarest: numbers and long words are what a text has few of."""
_LONG_LATIN, _LONG_CHINESE = 5, 8
_TOKEN = re.compile(rf"[^\W\d_]+n't|\d+(?:[.,]\d+)+|(?:(?![{CHINESE}])[^\W_])+(?:\+\+|\#)?|\S")
_ENDS = frozenset("!?;。%")
_ABBREVIATED = frozenset({"corp", "dept", "prof", "univ"})
_NEGATIONS = frozenset(
    str.split(
        """
        no not non never none nor neither without except excluding excluded unless lack lacks
        cannot former formerly instead rather
        不 非 无 無 没 沒 未 勿 莫 禁 免 除 别 否 拒
        """
    )
)


class Token(NamedTuple):
    """A number, a Latin word, one Chinese character or a mark, and where it begins."""

    word: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.word)


class Wanted(NamedTuple):
    """A word of a value, and whether the value has the end of a sentence before it."""

    word: str
    begins_sentence: bool


def tokens(text: str) -> list[Token]:
    """Cut a normalised text into tokens."""
    return [Token(match[0], match.start()) for match in _TOKEN.finditer(text)]


def wanted_words(value: str) -> list[Wanted]:
    """Give the words of a normalised value, without its marks."""
    words: list[Wanted] = []
    ends_sentence = False
    for token in tokens(value):
        if is_word(token.word[0]):
            words.append(Wanted(token.word, ends_sentence))
            ends_sentence = False
        else:
            ends_sentence = ends_sentence or token.word in _ENDS or token.word == "."
    return words


def rarest(wanted: list[Wanted], text: str) -> str:
    """Pick what to look for first in a text; nothing where a word is missing altogether."""
    words = [each.word for each in wanted]
    pairs = zip(words, [*words[1:], ""], strict=True)
    # Single Chinese characters are everywhere, pairs are mostly words.
    keys = [a + b if is_chinese(a[0]) and is_chinese(b[:1]) else a for a, b in pairs]
    longest = sorted(dict.fromkeys(keys), key=lambda key: (key.isdigit(), len(key)), reverse=True)
    if not all(word in text for word in dict.fromkeys(words)):
        return ""
    counts = {key: text.count(key) for key in longest[:_MAX_COUNTED]}
    present = [key for key, count in counts.items() if count]
    return min(present, key=counts.__getitem__, default=words[0])


def alignments(wanted: list[Wanted], stretch: str) -> Iterator[list[Token]]:
    """Give the ways in which all words stand in a stretch of text, at most one for each start.

    Between two words a few marks may stand; a value of five words, or of eight Chinese
    characters, may have up to two words skipped in all. A number, a negation and an end of a
    sentence that the value doesn't have are never skipped.
    """
    found = tokens(stretch)
    is_long = len(wanted) >= (_LONG_CHINESE if is_chinese(wanted[0].word[0]) else _LONG_LATIN)
    for first, token in enumerate(found):
        if token.word == wanted[0].word:
            aligned = _follow(wanted, found, first, _MAX_SKIPPED if is_long else 0)
            if aligned:
                yield aligned


def _follow(wanted: list[Wanted], found: list[Token], first: int, may_skip: int) -> list[Token]:
    aligned = [found[first]]
    at = first + 1
    for word, begins_sentence in wanted[1:]:
        marks = 0
        while at < len(found) and found[at].word != word:
            skipped, previous = found[at].word, found[at - 1].word
            may_skip -= is_word(skipped[0])
            marks += not is_word(skipped[0])
            if may_skip < 0 or marks > _MAX_MARKS or _changes_meaning(skipped):
                return []
            if _ends_sentence(skipped, previous) and not begins_sentence:
                return []
            at += 1
        if at == len(found):
            return []
        aligned.append(found[at])
        at += 1
    return aligned


def _changes_meaning(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't") or any(char.isdigit() for char in word)


def _ends_sentence(mark: str, previous: str) -> bool:
    if mark == ".":
        # The dot of "Co." or "Sr." ends no sentence.
        return len(previous) > 3 and previous not in _ABBREVIATED
    return mark in _ENDS
