"""A JSON Schema in few words, for models that never get to see the schema itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from alfred.engine.language_model import Message
from alfred.models.schema_reading import (
    EXPANSIONS,
    Schema,
    json_types,
    may_be_unstated,
    merged,
    subschemas,
    target,
)
from alfred.models.wire_schema import MAX_ITEMS

MAX_DEPTH = 4
"""Levels of a schema that are written out; a recursive one would never end."""
WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
    "object": "object",
    "array": "list",
}
OPENING = (
    "Answer with one JSON object of these fields, in this order. "
    "A field that the text does not state is null:"
)


def schema_prompt(schema: Schema) -> str:
    """Render a schema for the prompt: a line for each field with its type and description.

    "or null" stands at every field: without it the 1.5B model invents values for 14 of 22 absent
    fields, with it for 2, and a code-like rendering of the types is worse (6).
    Short, since a local model reads some 75 tokens a second; constant for a node, so that it can
    be cached as part of the prompt's prefix.
    """
    root = merged(target(schema, schema), schema)
    if json_types(root) != ("object",):
        kind, _ = _kind(root, schema)
        return f"Answer with JSON: {kind}{_told(root)}"
    return "\n".join([OPENING, *_fields(root, schema, 0)])


def with_schema(messages: Sequence[Message], schema: Schema) -> tuple[Message, ...]:
    """Put the rendering at the end of the system message, which is made where there is none."""
    told = schema_prompt(schema)
    if messages and messages[0].role == "system":
        first = replace(messages[0], content=f"{messages[0].content.rstrip()}\n\n{told}")
        return (first, *messages[1:])
    return (Message(role="system", content=told), *messages)


def _fields(node: Schema, root: Schema, depth: int) -> Iterator[str]:
    indent = "  " * depth
    required = cast("Sequence[str]", node.get("required", ()))
    for name, stated in subschemas(node.get("properties")).items():
        meant = merged(target(stated, root), root)
        kind, inner = _kind(meant, root)
        if may_be_unstated(stated, root, optional=name not in required):
            kind = f"{kind.removesuffix(' or null')} or null"
        yield f"{indent}- {name} ({kind}){_told(stated) or _told(meant)}"
        if inner is not None and depth < MAX_DEPTH:
            yield from _fields(inner, root, depth + 1)


def _kind(node: Schema, root: Schema) -> tuple[str, Schema | None]:
    """Name the type in words; with it the object whose fields are to be listed below."""
    if "const" in node:
        return f"always {json.dumps(node['const'], ensure_ascii=False)}", None
    if isinstance(node.get("enum"), Sequence):
        values = cast("Sequence[Any]", node["enum"])
        words = ", ".join(
            json.dumps(each, ensure_ascii=False) for each in values if each is not None
        )
        return f"one of {words}", None
    types = json_types(node)
    if types == ("array",):
        return _list_kind(node, root)
    if types:
        words = " or ".join(WORDS.get(each, each) for each in types if each != "null")
        if stated := node.get("format"):
            words = f"{words}, {stated}"
        return words or "null", node if "object" in types else None
    for key in EXPANSIONS:
        if isinstance(node.get(key), Sequence):
            return _choice_kind(cast("Sequence[Any]", node[key]), root)
    return "any JSON", None


def _list_kind(node: Schema, root: Schema) -> tuple[str, Schema | None]:
    stated = node.get("items")
    items: Schema = cast("Schema", stated) if isinstance(stated, Mapping) else {}
    meant = merged(target(items, root), root)
    kind, inner = _kind(meant, root)
    return f"list of at most {node.get('maxItems', MAX_ITEMS)}, each: {kind}{_told(meant)}", inner


def _choice_kind(branches: Sequence[Any], root: Schema) -> tuple[str, Schema | None]:
    kinds: list[str] = []
    objects: list[Schema] = []
    for branch in branches:
        if isinstance(branch, Mapping):
            kind, inner = _kind(merged(target(cast("Schema", branch), root), root), root)
            kinds += [kind] if kind != "null" else []
            objects += [inner] if inner is not None else []
    return " or ".join(dict.fromkeys(kinds)), _either(objects) if objects else None


def _either(objects: Sequence[Schema]) -> Schema:
    """Write alternative objects as one: a field's values are all that any of them allows.

    What differs otherwise is named by its type alone; the first of several, written out, would be
    taken for the only one.
    """
    first, *others = objects
    if not others:
        return first
    fields: dict[str, Any] = {}
    for each in objects:
        for name, stated in subschemas(each.get("properties")).items():
            fields[name] = _joined(fields[name], stated) if name in fields else stated
    needed = [cast("Sequence[str]", each.get("required", ())) for each in objects]
    required = [name for name in fields if all(name in names for names in needed)]
    return {"type": "object", "properties": fields, "required": required}


def _joined(one: Schema, other: Schema) -> Schema:
    if one == other:
        return one
    choices = [_choices(each) for each in (one, other)]
    if all(choices):
        return {"enum": [*dict.fromkeys([*choices[0], *choices[1]])]}
    types = [json_types(each) for each in (one, other)]
    return {"type": list(dict.fromkeys([*types[0], *types[1]]))} if all(types) else {}


def _choices(node: Schema) -> list[Any]:
    if "const" in node:
        return [node["const"]]
    stated = node.get("enum")
    return list(cast("Sequence[Any]", stated)) if isinstance(stated, Sequence) else []


def _told(node: Schema) -> str:
    described = " ".join(str(node.get("description", "")).split())
    return f": {described}" if described else ""
