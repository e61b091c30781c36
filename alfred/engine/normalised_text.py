"""A text in the form in which words are compared, with a map back to where each letter stands.

Compared are letters, not their spelling in Unicode: compatibility forms are decomposed (NFKD),
case is folded, invisible characters are gone, dashes and quotes are one kind each, and blanks
are one space, or none beside a Chinese character, which needs none.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from functools import lru_cache

from alfred.engine.evidence import Span

CHINESE = (
    "\u2e80-\u303f\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
"""The inside of a character class: scripts that set no borders between words."""
_WIDE = CHINESE + "\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_IS_WIDE = re.compile(f"[{_WIDE}]")
_IS_CJK = re.compile(f"[{CHINESE}]")
# What stays as long as it was: ASCII but for runs of blanks, and the common Chinese characters.
_PLAIN = "(?:[!-&(-_a-~\u4e00-\u9fff]|(?<=[!-~]) (?=[!-~]))+"
_INVISIBLE = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]+"
)
_STEP = re.compile(f"({_PLAIN})|({_INVISIBLE})|(\\s(?:\\s|{_INVISIBLE})*)|.", re.DOTALL)
_MAX_CLUSTER = 32
"""A character with more marks than any language has: putting them in order costs their square."""
_FOLDED = str.maketrans(
    {
        **dict.fromkeys("‐‑‒–—―−﹘﹣⁃", "-"),
        **dict.fromkeys("‘’‚‛′`´ʼ", "'"),
        **dict.fromkeys("“”„‟″«»「」『』", '"'),
        **dict.fromkeys("・‧∙•●▪", "·"),
        **dict.fromkeys("〜∼˜", "~"),
        "⁄": "/",
        "、": ",",
        "【": "[",
        "】": "]",
    }
)


class NormalisedText:
    """A text in comparable form.

    Shapes: `text` is the comparable form; `span(i, j)` maps `text[i:j]` to code points of the
            original, or to None where `i` or `j` falls inside what was one character there.
    """

    def __init__(self, original: str) -> None:
        self._starts = array("L")
        self._origins = array("L")
        self._ends = array("L")
        self._pieces: list[str] = []
        self._length = 0
        self._read(original)
        self.text = "".join(self._pieces)
        self._pieces.clear()

    def span(self, start: int, end: int) -> Span | None:
        """Map a non-empty range of `text` to the original, both half open."""
        first = bisect_right(self._starts, start) - 1
        last = bisect_right(self._starts, end - 1) - 1
        left, right = start - self._starts[first], end - self._starts[last]
        if left and not self._is_plain(first):
            return None
        if not self._is_plain(last):
            if right != self._size(last):
                return None
            return Span(start=self._origins[first] + left, end=self._ends[last])
        return Span(start=self._origins[first] + left, end=self._origins[last] + right)

    def _read(self, text: str) -> None:
        at = 0
        while step := _STEP.match(text, at):
            at = step.end()
            if step[1]:
                self._add(step[1].lower(), step.start(), at)
            elif step[3]:
                self._read_blanks(text, step.start(), at)
            elif not step[2]:
                at = self._read_cluster(text, step.start())

    def _read_blanks(self, text: str, start: int, end: int) -> None:
        is_inside = self._length and end < len(text)
        if is_inside and not (_IS_WIDE.match(text, end) or self._ends_wide(text)):
            self._add(" ", start, end)

    def _ends_wide(self, text: str) -> bool:
        return _IS_WIDE.match(text, self._ends[-1] - 1) is not None

    def _read_cluster(self, text: str, at: int) -> int:
        """Read one character with the marks that combine with it, which may be in any order."""
        end, last = at + 1, min(len(text), at + _MAX_CLUSTER)
        while end < last and unicodedata.combining(text[end]):
            end += 1
        self._add(comparable(text[at:end]), at, end)
        return end

    def _add(self, piece: str, start: int, end: int) -> None:
        if not piece:
            return
        self._starts.append(self._length)
        self._origins.append(start)
        self._ends.append(end)
        self._pieces.append(piece)
        self._length += len(piece)

    def _size(self, segment: int) -> int:
        following = segment + 1
        end = self._starts[following] if following < len(self._starts) else self._length
        return end - self._starts[segment]

    def _is_plain(self, segment: int) -> bool:
        """A segment of the same length as its original is mapped letter by letter."""
        return self._size(segment) == self._ends[segment] - self._origins[segment]


@lru_cache(maxsize=8192)
def comparable(cluster: str) -> str:
    """Fold one character and its marks, without the rules for blanks."""
    folded = unicodedata.normalize("NFKD", cluster).casefold()
    return unicodedata.normalize("NFKD", folded).translate(_FOLDED)


def without_mark_floods(text: str) -> str:
    """Leave out the marks beyond those a character can have, before a whole text is normalised."""
    if text.isascii():
        return text
    kept: list[str] = []
    marks = 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks < _MAX_CLUSTER:
            kept.append(char)
    return "".join(kept)


def is_word(char: str) -> bool:
    """Say whether a character, or nothing, is part of a word: a letter, digit or combining mark."""
    return char.isalnum() or (char != "" and unicodedata.category(char)[0] == "M")


def is_chinese(char: str) -> bool:
    """Say whether a character belongs to a script that sets no borders between words."""
    return _IS_CJK.match(char) is not None
