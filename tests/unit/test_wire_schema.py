"""Wire schemas: what servers are asked to enforce, what the prompt says, what null means after."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alfred.engine.language_model import Message
from alfred.models.schema_prompt import schema_prompt, with_schema
from alfred.models.wire_schema import Dialect, drop_nulls, wire_schema

BOOKING = {
    "type": "object",
    "properties": {
        "guest": {"type": "string", "description": "Who\n  travels."},
        "board": {"enum": ["half", "full"]},
        "kind": {"const": "booking"},
        "nights": {"type": "integer", "minimum": 1, "default": 2},
        "room": {"$ref": "#/$defs/Room"},
        "second_room": {"$ref": "#/$defs/Room"},
        "price": {"anyOf": [{"type": "number"}, {"type": "string"}]},
        "wishes": {
            "type": "array",
            "items": {"type": "string", "maxLength": 80},
            "uniqueItems": True,
        },
        "names": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 4},
        "day": {"type": "string", "format": "date"},
        "code": {"type": "string", "pattern": "^(?=a)b$"},
    },
    "required": ["guest", "room", "wishes"],
    "$defs": {
        "Bed": {
            "type": "object",
            "properties": {"beds": {"type": "integer"}},
            "required": ["beds"],
        },
        "Room": {
            "allOf": [
                {"$ref": "#/$defs/Bed"},
                {"properties": {"view": {"type": "boolean"}}, "not": {"required": ["price"]}},
            ]
        },
    },
}
DIALECTS = list(Dialect)
KNOWN_TO_STRICT = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "anyOf",
    "$ref",
    "$defs",
    "description",
}


def objects_in(node: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if isinstance(node, dict):
        found += [node] if "properties" in node else []
        for value in node.values():
            found += objects_in(value)
    elif isinstance(node, list):
        for value in node:
            found += objects_in(value)
    return found


def keywords_in(node: Any) -> set[str]:
    if not isinstance(node, dict):
        return set()
    found = set(node)
    for key, value in node.items():
        if key in ("properties", "$defs"):
            for each in value.values():
                found |= keywords_in(each)
        elif key == "anyOf":
            for each in value:
                found |= keywords_in(each)
        elif key == "items":
            found |= keywords_in(value)
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_object_is_closed_and_requires_its_properties_in_order(dialect: Dialect) -> None:
    wire = wire_schema(BOOKING, dialect)
    assert wire["required"] == list(BOOKING["properties"])
    for each in objects_in(wire):
        assert each["required"] == list(each["properties"])
        assert each["additionalProperties"] is False


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_a_source_may_leave_out_can_be_null(dialect: Dialect) -> None:
    wire = wire_schema(BOOKING, dialect)
    answer: dict[str, Any] = dict.fromkeys(BOOKING["properties"])
    answer |= {"kind": "booking", "room": {"beds": None, "view": None}, "wishes": []}
    assert jsonschema_rs.is_valid(wire, answer)
    for name in ("kind", "room", "wishes"):
        assert not jsonschema_rs.is_valid(wire, {**answer, name: None}), name


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_enum_gains_null_and_keeps_its_values(dialect: Dialect) -> None:
    board = wire_schema(BOOKING, dialect)["properties"]["board"]
    assert board == {"type": ["string", "null"], "enum": ["half", "full", None]}


def test_llama_gets_limits_where_the_node_states_none() -> None:
    fields = wire_schema(BOOKING, Dialect.LLAMA)["properties"]
    assert fields["guest"]["maxLength"] == 400
    assert fields["wishes"]["maxItems"] == 20
    assert fields["wishes"]["items"]["maxLength"] == 80
    assert fields["names"]["anyOf"][0]["maxItems"] == 4
    assert fields["nights"] == {"type": ["integer", "null"], "minimum": 1}


def test_llama_keeps_formats_and_drops_patterns_it_cannot_enforce() -> None:
    fields = wire_schema(BOOKING, Dialect.LLAMA)["properties"]
    assert fields["day"] == {"type": ["string", "null"], "format": "date"}
    assert "pattern" not in fields["code"]


def test_a_strict_server_gets_no_keyword_that_it_refuses() -> None:
    assert keywords_in(wire_schema(BOOKING, Dialect.STRICT)) <= KNOWN_TO_STRICT
    room = wire_schema({**BOOKING, "title": "B"}, Dialect.STRICT)["properties"]["room"]
    assert room == {"$ref": "#/$defs/Room"}


def test_parts_of_an_all_of_become_one_closed_object() -> None:
    room = wire_schema(BOOKING, Dialect.STRICT)["$defs"]["Room"]
    assert list(room["properties"]) == ["beds", "view"]


def test_a_recursive_schema_compiles_and_renders() -> None:
    tree = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "child": {"$ref": "#"}},
        "required": ["name"],
    }
    wire = wire_schema(tree, Dialect.LLAMA)
    assert wire["properties"]["child"] == {"anyOf": [{"$ref": "#"}, {"type": "null"}]}
    assert jsonschema_rs.is_valid(wire, {"name": "a", "child": {"name": "b", "child": None}})
    assert len(schema_prompt(tree)) < 1500


def test_a_circle_of_references_is_survived() -> None:
    circle = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"$ref": "#/$defs/A"}},
    }
    assert wire_schema(circle, Dialect.LLAMA)["required"] == ["a"]
    assert "a (any JSON or null)" in schema_prompt(circle)


def test_an_open_object_stays_open_where_the_server_allows_it() -> None:
    words = {"type": "object", "additionalProperties": {"type": "string"}}
    assert wire_schema(words, Dialect.LLAMA)["additionalProperties"]["type"] == "string"
    assert wire_schema(words, Dialect.STRICT)["additionalProperties"] is False


def test_the_prompt_says_type_values_and_description_of_every_field() -> None:
    lines = schema_prompt(BOOKING).splitlines()
    assert "- guest (text or null): Who travels." in lines
    assert '- board (one of "half", "full" or null)' in lines
    assert '- kind (always "booking")' in lines
    assert "- room (object)" in lines
    assert "  - beds (whole number or null)" in lines
    assert "- second_room (object or null)" in lines
    assert "- price (number or text or null)" in lines
    assert "- wishes (list of at most 20, each: text)" in lines


def test_the_schema_ends_the_system_message() -> None:
    user = Message(role="user", content="Two nights.")
    alone = with_schema([user], BOOKING)
    assert alone == (Message(role="system", content=schema_prompt(BOOKING)), user)
    told = with_schema([Message(role="system", content="Copy.\n"), user], BOOKING)
    assert told[0].content == f"Copy.\n\n{schema_prompt(BOOKING)}"
    assert told[1] == user


def test_unstated_values_are_dropped_and_statements_stay() -> None:
    answer = {
        "company": "1688",
        "title": "1e5",
        "salary": None,
        "note": "  ",
        "hours": "null",
        "remote": False,
        "count": 0,
        "tags": [],
        "items": [{"text": None, "kind": None}, {"text": "a", "kind": None}, None, ""],
        "pay": {"low": None, "range": {"high": None}},
    }
    assert drop_nulls(answer) == {
        "company": "1688",
        "title": "1e5",
        "remote": False,
        "count": 0,
        "tags": [],
        "items": [{"text": "a"}],
    }
    assert drop_nulls({"a": None}) == {}
    assert drop_nulls([None]) == []
    assert drop_nulls(None) is None


ANSWERS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=3), ANSWERS, max_size=5))
def test_dropping_nulls_leaves_none_and_is_done_after_once(answer: dict[str, Any]) -> None:
    kept = drop_nulls(answer)
    assert drop_nulls(kept) == kept
    assert None not in _leaves(kept)


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in _leaves(each)]
    if isinstance(value, list):
        return [leaf for each in value for leaf in _leaves(each)]
    return [value]


NODES = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer", "minimum": 0},
            {"enum": ["a", 1]},
            {"const": True},
            {"type": ["number", "null"]},
        ]
    ),
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(
            lambda fields, some: {
                "type": "object",
                "properties": fields,
                "required": sorted(fields)[: some % 3],
            },
            st.dictionaries(st.sampled_from("abcd"), inner, min_size=1, max_size=4),
            st.integers(0, 5),
        )
        | st.builds(lambda left, right: {"anyOf": [left, right]}, inner, inner)
    ),
    max_leaves=8,
)


@given(NODES, st.sampled_from(DIALECTS))
def test_every_schema_compiles_to_valid_json_schema(node: dict[str, Any], dialect: Dialect) -> None:
    wire = wire_schema({"type": "object", "properties": {"v": node}}, dialect)
    jsonschema_rs.validator_for(wire)
    assert json.loads(json.dumps(wire)) == wire
    assert schema_prompt({"type": "object", "properties": {"v": node}})


def test_alternatives_of_objects_are_told_as_one_with_all_their_choices() -> None:
    def called(name: str, **arguments: Any) -> dict[str, Any]:
        inner = {"type": "object", "properties": arguments, "additionalProperties": False}
        fields = {"tool": {"const": name}, "arguments": inner, "why": {"type": "string"}}
        return {"type": "object", "properties": fields, "required": ["tool", "arguments"]}

    choice = {"anyOf": [called("logs", source={"enum": ["a"]}), called("alerts"), {"type": "null"}]}
    schema = {"type": "object", "properties": {"more": choice}}
    assert schema_prompt(schema).splitlines()[1:] == [
        "- more (object or null)",
        '  - tool (one of "logs", "alerts" or null)',
        "  - arguments (object)",
        "  - why (text or null)",
    ]
    wire = wire_schema(schema, Dialect.LLAMA)["properties"]["more"]["anyOf"]
    assert [branch["properties"]["tool"]["enum"] for branch in wire[:2]] == [["logs"], ["alerts"]]
    assert wire[2] == {"type": "null"}
