"""The words of an input, and where a value stands among them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from alfred.engine.evidence import Span
from alfred.engine.normalised_text import NormalisedText, is_word
from alfred.engine.scattered_words import Token, alignments, rarest, wanted_words
from alfred.engine.word_border import WordBorders
from alfred.engine.written_number import written_forms

_MAX_PLACES = 200
"""Places of one value that are weighed against each other."""
_MIN_LINE_WORDS = 3
"""Words of a value that is taken for a line, which may stand glued to its neighbours."""
_MAX_LOOKED_AT = 50_000
_MAX_PIVOTS = 50
"""Places of a value's rarest word around which the others are looked for."""
_EDGES = " \t.,;:!?'\"·-*()[]{}<>。…~|/\\"
_SIGNS = "-.~<>"


class SourceText:
    """An input's text, made once, in which values are looked up by their words.

    Units: spans are code points of `text`. A look-up is linear in the text, about a millisecond
           for a million characters.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._normalised = NormalisedText(text)
        self._borders = WordBorders(text, self._normalised)

    def find(self, value: str) -> Span | None:
        """Find the shortest, then first place where a value stands as whole words; None if none."""
        return next(iter(self.places(value)), None)

    def places(self, value: str) -> list[Span]:
        """Give the places of a value as whole words, the shortest first, then in order.

        Case, width, blanks, invisible characters and the kind of dash or quote don't matter; an
        edge of punctuation that the source lacks doesn't either.
        """
        wanted = NormalisedText(value).text
        places = self._whole(wanted)
        if not places and (bare := _without_edges(wanted)) != wanted:
            places = self._whole(bare)
        if not places and len(wanted.split()) >= _MIN_LINE_WORDS:
            places = self._stretches(wanted, self._borders.enclose_line)
        return _shortest_first(places)

    def number_places(self, value: float) -> list[Span]:
        """Give the places of a number in any of its written forms, the shortest first."""
        found = [span for form in written_forms(value) for span in self._whole(form)]
        return _shortest_first(found)

    def scattered(self, value: str) -> list[Span]:
        """Find all words of a value in order within one short stretch; empty where they are not.

        What may stand between them is said at `alignments`. Words side by side share a span.
        """
        words = wanted_words(NormalisedText(value).text)
        text = self._normalised.text
        if len(words) < 2 or not (pivot := rarest(words, text)):
            return []
        reach = 2 * sum(len(each.word) for each in words) + 60
        for at in islice(_occurrences(text, pivot), _MAX_PIVOTS):
            start = max(0, at - reach)
            for aligned in alignments(words, text[start : at + reach]):
                if spans := self._joined(start, aligned):
                    return spans
        return []

    def _whole(self, wanted: str) -> list[Span]:
        return self._stretches(wanted, self._borders.enclose)

    def _stretches(self, wanted: str, is_whole: Callable[[int, int], bool]) -> list[Span]:
        if not any(map(_says_something, wanted)):
            return []
        spans: list[Span] = []
        for at in islice(_occurrences(self._normalised.text, wanted), _MAX_LOOKED_AT):
            if len(spans) == _MAX_PLACES:
                break
            end = at + len(wanted)
            if is_whole(at, end) and (span := self._normalised.span(at, end)):
                spans.append(span)
        return spans

    def _joined(self, base: int, aligned: list[Token]) -> list[Span]:
        """Map words to the original, neighbours as one; empty where one is only part of a word."""
        text = self._normalised.text
        joined: list[tuple[int, int]] = []
        for token in aligned:
            start, end = base + token.start, base + token.end
            if joined and not text[joined[-1][1] : start].strip():
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((start, end))
        if not all(self._borders.enclose(start, end) for start, end in joined):
            return []
        spans = [self._normalised.span(start, end) for start, end in joined]
        return [span for span in spans if span] if all(spans) else []


def _says_something(char: str) -> bool:
    """Say whether a character alone could be a value: a letter, a digit, a currency's sign."""
    return is_word(char) or unicodedata.category(char) == "Sc"


def _without_edges(wanted: str) -> str:
    """Take punctuation off both ends, unless it changes what a number says."""
    bare = wanted.strip(_EDGES)
    before = wanted[: wanted.find(bare)] if bare else ""
    if before and before[-1] in _SIGNS and bare[0].isdigit():
        return wanted
    return bare


def _shortest_first(spans: Iterable[Span]) -> list[Span]:
    distinct = {(span["end"] - span["start"], span["start"]): span for span in spans}
    return [span for _, span in sorted(distinct.items())]


def _occurrences(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)
