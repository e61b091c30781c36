"""A part of an input, or several joined, with the way back to where each word stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from alfred.engine.evidence import Evidence, Span

_JOINT = "\n\n"
"""Between two parts that do not follow each other in the source."""


@dataclass(frozen=True)
class Excerpt:
    """What is read of a source: the texts at `spans`, in order, joined by a blank line."""

    source: str
    spans: tuple[Span, ...]

    @classmethod
    def whole(cls, source: str) -> Excerpt:
        """Take all of a source."""
        return cls(source, (Span(start=0, end=len(source)),))

    @cached_property
    def text(self) -> str:
        """The text that is read; spans of it map back by `to_source`."""
        return _JOINT.join(self.source[span["start"] : span["end"]] for span in self.spans)

    def to_source(self, span: Span) -> list[Span]:
        """Map a span of the excerpt's text; one that crosses a joint becomes several."""
        return list(self._pieces(span))

    def evidence_in_source(self, evidence: Evidence) -> Evidence:
        """Let evidence found in the excerpt point into the source; its quote stays."""
        return {**evidence, "spans": [s for span in evidence["spans"] for s in self._pieces(span)]}

    def all_in_source(self, evidence: Mapping[str, Evidence]) -> dict[str, Evidence]:
        """Map the evidence of every value, as `evidence_in_source`."""
        return {pointer: self.evidence_in_source(found) for pointer, found in evidence.items()}

    def _pieces(self, wanted: Span) -> Iterator[Span]:
        offset = 0
        for span in self.spans:
            length = span["end"] - span["start"]
            start = max(wanted["start"] - offset, 0)
            end = min(wanted["end"] - offset, length)
            if start < end:
                yield Span(start=span["start"] + start, end=span["start"] + end)
            offset += length + len(_JOINT)


def shifted(evidence: Mapping[str, Evidence], offset: int) -> dict[str, Evidence]:
    """Let evidence found in a piece of a text, from `offset` on, point into that text."""
    return {
        pointer: {
            **found,
            "spans": [
                Span(start=span["start"] + offset, end=span["end"] + offset)
                for span in found["spans"]
            ],
        }
        for pointer, found in evidence.items()
    }


def opening(words: str, max_chars: int = 40) -> str:
    """Quote the beginning of a text on one line."""
    flat = " ".join(words[: 4 * max_chars].split())
    return flat if len(flat) <= max_chars else flat[: max_chars - 1].rstrip() + "…"


def joined(spans: Sequence[Span], source: str) -> Excerpt:
    """Make an excerpt of the spans that have words; those that touch become one."""
    kept: list[Span] = []
    for span in spans:
        if not source[span["start"] : span["end"]].strip():
            continue
        if kept and kept[-1]["end"] >= span["start"]:
            kept[-1] = Span(start=kept[-1]["start"], end=span["end"])
        else:
            kept.append(span)
    return Excerpt(source, tuple(_without_blank_end(span, source) for span in kept))


def _without_blank_end(span: Span, source: str) -> Span:
    words = source[span["start"] : span["end"]].rstrip()
    return Span(start=span["start"], end=span["start"] + len(words))
