"""Where a text may be divided: before headings, at blank lines, between sentences."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from enum import IntEnum

from alfred.engine.normalised_text import CHINESE


class Border(IntEnum):
    """How well a place divides a text; from SENTENCE on nothing is torn apart."""

    WORD = 1
    LINE = 2
    SENTENCE = 3
    ENTRY = 4
    PARAGRAPH = 5
    HEADING = 6


_TERMINAL = "。！？；…!?.;:："
_CLOSING = "”’」』）)\"'】]*_"
_SENTENCE_END = re.compile(
    rf"[。！？；…]+[{re.escape(_CLOSING)}]*[^\S\n]*"
    # An initial, a title or a legal form before a full stop is no end.
    r"|(?<!\b[A-Z])(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bInc)(?<!\bLtd)(?<!\bCo)(?<!\bNo)(?<!\bvs)"
    rf"[.!?;]+[{re.escape(_CLOSING)}]*[^\S\n]+(?=[A-Z\d\"'“(\[{CHINESE}])"
)
_NUMERAL = "[一二三四五六七八九十百零〇]{1,4}"
_ENTRY = re.compile(
    rf"\s*(?:[-*+•·●▪◦–—]\s|\(?\d{{1,3}}[.)、）]|[（(]?{_NUMERAL}[)）]|[a-z][.)]\s)"
)
_SECTION = re.compile(
    r"\s*(?:#{1,6}\s\S"
    rf"|第(?:{_NUMERAL}|\d{{1,3}})[章节篇部条]"
    rf"|{_NUMERAL}[、.．]"
    r"|(?:Chapter|Section|Part|Article)\s+(?:\d{1,3}|[IVXLC]{1,6})\b"
    r"|\d{1,2}(?:\.\d{1,2}){1,3}\.?\s+\S"
    r"|[【\[][^】\]]{1,40}[】\]]\s*$)"
)
_MAX_HEADING_CHARS = 60
_SPACE = re.compile(r"[^\S\n]+")


def is_blank(line: str) -> bool:
    """Say whether a line shows nothing."""
    return not line.strip()


def is_separator(line: str) -> bool:
    """Say whether a line is only drawn: three signs of one kind or more."""
    signs = "".join(line.split())
    return len(signs) >= 3 and len(set(signs)) == 1 and signs[0] in "-=*_#~—–─━═＝－＊～+"


def is_heading(line: str) -> bool:
    """Say whether a line names what comes below: a numbered or marked section, a short label."""
    words = line.strip()
    if not words or is_separator(line):
        return False
    if _SECTION.match(line):
        return True
    if len(words) > _MAX_HEADING_CHARS or _ENTRY.match(line):
        return False
    letters = [char for char in words if char.isalpha()]
    is_shouted = len(letters) >= 4 and words.isupper() and words[-1] not in _TERMINAL
    return is_shouted or words[-1] in ":："


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Give each line, without its end, and where it starts."""
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1


class TextBorders:
    """The places where a text may be divided, each just behind what it ends."""

    def __init__(self, text: str) -> None:
        found: dict[int, Border] = {}
        for place, border in _borders(text):
            if 0 < place < len(text):
                found[place] = max(border, found.get(place, Border.WORD))
        self._places: dict[Border, list[int]] = {
            border: sorted(place for place, best in found.items() if best >= border)
            for border in Border
        }

    def last(self, border: Border, after: int, until: int) -> int | None:
        """Find the last place of that border or a better one in `(after, until]`."""
        places = self._places[border]
        index = bisect_right(places, until) - 1
        return places[index] if index >= 0 and places[index] > after else None

    def between(self, start: int, end: int) -> list[int]:
        """Give the places strictly inside `start` and `end` where no sentence is torn apart."""
        places = self._places[Border.SENTENCE]
        return places[bisect_right(places, start) : bisect_left(places, end)]


def _borders(text: str) -> Iterator[tuple[int, Border]]:
    before = ""
    for start, line in lines_of(text):
        if start:
            yield start, _line_border(before, line)
        for end in _SENTENCE_END.finditer(line):
            yield start + end.end(), Border.SENTENCE
        for space in _SPACE.finditer(line):
            yield start + space.end(), Border.WORD
        before = line


def _line_border(before: str, line: str) -> Border:
    """Judge the place between two lines."""
    if is_blank(line) or (is_heading(before) and not is_blank(before)):
        # What is blank belongs to what it follows, and a heading to what it names.
        return Border.LINE
    if is_heading(line):
        return Border.HEADING
    if is_blank(before) or is_separator(before):
        return Border.PARAGRAPH
    if _ENTRY.match(line):
        return Border.ENTRY
    ends = before.rstrip().rstrip(_CLOSING)
    return Border.SENTENCE if ends and ends[-1] in _TERMINAL else Border.LINE
