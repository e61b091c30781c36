"""Makes one answer of the answers to a text's chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from alfred.engine import json_pointer
from alfred.engine.canonical import canonical
from alfred.engine.evidence import Evidence
from alfred.engine.normalised_text import NormalisedText

MAX_ENTRIES = 100
"""Entries of one list that are kept: more than that nobody reviews."""

Place = tuple[int, int]


@dataclass(frozen=True)
class ChunkAnswer:
    """What a model read in one chunk. `evidence`, by JSON pointer, points into the whole text."""

    out: Mapping[str, Any]
    evidence: Mapping[str, Evidence]


@dataclass(frozen=True)
class _Entry:
    """An entry of a list: its value, in comparable form, the chunk it is from, its words' places.

    The places are those of its texts and numbers; a choice has none of its own.
    """

    value: Any
    key: str
    chunk: int
    places: frozenset[Place]


def merge_answers(chunks: Sequence[ChunkAnswer]) -> tuple[dict[str, Any], list[str]]:
    """Merge the answers to chunks, in the order of the text.

    A list has the entries of all chunks, each once: entries are the same where all their values
    are, or where the words of one are words of the other, at the same place, as happens where
    chunks overlap; the longer stays. Any other value is that of the first chunk in which it is
    grounded, else of the first that has one: what a chunk says without words for it never
    replaces what another has words for.
    Shapes: the answer, and sentences about entries that were left out. Errors: none.
    """
    names = dict.fromkeys(name for chunk in chunks for name in chunk.out)
    merged: dict[str, Any] = {}
    notes: list[str] = []
    for name in names:
        holding = [(index, chunk) for index, chunk in enumerate(chunks) if name in chunk.out]
        if any(isinstance(chunk.out[name], list) for _, chunk in holding):
            entries = _merged_lists(name, holding)
            merged[name] = [entry.value for entry in entries[:MAX_ENTRIES]]
            if len(entries) > MAX_ENTRIES:
                notes.append(f"Of {len(entries)} {name} the first {MAX_ENTRIES} are kept.")
        else:
            chosen = next((c for _, c in holding if _is_grounded(name, c)), holding[0][1])
            merged[name] = chosen.out[name]
    return merged, notes


def _is_grounded(name: str, chunk: ChunkAnswer) -> bool:
    return any(found["support"] == "grounded" for found in _beneath(f"/{name}", chunk))


def _beneath(pointer: str, chunk: ChunkAnswer) -> Iterator[Evidence]:
    for at, found in chunk.evidence.items():
        if at == pointer or at.startswith(f"{pointer}/"):
            yield found


def _merged_lists(name: str, holding: Sequence[tuple[int, ChunkAnswer]]) -> list[_Entry]:
    kept: list[_Entry] = []
    for entry in (entry for index, chunk in holding for entry in _entries(name, index, chunk)):
        same = next((at for at, other in enumerate(kept) if _is_same(entry, other)), None)
        if same is None:
            kept.append(entry)
        elif _length(entry) > _length(kept[same]):
            kept[same] = entry
    return kept


def _entries(name: str, index: int, chunk: ChunkAnswer) -> Iterator[_Entry]:
    values: Any = chunk.out[name]
    for number, value in enumerate(cast("list[Any]", values) if isinstance(values, list) else []):
        pointer = json_pointer.extend(f"/{name}", number)
        places = frozenset(
            (span["start"], span["end"])
            for found in _beneath(pointer, chunk)
            if found["support"] == "grounded"
            for span in found["spans"]
        )
        yield _Entry(value, canonical(_comparable(value)), index, places)


def _is_same(one: _Entry, other: _Entry) -> bool:
    if one.key == other.key:
        return True
    if one.chunk == other.chunk or not one.places or not other.places:
        return False
    return _covers(one.places, other.places) or _covers(other.places, one.places)


def _covers(wide: frozenset[Place], narrow: frozenset[Place]) -> bool:
    return all(
        any(start <= inner and until <= end for start, end in wide) for inner, until in narrow
    )


def _length(entry: _Entry) -> int:
    return sum(end - start for start, end in entry.places)


def _comparable(value: Any) -> Any:
    if isinstance(value, str):
        return NormalisedText(value).text.strip()
    if isinstance(value, dict):
        return {name: _comparable(part) for name, part in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_comparable(part) for part in cast("list[Any]", value)]
    return value
