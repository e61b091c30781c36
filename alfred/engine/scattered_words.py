"""The words of a value in order with little between them, as where a model left out a bullet."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from alfred.engine.normalised_text import CHINESE, is_chinese, is_word

_MAX_SKIPPED = 2
"""Words that may be skipped in all, in a value long enough to be recognised without them."""
_MAX_MARKS = 4
"""Punctuation marks that may stand between two words of a value."""
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


def tokens(text: str) -> list[Token]:
    """Cut a normalised text into tokens."""
    return [Token(match[0], match.start()) for match in _TOKEN.finditer(text)]


def words_of(value: str) -> list[str]:
    """Give the words of a normalised value, without its marks."""
    return [token.word for token in tokens(value) if is_word(token.word[0])]


def rarest(words: list[str], text: str) -> str:
    """Pick what to look for first in a text; nothing where a word is missing altogether."""
    chosen, fewest = "", math.inf
    for word, following in zip(words, [*words[1:], ""], strict=True):
        count = text.count(word)
        if not count:
            return ""
        # Single Chinese characters are everywhere, pairs are mostly words.
        pair = word + following if is_chinese(word[0]) and is_chinese(following[:1]) else word
        pairs = text.count(pair)
        if 0 < pairs < fewest:
            chosen, fewest = pair, pairs
        elif count < fewest:
            chosen, fewest = word, count
    return chosen


def alignments(words: list[str], stretch: str) -> Iterator[list[Token]]:
    """Give the ways in which all words stand in a stretch of text, at most one for each start.

    Between two words a few marks may stand; a value of five words, or of eight Chinese
    characters, may have up to two words skipped in all. A number, a negation and the end of a
    sentence are never skipped.
    """
    found = tokens(stretch)
    is_long = len(words) >= (_LONG_CHINESE if is_chinese(words[0][0]) else _LONG_LATIN)
    for first, token in enumerate(found):
        if token.word == words[0]:
            aligned = _follow(words, found, first, _MAX_SKIPPED if is_long else 0)
            if aligned:
                yield aligned


def _follow(words: list[str], found: list[Token], first: int, may_skip: int) -> list[Token]:
    aligned = [found[first]]
    at = first + 1
    for wanted in words[1:]:
        marks = 0
        while at < len(found) and found[at].word != wanted:
            is_skipped_word = is_word(found[at].word[0])
            may_skip -= is_skipped_word
            marks += not is_skipped_word
            if may_skip < 0 or marks > _MAX_MARKS or _is_wall(found[at].word, found[at - 1].word):
                return []
            at += 1
        if at == len(found):
            return []
        aligned.append(found[at])
        at += 1
    return aligned


def _is_wall(word: str, previous: str) -> bool:
    """Say whether a token forbids reading what stands around it as one phrase."""
    if word == ".":
        # The dot of "Co." or "Sr." ends no sentence.
        return len(previous) > 3 and previous not in _ABBREVIATED
    if word in _ENDS or word in _NEGATIONS or word.endswith("n't"):
        return True
    return any(char.isdigit() for char in word)
