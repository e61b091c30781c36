"""A node's JSON Schema as servers are asked to enforce it: closed, bounded, able to say null."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, cast

from alfred.models.schema_reading import (
    EXPANSIONS,
    Schema,
    json_types,
    may_be_unstated,
    merged,
    subschemas,
)

MAX_ITEMS = 20
MAX_LENGTH = 400


class Dialect(StrEnum):
    """What a server understands of JSON Schema, and whether the model gets to see the schema."""

    LLAMA = "llama"
    """llama.cpp's grammars: limits and patterns are obeyed; the model never sees the schema."""
    STRICT = "strict"
    """OpenAI's strict mode: refuses most keywords; the provider shows the schema to the model."""
    PLAIN = "plain"
    """Any other server: the keywords that all of them know, and the schema in the prompt too."""

    @property
    def prompted(self) -> bool:
        """Say whether the schema belongs into the prompt."""
        return self is not Dialect.STRICT


LIMITS: Mapping[Dialect, frozenset[str]] = {
    Dialect.LLAMA: frozenset(
        {
            "pattern",
            "format",
            "minLength",
            "maxLength",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "minItems",
            "maxItems",
        }
    ),
    Dialect.STRICT: frozenset(),
    Dialect.PLAIN: frozenset({"maxLength", "minimum", "maximum", "maxItems"}),
}
FORMATS = frozenset(
    {"date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"}
)
"""Formats that llama.cpp can enforce; it warns on stderr about any other."""


def wire_schema(schema: Schema, dialect: Dialect) -> dict[str, Any]:
    """Compile a node's schema into the one a server is asked to enforce.

    Every property is required, in the node's order, and every object that lists its properties is
    closed. What may be missing in the source can be null: scalars, enums, optional objects, lists
    that must not be empty; never a `const`. Lists hold at most 20 items and strings 400
    characters where the node states no limit and the dialect knows limits. Keywords that the
    dialect does not know are dropped: validate the answer against the node's own schema.

    Errors: none; a schema that is not one was refused when its manifest was loaded.
    """
    compiler = _Compiler(schema, dialect)
    wire = compiler.shape(schema)
    for key in ("$defs", "definitions"):
        definitions = subschemas(schema.get(key))
        if definitions:
            wire[key] = {name: compiler.shape(each) for name, each in definitions.items()}
    return wire


def drop_nulls(value: Any) -> Any:
    """Remove what an answer says is not stated: null, blank text, and what holds nothing else.

    So does the text "null", which small models write for null, quotes included.
    Objects and list items that become empty go too; the outermost value stays, if only as `{}`.
    False, 0 and a list that was empty from the start are statements and stay.
    """
    kept = _stated(value)
    if kept is not None:
        return kept
    return {} if isinstance(value, Mapping) else [] if isinstance(value, list) else None


def _stated(value: Any) -> Any:
    if isinstance(value, str):
        return None if value.strip() in ("", "null") else value
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        kept = {name: _stated(each) for name, each in fields.items()}
        kept = {name: each for name, each in kept.items() if each is not None}
        return None if fields and not kept else kept
    if isinstance(value, list):
        items = cast("list[Any]", value)
        left = [kept for each in items if (kept := _stated(each)) is not None]
        return None if items and not left else left
    return value


class _Compiler:
    def __init__(self, root: Schema, dialect: Dialect) -> None:
        self._root = root
        self._dialect = dialect
        self._limits = LIMITS[dialect]

    def shape(self, node: Schema) -> dict[str, Any]:
        """Compile a schema without the null that its place may add."""
        if "$ref" in node:
            # Strict servers refuse keywords beside a reference.
            return {"$ref": node["$ref"]}
        node = merged(node, self._root)
        types = json_types(node)
        if not types and (branches := _branches(node)):
            wire = {"anyOf": [self.shape(branch) for branch in branches]}
            return self._described(node, wire)
        wire: dict[str, Any] = {}
        if types:
            wire["type"] = types[0] if len(types) == 1 else list(types)
        if "const" in node:
            wire["enum"] = [node["const"]]
        elif "enum" in node:
            wire["enum"] = list(cast("Sequence[Any]", node["enum"]))
        else:
            self._fill(node, types, wire)
        return self._described(node, wire)

    def _fill(self, node: Schema, types: Sequence[str], wire: dict[str, Any]) -> None:
        wire.update({key: node[key] for key in node if key in self._limits})
        if "object" in types:
            wire.update(self._fields(node))
        if "array" in types:
            items = subschemas({"items": node.get("items")}).get("items")
            wire["items"] = self.shape(items) if items else {}
            if "maxItems" in self._limits:
                wire.setdefault("maxItems", max(MAX_ITEMS, int(wire.get("minItems", 0))))
        if "string" in types:
            self._bound_text(wire)

    def _bound_text(self, wire: dict[str, Any]) -> None:
        if wire.get("format") not in FORMATS:
            wire.pop("format", None)
        if "(?" in str(wire.get("pattern", "")):
            # llama.cpp has no look-around: it would warn and accept any string.
            del wire["pattern"]
        if "maxLength" in self._limits and "format" not in wire:
            wire.setdefault("maxLength", max(MAX_LENGTH, int(wire.get("minLength", 0))))

    def _fields(self, node: Schema) -> dict[str, Any]:
        properties = subschemas(node.get("properties"))
        rest = node.get("additionalProperties", True)
        if not properties and rest is not False and self._dialect is not Dialect.STRICT:
            free = subschemas({"rest": rest})
            return {"additionalProperties": self.shape(free["rest"]) if free else True}
        required = set(cast("Iterable[str]", node.get("required", ())))
        return {
            "properties": {
                name: self._property(each, optional=name not in required)
                for name, each in properties.items()
            },
            "required": list(properties),
            "additionalProperties": False,
        }

    def _property(self, node: Schema, *, optional: bool) -> dict[str, Any]:
        wire = self.shape(node)
        nullable = may_be_unstated(node, self._root, optional=optional)
        return _with_null(wire) if nullable else wire

    @staticmethod
    def _described(node: Schema, wire: dict[str, Any]) -> dict[str, Any]:
        return {**wire, "description": node["description"]} if "description" in node else wire


def _branches(node: Schema) -> list[Schema]:
    for key in EXPANSIONS:
        branches = node.get(key)
        if isinstance(branches, Sequence) and not isinstance(branches, str):
            return [cast("Schema", each) for each in cast("Sequence[Any]", branches)]
    return []


def _with_null(wire: dict[str, Any]) -> dict[str, Any]:
    types = wire.get("type")
    kinds: list[str] = [types] if isinstance(types, str) else list(types or ())
    if "anyOf" in wire:
        branches = cast("list[dict[str, Any]]", wire["anyOf"])
        if any(_takes_null(branch) for branch in branches):
            return wire
        return {**wire, "anyOf": [*branches, {"type": "null"}]}
    if "$ref" in wire or {"object", "array"} & set(kinds):
        return wire if "null" in kinds else {"anyOf": [wire, {"type": "null"}]}
    if not kinds:
        return wire
    nullable = {**wire, "type": kinds if "null" in kinds else [*kinds, "null"]}
    if "enum" in wire and None not in wire["enum"]:
        nullable["enum"] = [*wire["enum"], None]
    return nullable


def _takes_null(wire: dict[str, Any]) -> bool:
    return wire.get("type") == "null" or "null" in wire.get("type", ())
