"""Where a path leads in a JSON Schema: which fields, items and choices may stand there."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from alfred.engine.mistake import did_you_mean, field_path

Schema = Mapping[str, Any]
Step = str | int | None
"""A field's name, an item's index, or None for each item of an array."""

_STRUCTURE = frozenset(
    (
        "type",
        "properties",
        "items",
        "prefixItems",
        "enum",
        "const",
        "$ref",
        "anyOf",
        "oneOf",
        "allOf",
    )
)


@dataclass(frozen=True)
class SchemaPlace:
    """The subschemas that may describe the value at one place.

    References and compositions are resolved. An open place accepts anything, so that nothing
    about it can be a mistake.
    """

    root: Schema
    alternatives: tuple[Schema, ...]
    is_open: bool = False
    _onwards: dict[Step, SchemaPlace | None] = dataclasses.field(
        default_factory=dict[Step, "SchemaPlace | None"], compare=False, repr=False
    )
    """Where steps led that were taken before: a node's answers take the same ones every time."""

    @property
    def fields(self) -> frozenset[str]:
        """The names that `properties` lists here."""
        return frozenset(name for alt in self.alternatives for name in alt.get("properties", {}))

    @property
    def may_be_array(self) -> bool:
        return self.is_open or any(_may_be(alt, "array", "items") for alt in self.alternatives)

    def field(self, name: str) -> SchemaPlace | None:
        """Go to a field; None where no value that fits the schema can have it."""
        found: list[Any] = [True] if self.is_open else []
        for alt in self.alternatives:
            properties = alt.get("properties")
            additional = alt.get("additionalProperties")
            if properties and name in properties:
                found.append(properties[name])
            elif isinstance(additional, Mapping) or additional is True:
                found.append(cast(Any, additional))
            elif "patternProperties" in alt or (additional is None and _is_free_map(alt)):
                found.append(True)
        return self._onward(found)

    def item(self) -> SchemaPlace | None:
        """Go to the items of an array; None where no array can stand here."""
        found: list[Any] = [True] if self.is_open else []
        for alt in self.alternatives:
            if _may_be(alt, "array", "items"):
                items: Any = alt.get("items", "prefixItems" not in alt)
                found.extend(alt.get("prefixItems", ()))
                found.extend(cast(list[Any], items) if isinstance(items, list) else [items])
        return self._onward(found)

    def step(self, step: Step) -> SchemaPlace | None:
        """Go to a field by name, or to an item by index or None."""
        known = step if isinstance(step, str) else None
        if known not in self._onwards:
            self._onwards[known] = self.item() if known is None else self.field(known)
        return self._onwards[known]

    def follow(self, steps: Iterable[Step]) -> SchemaPlace | None:
        """Take several steps; None where they lead nowhere."""
        here: SchemaPlace | None = self
        for step in steps:
            here = here.step(step) if here else None
        return here

    def lists(self, value: object) -> bool:
        """Say whether an `enum` or `const` here names the value."""
        return any(
            value in alt.get("enum", ()) or ("const" in alt and alt["const"] == value)
            for alt in self.alternatives
        )

    def _onward(self, found: Iterable[Any]) -> SchemaPlace | None:
        place = _place(self.root, found)
        return place if place.alternatives or place.is_open else None


def place_of(schema: Schema, root: Schema | None = None) -> SchemaPlace:
    """Stand at a schema, which is a part of `root` if it is not complete in itself."""
    return _place(schema if root is None else root, [schema])


def complaint(place: SchemaPlace, name: str, steps: Sequence[Step]) -> tuple[str, str] | None:
    """Follow a path from a place called `name`; a sentence and a hint where it leads nowhere."""
    here = name
    for step in steps:
        onward = place.step(step)
        if onward is None and isinstance(step, str):
            if place.fields:
                message = f"'{here}.{step}' does not exist in the schema."
                return message, did_you_mean(step, place.fields)
            return f"'{here}' has no fields in the schema, so '{step}' is none.", ""
        if onward is None:
            return f"'{here}' is no list in the schema.", ""
        place = onward
        here = field_path((here, step)) if isinstance(step, str | int) else f"{here}[]"
    return None


def _place(root: Schema, schemas: Iterable[Any]) -> SchemaPlace:
    alternatives: list[Schema] = []
    is_open = False
    for schema in schemas:
        for found in _expand(schema, root, frozenset()):
            if found is None:
                is_open = True
            elif found not in alternatives:
                alternatives.append(found)
    return SchemaPlace(root, tuple(alternatives), is_open)


def _expand(schema: Any, root: Schema, seen: frozenset[str]) -> Iterator[Schema | None]:
    """Yield the schema and what it refers to; None for one that says nothing about structure."""
    if not isinstance(schema, Mapping):
        if schema is True:
            yield None
        return
    known = cast(Schema, schema)
    if _STRUCTURE.isdisjoint(known):
        yield None
        return
    yield known
    reference = known.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        target = resolve(root, reference)
        yield from _expand(True if target is None else target, root, seen | {reference})
    for keyword in ("anyOf", "oneOf", "allOf"):
        for branch in known.get(keyword, ()):
            for found in _expand(branch, root, seen):
                if found is not None or keyword != "allOf":
                    yield found


def resolve(root: Schema, reference: str) -> Any:
    """Find what a `$ref` such as `#/$defs/a` names; None where that is nothing.

    A reference of another form counts as one that names a schema that allows anything.
    """
    if reference != "#" and not reference.startswith("#/"):
        return True
    here: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(here, Mapping) and key in here:
            here = cast(Any, here[key])
        elif isinstance(here, list) and key.isdecimal() and int(key) < len(cast(list[Any], here)):
            here = cast(Any, here[int(key)])
        else:
            return None
    return here


def _is_free_map(schema: Schema) -> bool:
    named = ("properties", "$ref", "anyOf", "oneOf", "allOf")
    return _may_be(schema, "object", "properties") and not any(schema.get(key) for key in named)


def _may_be(schema: Schema, kind: str, keyword: str) -> bool:
    types = schema.get("type")
    if types is None:
        return keyword in schema
    return types == kind or (isinstance(types, list) and kind in types)
