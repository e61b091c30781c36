"""Grounding: each value of an answer gets the words of the source it rests on, or none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from alfred.engine import json_pointer
from alfred.engine.evidence import Evidence, Span, Support
from alfred.engine.schema_place import SchemaPlace, place_of
from alfred.engine.source_text import SourceText

__all__ = ["SourceText", "ground"]

_MAX_DEPTH = 64


class _Owner(NamedTuple):
    """The object or list that a value stands in; `is_item` where its values describe one thing."""

    pointer: str
    is_item: bool


@dataclass
class _Leaf:
    """A value without parts."""

    pointer: str
    value: Any
    owner: _Owner
    is_choice: bool
    places: list[Span] = field(default_factory=list[Span])
    spans: list[Span] = field(default_factory=list[Span])


def ground(
    out: Mapping[str, Any], schema: Mapping[str, Any], source: SourceText
) -> dict[str, Evidence]:
    """Find the words each value rests on, list items included.

    Shapes: one entry for each string, number and boolean, keyed by its JSON pointer; null, empty
            lists and empty objects state nothing and have none.
    Values that an `enum` or `const` lists, and booleans, are `classified` and carry the spans of
    the strings and numbers beside them in the same object; at the top there is nothing they
    could be about but the whole, so they carry none. Of several places of a value the shortest
    counts, then the one nearest to its neighbours in the same object, then the first.
    Errors: none; what is not found is `ungrounded`.
    """
    leaves = list(_leaves(out, place_of(schema), "", _Owner("", is_item=False), 0))
    neighbours: dict[_Owner, list[_Leaf]] = {}
    for leaf in leaves:
        neighbours.setdefault(leaf.owner, []).append(leaf)
        if not leaf.is_choice:
            leaf.places = _places(leaf.value, source)
    for owner, members in neighbours.items():
        _settle(members, source)
        if owner.is_item:
            described = _in_order(span for leaf in members for span in leaf.spans)
            for leaf in members:
                leaf.spans = described if leaf.is_choice else leaf.spans
    return {leaf.pointer: _evidence(leaf, source) for leaf in leaves}


def _leaves(
    value: Any, place: SchemaPlace | None, pointer: str, owner: _Owner, depth: int
) -> Iterator[_Leaf]:
    if isinstance(value, Mapping) and depth < _MAX_DEPTH:
        here = _Owner(pointer, is_item=depth > 0)
        for name, member in cast(Mapping[str, Any], value).items():
            inner = place.field(name) if place else None
            yield from _leaves(member, inner, json_pointer.extend(pointer, name), here, depth + 1)
    elif isinstance(value, list) and depth < _MAX_DEPTH:
        inner, here = place.item() if place else None, _Owner(pointer, is_item=False)
        for index, member in enumerate(cast(list[Any], value)):
            yield from _leaves(member, inner, json_pointer.extend(pointer, index), here, depth + 1)
    elif isinstance(value, str | int | float):
        is_choice = isinstance(value, bool) or bool(place and place.lists(value))
        yield _Leaf(pointer, value, owner, is_choice)


def _places(value: str | float, source: SourceText) -> list[Span]:
    return source.places(value) if isinstance(value, str) else source.number_places(value)


def _settle(members: list[_Leaf], source: SourceText) -> None:
    """Choose a place for each value of one object, the unambiguous ones first."""
    waiting = [leaf for leaf in members if leaf.places]
    anchors = [leaf.places[0]["start"] for leaf in waiting if len(leaf.places) == 1]
    for leaf in waiting:
        shortest = leaf.places[0]["end"] - leaf.places[0]["start"]
        equal = [span for span in leaf.places if span["end"] - span["start"] == shortest]
        leaf.spans = [min(equal, key=lambda span: _rank(span, anchors))]
    for leaf in members:
        if not leaf.places and isinstance(leaf.value, str) and not leaf.is_choice:
            leaf.spans = source.scattered(leaf.value)


def _rank(span: Span, anchors: list[int]) -> tuple[int, int]:
    distance = min((abs(span["start"] - anchor) for anchor in anchors), default=0)
    return distance, span["start"]


def _in_order(spans: Iterator[Span]) -> list[Span]:
    distinct = {(span["start"], span["end"]): span for span in spans}
    return [span for _, span in sorted(distinct.items())]


def _evidence(leaf: _Leaf, source: SourceText) -> Evidence:
    support: Support = "grounded" if leaf.spans else "ungrounded"
    if leaf.is_choice:
        support = "classified"
    quote = " … ".join(source.text[span["start"] : span["end"]] for span in leaf.spans)
    return Evidence(support=support, spans=leaf.spans, quote=quote)
