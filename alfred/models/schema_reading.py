"""Reading a JSON Schema: what a reference means, what `allOf` adds up to, which types are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

Schema = Mapping[str, Any]

EXPANSIONS = ("anyOf", "oneOf")
MAX_REFERENCES = 32
"""Longest chain of references followed; a longer one is a circle without content."""


def subschemas(value: Any) -> dict[str, Schema]:
    """Keep an object's entries that are schemas written out; `true` and `false` are dropped."""
    if not isinstance(value, Mapping):
        return {}
    entries = cast("Mapping[str, Any]", value)
    return {
        name: cast("Schema", each) for name, each in entries.items() if isinstance(each, Mapping)
    }


def target(node: Schema, root: Schema) -> Schema:
    """Follow a local `$ref`; what leads nowhere or outside gives an empty schema."""
    for _ in range(MAX_REFERENCES):
        if "$ref" not in node:
            return node
        found = _at(str(node["$ref"]), root)
        if found is None:
            return {}
        node = found
    return {}


def _at(reference: str, root: Schema) -> Schema | None:
    if not reference.startswith("#"):
        return None
    found: Any = root
    for step in reference[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and name in found:
            found = cast("Mapping[str, Any]", found)[name]
        elif (
            isinstance(found, list) and name.isdigit() and int(name) < len(cast("list[Any]", found))
        ):
            found = cast("list[Any]", found)[int(name)]
        else:
            return None
    return cast("Schema", found) if isinstance(found, Mapping) else None


def merged(node: Schema, root: Schema, depth: int = 0) -> Schema:
    """Write the parts of an `allOf` as one schema, properties and required names added up."""
    parts = node.get("allOf")
    if not isinstance(parts, Sequence) or depth > MAX_REFERENCES:
        return node
    whole: dict[str, Any] = {key: value for key, value in node.items() if key != "allOf"}
    for part in cast("Sequence[Any]", parts):
        if isinstance(part, Mapping):
            found = target(cast("Schema", part), root)
            whole = _joined(whole, merged(found, root, depth + 1))
    return whole


def _joined(left: dict[str, Any], right: Schema) -> dict[str, Any]:
    whole = _added(left, right)
    if "properties" in left and "properties" in right:
        whole["properties"] = _added(left["properties"], right["properties"])
    if "required" in left and "required" in right:
        whole["required"] = [*left["required"], *right["required"]]
    return whole


def _added(left: Schema, right: Schema) -> dict[str, Any]:
    return {**left, **{key: value for key, value in right.items() if key not in left}}


def json_types(node: Schema) -> tuple[str, ...]:
    """Name the JSON types a schema allows, inferred where `type` is not stated; empty for any."""
    stated = node.get("type")
    if isinstance(stated, str):
        return (stated,)
    if isinstance(stated, Sequence):
        return tuple(str(each) for each in cast("Sequence[Any]", stated))
    if "const" in node:
        return (_type_of(node["const"]),)
    if isinstance(node.get("enum"), Sequence):
        values = cast("Sequence[Any]", node["enum"])
        return tuple(dict.fromkeys(_type_of(value) for value in values))
    if "properties" in node:
        return ("object",)
    return ("array",) if "items" in node else ()


def may_be_unstated(node: Schema, root: Schema, *, optional: bool) -> bool:
    """Say whether a property can be null on the wire, for a source that does not state it.

    Scalars and enums always, required ones too: a model that has no other way out invents. An
    object only if optional, a list only if it may not be empty, a `const` never.
    """
    meant = merged(target(node, root), root)
    if "const" in meant:
        return False
    types = json_types(meant)
    if types == ("object",):
        return optional
    if types == ("array",):
        return bool(meant.get("minItems"))
    return True


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    for kind, name in (
        (bool, "boolean"),
        (str, "string"),
        (int, "integer"),
        (float, "number"),
        (Mapping, "object"),
    ):
        if isinstance(value, kind):
            return name
    return "array"
