from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alfred.engine import json_pointer
from alfred.engine.partial_json import PartialObject

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
objects = st.dictionaries(st.text(), values, max_size=5)


def leaves(value: Any, pointer: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        parts = value.items()
    elif isinstance(value, list) and value:
        parts = enumerate(value)
    else:
        return [(pointer, value)]
    return [leaf for key, part in parts for leaf in leaves(part, json_pointer.extend(pointer, key))]


def feed_in_pieces(text: str, cuts: list[int]) -> list[tuple[str, Any]]:
    reader = PartialObject()
    borders = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [leaf for start, end in pairwise(borders) for leaf in reader.feed(text[start:end])]


@given(objects, st.lists(st.integers(min_value=0), max_size=30), st.booleans(), st.booleans())
def test_any_split_of_any_object_yields_exactly_its_leaves(
    value: dict[str, Any], cuts: list[int], escaped: bool, spaced: bool
) -> None:
    text = json.dumps(value, ensure_ascii=escaped, indent=2 if spaced else None)
    assert feed_in_pieces(text, cuts) == leaves(json.loads(text))


@given(objects)
def test_single_characters_yield_the_same_as_the_whole(value: dict[str, Any]) -> None:
    text = json.dumps(value)
    assert feed_in_pieces(text, list(range(len(text)))) == leaves(value)


@given(st.text() | st.text(alphabet='{}[]:,"\\ tfn0123456789.eE-'))
def test_no_text_makes_it_fail(text: str) -> None:
    reader = PartialObject()
    found = [leaf for char in text for leaf in reader.feed(char)]
    try:
        value = json.loads(text)
    except ValueError:
        return
    if isinstance(value, dict) and text.count('"') == 0:
        assert found == leaves(value)


def test_a_value_comes_as_soon_as_it_is_complete() -> None:
    reader = PartialObject()
    assert reader.feed('{"company": "Ac') == []
    assert reader.feed('me", "n": 12') == [("/company", "Acme")]
    assert reader.feed("3") == []
    assert reader.feed(', "tags": ["a", ') == [("/n", 123), ("/tags/0", "a")]
    assert reader.feed("true]") == [("/tags/1", True)]
    assert not reader.is_over
    assert reader.feed("}") == []
    assert reader.is_over


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"a": 1}\n```',
        'Here it is: {"a": 1}',
        '[{"a": 1}]',
        '{"a" 1}',
        "{'a': 1}",
        '{"a": nope}',
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": "\\ud800"}',
        '{"a": "line\nbreak"}',
        '{"a": "\\q"}',
        '{,"a": 1}',
        '{"a":: 1}',
        '{"a": ]}',
        '{"a": 01}',
        "12",
        "}",
        '{"a": ' + "[" * 500,
        '{"a": ' + "9" * 5000 + "}",
    ],
)
def test_text_that_is_not_json_ends_the_reading_in_silence(text: str) -> None:
    reader = PartialObject()
    assert reader.feed(text) == []
    assert reader.is_over
    assert reader.feed('{"b": 2}') == []


def test_what_came_before_a_mistake_was_shown_and_nothing_follows() -> None:
    reader = PartialObject()
    assert reader.feed('{"a": 1, "b": 2,}') == [("/a", 1), ("/b", 2)]
    assert reader.feed('"c": 3}') == []


def test_text_after_the_object_is_ignored() -> None:
    reader = PartialObject()
    assert reader.feed('{"a": 1} and more {"b": 2}') == [("/a", 1)]
