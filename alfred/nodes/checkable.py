"""Finds what can be checked in a sentence, its numbers and names, and which of it stands nowhere.

Nothing here knows what a sentence means. It holds that whatever a sentence counts or names was
given by the evidence that it cites.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from alfred.nodes.checkable_count import take_counts, take_shares
from alfred.nodes.checkable_name import holds_name, is_foreign, is_name, proper_names
from alfred.nodes.checkable_number import Quantity, read_number, read_range, read_unit, take_spaced
from alfred.nodes.checkable_text import plain_text, taken
from alfred.nodes.checkable_time import Day, Moment, take_times

_CITATION = re.compile(r"(?<![A-Za-z0-9_/.\-])[EF]\d{1,3}(?![A-Za-z0-9_/\-=:]|\.\d)", re.ASCII)
_QUOTED = re.compile(r'"([^"\n]{1,200})"|`([^`\n]{1,200})`|(?<![A-Za-z0-9])\'([^\'\n]{1,200})\'')
_WORD = re.compile(r"[A-Za-z0-9_./:=@%+#~$&?*,\-\\]+", re.ASCII)
_EDGES = ".,:;?!*&=#+"
_PERCENT = re.compile(r"(?<![\d.])(?<!\d )(?:%|percent|pct|百分)", re.IGNORECASE)
_FOREIGN = re.compile(r"[\w.:/@\-]+")


@dataclass(frozen=True)
class Quote:
    """Words in quotation marks: they have to stand as they are."""

    words: str


@dataclass(frozen=True)
class Name:
    """The name of a thing."""

    name: str


@dataclass(frozen=True)
class Label:
    """A name with its value, as in `service=checkout`; both have to stand in one line."""

    name: str
    value: str


@dataclass(frozen=True)
class Pair:
    """Two numbers that are joined, as in `3/5`; both have to stand in one line."""

    first: Quantity
    second: Quantity


Meaning = Quantity | Moment | Day | Quote | Name | Label | Pair


@dataclass(frozen=True)
class Token:
    """Something checkable: as it is written, and what it means.

    One that `is_loose` stands in many a line by chance: evidence has to hold it, but it makes no
    sentence worth checking.
    """

    written: str
    meaning: Meaning
    is_loose: bool = False


def tokens_of(text: str) -> list[Token]:
    """Find the numbers, times, names and quotations of a sentence, Chinese or English.

    Citations such as E1 and F2 are none.
    """
    found: list[Token] = []

    def add(written: str, meaning: Meaning, *, is_loose: bool = False) -> None:
        token = Token(written, meaning, is_loose)
        if token not in found:
            found.append(token)

    def counted(written: str, value: Decimal, unit: str) -> None:
        add(written, Quantity(value.normalize(), read_unit(unit)), is_loose=True)

    def foreign(match: re.Match[str]) -> bool:
        if is_foreign(match[0]):
            add(match[0], Name(match[0]))
        return is_foreign(match[0])

    def quoted(match: re.Match[str]) -> bool:
        words = match[1] or match[2] or match[3]
        if not words.strip(" .,"):
            return False
        add(words, Quote(words))
        return True

    left = taken(_CITATION, plain_text(text), lambda _: True)
    left = taken(_QUOTED, left, quoted)
    left = taken(_FOREIGN, left, foreign)
    left = take_spaced(take_times(left, add), add)
    left = take_counts(left, counted)
    left = take_shares(left, lambda written: add(written, Quote(written), is_loose=True))
    for name in proper_names(left):
        # Also as a part of a longer name: Basket is the service of basket-api and BasketSlow.
        add(name, Quote(name), is_loose=True)
    for word in _WORD.findall(left):
        for written, meaning in _read(word):
            add(written, meaning)
    return found


def references_in(text: str) -> list[str]:
    """List the ids of facts and evidence that a text names, such as F2 and E1."""
    return list(dict.fromkeys(_CITATION.findall(plain_text(text))))


def is_checkable(text: str) -> bool:
    """Say whether a sentence holds anything that evidence could confirm."""
    return any(not token.is_loose for token in tokens_of(text))


def missing_from(text: str, evidence: Excerpts) -> list[str]:
    """List what a sentence counts or names and no line of the evidence holds, as written there."""
    return [token.written for token in tokens_of(text) if not evidence.hold(token)]


class Excerpts:
    """Lines of evidence, ready to be searched."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = [_Line(line) for line in lines if line.strip()]

    def hold(self, token: Token) -> bool:
        """Say whether a line holds what a token means."""
        return any(line.holds(token.meaning) for line in self._lines)


@dataclass
class _Line:
    line: str
    text: str = ""
    quantities: list[Quantity] = field(default_factory=list[Quantity])
    moments: list[Moment | Day] = field(default_factory=list[Moment | Day])

    def __post_init__(self) -> None:
        self.text = plain_text(self.line)
        left = take_times(self.text, lambda _, moment: self.moments.append(moment))
        left = take_spaced(left, lambda _, quantity: self.quantities.append(quantity))
        left = take_counts(left, self._count)
        for word in _WORD.findall(left):
            self.quantities += _numbers_in(word)
        if _PERCENT.search(self.text):
            # A table says once, in its heading or label, that its figures are per cent.
            self.quantities += [Quantity(q.value, "%") for q in self.quantities if not q.unit]

    def _count(self, _: str, value: Decimal, unit: str) -> None:
        self.quantities.append(Quantity(value.normalize(), read_unit(unit)))

    def holds(self, meaning: Meaning) -> bool:
        match meaning:
            case Quantity():
                return any(meaning.says(quantity) for quantity in self.quantities)
            case Pair(first, second):
                return self.holds(first) and self.holds(second)
            case Moment() | Day():
                return self._holds_time(meaning)
            case Quote(words):
                return _folded(words) in _folded(self.text)
            case Name(name):
                return holds_name(self.text, name)
            case Label(name, value):
                return holds_name(self.text, name) and self._holds_value(value)

    def _holds_time(self, wanted: Moment | Day) -> bool:
        if isinstance(wanted, Day):
            return any(isinstance(each, Day) and wanted.says(each) for each in self.moments)
        return any(isinstance(each, Moment) and wanted.says(each) for each in self.moments)

    def _holds_value(self, value: str) -> bool:
        quantity = read_number(value)
        if quantity is not None:
            return any(quantity.says(each) for each in self.quantities)
        return holds_name(self.text, value)


def _folded(words: str) -> str:
    return " ".join(words.casefold().split())


def _read(word: str) -> list[tuple[str, Meaning]]:
    """Read one word of a sentence; nothing where it is one of the language."""
    bare = word.lstrip(",:;?!*&=#").rstrip(_EDGES + "-/\\")
    quantity = read_number(bare)
    if quantity is not None:
        return [(bare, quantity)]
    if joined := read_range(bare):
        return [(bare, Pair(*joined))]
    if "," in bare:
        return [token for part in bare.split(",") for token in _read(part)]
    name, _, value = bare.partition("=")
    if value and re.fullmatch(r"[A-Za-z_][\w.\-/]*", name, re.ASCII):
        return [(bare, Label(name, value))]
    return [(bare, Name(bare))] if is_name(bare) else []


def _numbers_in(word: str) -> list[Quantity]:
    """Read the numbers of a word of evidence, also behind labels, as in `status=503`."""
    found: list[Quantity] = []
    pieces: Sequence[str] = [word, *re.split(r"[=:/,;|\\]|->", word)]
    for piece in (each.strip(_EDGES + "-/\\") if i else each for i, each in enumerate(pieces)):
        quantity = read_number(piece) or read_number(piece.rstrip(_EDGES))
        if quantity is not None:
            found.append(quantity)
        elif joined := read_range(piece.rstrip(_EDGES)):
            found += joined
    return found
