"""Divides a long text into chunks that a model can read one by one; pure, without a model."""

from __future__ import annotations

from alfred.engine.evidence import Span
from alfred.engine.manifest import Chunking
from alfred.engine.text_borders import Border, TextBorders
from alfred.engine.text_budget import fitting_end

MAX_CHUNKS = 40
"""How many chunks of one input are read: some 300 pages with a small model."""


def chunk_text(text: str, chunking: Chunking, room: int) -> list[Span]:
    """Divide a text as a manifest says, each chunk within `room` tokens.

    Shapes: spans of `text`, in order; together they cover it. By section, each chunk begins where
            the one before ends, at a heading, a blank line or between sentences; a sentence is
            torn apart only where it exceeds the room by itself. Fixed chunks have at most
            `max_chars` and share `overlap` characters. A text that fits is one chunk.
    Errors: none.
    """
    if fitting_end(text, 0, room) == len(text):
        return [Span(start=0, end=len(text))]
    if chunking.strategy == "fixed" and chunking.max_chars is not None:
        return _fixed(text, chunking.max_chars, chunking.overlap, room)
    return _by_section(text, room)


def middle_of(text: str, start: int, end: int) -> int | None:
    """Find the place nearest the middle of a chunk where no sentence is torn apart, if any."""
    places = TextBorders(text[start:end]).between(0, end - start)
    if not places:
        return None
    return start + min(places, key=lambda place: abs(2 * place - (end - start)))


def _fixed(text: str, max_chars: int, overlap: int, room: int) -> list[Span]:
    chunks: list[Span] = []
    start = 0
    while True:
        end = max(start + 1, min(start + max_chars, fitting_end(text, start, room)))
        chunks.append(Span(start=start, end=end))
        if end >= len(text):
            return chunks
        # Where the room is smaller than `max_chars`, the overlap must not eat up all progress.
        start = end - min(overlap, (end - start) // 2 if end - start < max_chars else overlap)


def _by_section(text: str, room: int) -> list[Span]:
    borders = TextBorders(text)
    chunks: list[Span] = []
    start = 0
    while start < len(text):
        limit = max(start + 1, fitting_end(text, start, room))
        end = len(text) if limit == len(text) else _best_end(borders, start, limit)
        chunks.append(Span(start=start, end=end))
        start = end
    return chunks


def _best_end(borders: TextBorders, start: int, limit: int) -> int:
    """Choose the best border in the second half of what fits, else any that tears no sentence."""
    half = start + (limit - start) // 2
    for after in (half, start):
        for border in (Border.HEADING, Border.PARAGRAPH, Border.ENTRY, Border.SENTENCE):
            if (place := borders.last(border, after, limit)) is not None:
                return place
    for border in (Border.LINE, Border.WORD):
        if (place := borders.last(border, half, limit)) is not None:
            return place
    return limit
