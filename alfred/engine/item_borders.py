"""Where one text holds several items of what a node reads; pure, by a manifest's own words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from alfred.engine.manifest import Items
from alfred.engine.text_borders import is_blank, is_heading, is_separator, lines_of

MAX_ITEMS = 12
"""How many items of one input are read."""
_SIGN_WITHIN = 120
"""How far from its beginning a paragraph may announce an item."""
_MAX_TITLE_CHARS = 40
_MAX_TITLES = 2
"""Paragraphs of one short line that go with the paragraph below them."""
_NO_TITLE = re.compile(r"[:：@]|://|[。！？.!?;；,，]$")
_LEADING_LABEL = re.compile(r"(?P<name>[^:：。.!?！？，,]{1,20}?)\s*[:：]")
"""A section's name. A sign at its end announces, as "We seek:" does, and "Seek times:" does not."""
_ORDINAL = r"(?:no\.?\s*)?(?:\d{1,2}|[一二三四五六七八九十]{1,3})|(?<=[\u4e00-\u9fff])[a-z]|\s[a-z]"


@dataclass(frozen=True)
class Paragraph:
    """Lines between two blank or drawn ones. `is_new` says that a drawn line stands before it."""

    start: int
    end: int
    is_new: bool
    lines: tuple[str, ...]


@dataclass(frozen=True)
class _Label:
    """A line that names a field of an item: which one, in what words, and what it says."""

    place: int
    end: int
    group: int
    word: str
    value: str


def find_paragraphs(text: str) -> list[Paragraph]:
    """Divide a text at blank and drawn lines."""
    found: list[Paragraph] = []
    lines: list[tuple[int, str]] = []
    is_new = False
    for start, line in (*lines_of(text), (len(text) + 1, "")):
        if not (is_blank(line) or is_separator(line)):
            lines.append((start, line))
            continue
        if lines:
            end = lines[-1][0] + len(lines[-1][1])
            found.append(Paragraph(lines[0][0], end, is_new, tuple(line for _, line in lines)))
            lines, is_new = [], False
        is_new = is_new or is_separator(line)
    return found


class Outline:
    """The paragraphs of a text, with what a manifest's words say of them."""

    def __init__(self, text: str, items: Items) -> None:
        self.paragraphs = find_paragraphs(text)
        self._labels = _find_labels(text, items)
        self._label_places = {label.place for label in self._labels}
        self._begins = [paragraph.start for paragraph in self.paragraphs]
        self._signs = _sign_pattern(items)

    def counted_starts(self) -> tuple[int, ...]:
        """Find where items begin by the label that counts them; empty where none does.

        It is the one said most often, each time of something else ("Role: Cook … Role: Gardener"),
        or with a number ("Role 1", "Role 2").
        """
        by_word: dict[str, dict[str, _Label]] = defaultdict(dict)
        for label in self._labels:
            by_word[label.word].setdefault(label.value, label)
        most = max(map(len, by_word.values()), default=0)
        if most < 2:
            return ()
        said = next(values for values in by_word.values() if len(values) == most)
        counted = list(said.values())[: MAX_ITEMS + 1]
        later = [self._start_of(label, before.place) for before, label in pairwise(counted)]
        return (self._first_start(counted, later), *later)

    def candidates(self) -> list[int]:
        """Number the paragraphs that might begin an item, at least two or none.

        They announce one, or all do where the same heading comes twice. Whether those are several
        items or the parts of one, only a reader can tell.
        """
        found = self._announcing()
        if len(found) < 2 and self._repeats_a_heading():
            found = list(range(len(self.paragraphs)))
        return found if len(found) > 1 else []

    def starts_at(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Find where the items of some paragraphs begin: at the titles above each, or at itself.

        The first has no more titles than another has: what is left stands above all items.
        """
        befores = pairwise(numbers)
        firsts = [self._first_title(number, before + 1) for before, number in befores]
        reach = max((n - first for n, first in zip(numbers[1:], firsts, strict=True)), default=0)
        firsts = [self._first_title(numbers[0], max(0, numbers[0] - reach)), *firsts]
        return tuple(self.paragraphs[first].start for first in firsts)

    def _announcing(self) -> list[int]:
        """Number the paragraphs that have a sign, or one of a field's several labels."""
        by_group: dict[int, dict[str, int]] = defaultdict(dict)
        for label in self._labels:
            by_group[label.group].setdefault(label.word, label.place)
        several = [group.values() for group in by_group.values() if len(group) > 1]
        labelled = {self._holding(place) for places in several for place in places}
        numbers = range(len(self.paragraphs))
        return [number for number in numbers if number in labelled or self._announces(number)]

    def _repeats_a_heading(self) -> bool:
        """Say whether a short heading comes twice, as the sections of a second item would."""
        seen: set[str] = set()
        for line in (line for paragraph in self.paragraphs for line in paragraph.lines):
            key = "".join(filter(str.isalpha, line.casefold())) if is_heading(line) else ""
            if len(key) >= 2 and key in seen:
                return True
            seen.add(key)
        return False

    def _start_of(self, label: _Label, before: int) -> int:
        """Find where the item of a label begins, below the place of the label before.

        That is at the labels right above it in the same paragraph; otherwise behind the last drawn
        line, at the last paragraph that announces an item, or at the titles above the label's own.
        """
        own = self._holding(label.place)
        if self.paragraphs[own].start <= before:
            return self._first_label(label, before)
        lowest = bisect_right(self._begins, before)
        above = range(lowest, own + 1)
        if drawn := [number for number in above if self.paragraphs[number].is_new]:
            return self.paragraphs[drawn[-1]].start
        if signed := [number for number in above if self._announces(number)]:
            own = signed[-1]
        return self.paragraphs[self._first_title(own, lowest)].start

    def _first_start(self, counted: Sequence[_Label], later: Sequence[int]) -> int:
        """Find where the first item begins, as far above its label as another is above its own.

        What stands further up stands above all items.
        """
        owns = [self._holding(label.place) for label in counted]
        reach = max(own - self._holding(start) for own, start in zip(owns[1:], later, strict=True))
        if reach == 0 and later[0] in self._label_places:
            return self._first_label(counted[0], -1)
        return self.paragraphs[max(0, owns[0] - reach)].start

    def _first_label(self, label: _Label, before: int) -> int:
        by_end = {other.end: other for other in self._labels if other.place > before}
        while label.place in by_end:
            label = by_end[label.place]
        return label.place

    def _first_title(self, number: int, lowest: int) -> int:
        first = number
        while (
            first > lowest
            and number - first < _MAX_TITLES
            and not self.paragraphs[first].is_new
            and self._is_title(first - 1)
        ):
            first -= 1
        return first

    def _is_title(self, number: int) -> bool:
        """Say whether a paragraph is one short line that names something rather than telling it."""
        paragraph = self.paragraphs[number]
        words = paragraph.lines[0].strip()
        if paragraph.start in self._label_places:
            return len(paragraph.lines) == 1
        is_short = len(paragraph.lines) == 1 and len(words) <= _MAX_TITLE_CHARS
        return is_short and not _NO_TITLE.search(words)

    def _announces(self, number: int) -> bool:
        """Say whether a sign stands at a paragraph's beginning, other than in a section's name."""
        beginning = " ".join(self.paragraphs[number].lines)[:_SIGN_WITHIN].lstrip()
        label = _LEADING_LABEL.match(beginning)
        for sign in self._signs.finditer(beginning) if self._signs else ():
            if label is None or sign.end() >= label.end("name"):
                return True
        return False

    def _holding(self, place: int) -> int:
        return bisect_right(self._begins, place) - 1


def _label_pattern(items: Items) -> re.Pattern[str]:
    words = sorted({word for group in items.labels for word in group}, key=len, reverse=True)
    listed = "|".join(re.escape(word) for word in words)
    number = r"(?:[(（]?(?:\d{1,2}|[一二三四五六七八九十]{1,3})[.)、）．]\s*)?"
    return re.compile(
        rf"\s*(?:[#>*\-•·●]+\s*)?{number}[*【\[]*\s*(?P<word>{listed})"
        rf"(?:\s*(?P<ordinal>{_ORDINAL})\s*(?:[*】\]]*\s*[:：.、\-–—]|[*】\]]+|$)"
        r"|\s*[*】\]]*\s*[:：]|\s*[】\]])"
        r"[*\s]*(?P<value>.*)",
        re.IGNORECASE,
    )


def _sign_pattern(items: Items) -> re.Pattern[str] | None:
    if not items.signs:
        return None
    # Words of scripts with blanks between words stand alone; others have no borders.
    return re.compile(
        "|".join(rf"\b{re.escape(s)}\b" if s.isascii() else re.escape(s) for s in items.signs),
        re.IGNORECASE,
    )


def _find_labels(text: str, items: Items) -> list[_Label]:
    if not items.labels:
        return []
    group_of = {w.casefold(): index for index, group in enumerate(items.labels) for w in group}
    pattern = _label_pattern(items)
    found: list[_Label] = []
    for start, line in lines_of(text):
        match = pattern.match(line)
        if match is None:
            continue
        word, ordinal = match["word"].casefold(), (match["ordinal"] or "").strip().casefold()
        value = " ".join(match["value"].casefold().split())
        if ordinal or value:
            end = start + len(line) + 1
            found.append(_Label(start, end, group_of[word], word, f"{ordinal} {value}"))
    return found
