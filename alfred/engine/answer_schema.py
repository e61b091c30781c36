"""The JSON Schema of a node's answer: the mistakes in it, and the form answers are held against."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, cast

import jsonschema_rs

from alfred.engine.mistake import Mistake, did_you_mean, field_path
from alfred.engine.schema_place import Schema, place_of, resolve

Steps = tuple[str | int, ...]

TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")

_DRAFTS = {
    "https://json-schema.org/draft/2020-12/schema": jsonschema_rs.Draft202012Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909Validator,
    "http://json-schema.org/draft-07/schema": jsonschema_rs.Draft7Validator,
}
_NEWEST = "https://json-schema.org/draft/2020-12/schema"

_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = (
    *("items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains"),
    *("propertyNames", "not", "if", "then", "else"),
)
_KEYWORDS = frozenset(
    (
        *_BY_NAME,
        *_LISTS,
        *_SINGLE,
        *("$schema", "$id", "$ref", "$anchor", "$comment", "$dynamicRef", "$dynamicAnchor"),
        *("type", "enum", "const", "required", "dependentRequired", "format", "pattern"),
        *("minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("multipleOf", "minItems", "maxItems", "uniqueItems", "minContains", "maxContains"),
        *("minProperties", "maxProperties", "title", "description", "default", "examples"),
        *("deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType"),
    )
)
_COMPOSED = frozenset(("$ref", "anyOf", "oneOf", "allOf", "if", "patternProperties"))


def schema_mistakes(schema: Schema) -> list[Mistake]:
    """Find every mistake in a schema; fields are paths from its root, such as `properties.a.type`.

    Besides what JSON Schema itself forbids: a reference out of the file, a keyword that is nearly
    a known one, a required field that does not exist, a root that is no object.
    """
    name = str(schema.get("$schema", _NEWEST)).removesuffix("#")
    draft = _DRAFTS.get(name)
    if draft is None:
        hint = did_you_mean(name, _DRAFTS)
        return [_mistake(("$schema",), f"'{name}' is not a supported draft.", hint)]
    meta = draft({"$ref": name}, offline=True, validate_formats=True)
    mistakes = [_meta_mistake(error, schema) for error in meta.iter_errors(schema)]
    if mistakes:
        return mistakes
    mistakes = [found for steps, sub in subschemas(schema) for found in _look(steps, sub, schema)]
    types = schema.get("type", "object")
    if "object" not in ([types] if isinstance(types, str) else types):
        mistakes.append(_mistake(("type",), f"expected object, found {types}."))
    return mistakes or _compile(schema, draft)


def _compile(schema: Schema, draft: type[jsonschema_rs.Validator]) -> list[Mistake]:
    try:
        draft(dict(schema), offline=True)
    except (ValueError, jsonschema_rs.ReferencingError) as exc:
        message = exc.message if isinstance(exc, jsonschema_rs.ValidationError) else str(exc)
        return [_mistake((), f"not a usable JSON Schema: {message}.")]
    return []


def subschemas(schema: Any, steps: Steps = ()) -> Iterator[tuple[Steps, dict[str, Any]]]:
    """Yield a schema and all schemas in it, with the steps to each; booleans are left out."""
    if not isinstance(schema, dict):
        return
    known = cast(dict[str, Any], schema)
    yield steps, known
    for keyword, value in known.items():
        if keyword in _SINGLE and isinstance(value, dict):
            yield from subschemas(value, (*steps, keyword))
        elif keyword in _BY_NAME and isinstance(value, dict):
            for name, sub in cast(dict[str, Any], value).items():
                yield from subschemas(sub, (*steps, keyword, name))
        elif isinstance(value, list) and (keyword in _LISTS or keyword == "items"):
            for index, sub in enumerate(cast(list[Any], value)):
                yield from subschemas(sub, (*steps, keyword, index))


def _meta_mistake(error: jsonschema_rs.ValidationError, schema: Schema) -> Mistake:
    steps = tuple(error.instance_path)
    if steps and steps[-1] == "type" and isinstance(error.instance, str):
        return _mistake(
            steps, f"'{error.instance}' is no type.", did_you_mean(error.instance, TYPES)
        )
    if error.kind.name == "format":
        return _mistake(steps, f"{error.instance!r} is no {error.kind.value}.")
    if error.kind.name in ("anyOf", "type") and isinstance(error.instance, str | int | float):
        found = f"{error.instance!r} cannot stand here"
        return _mistake(steps, f"{found}; JSON Schema does not allow it.")
    return _mistake(steps, f"{error.message}.")


def _look(steps: Steps, schema: dict[str, Any], root: Schema) -> Iterator[Mistake]:
    for keyword in schema:
        if keyword not in _KEYWORDS:
            near = difflib.get_close_matches(keyword, _KEYWORDS, n=1, cutoff=0.8)
            if near:
                yield _mistake((*steps, keyword), "unknown keyword.", f"Did you mean '{near[0]}'?")
    for keyword in ("$ref", "$dynamicRef"):
        reference = schema.get(keyword)
        if isinstance(reference, str) and not reference.startswith("#"):
            message = f"'{reference}' leads out of the file; a schema is complete in itself."
            yield _mistake((*steps, keyword), message, "Copy it under $defs.")
        elif isinstance(reference, str) and resolve(root, reference) is None:
            yield _mistake((*steps, keyword), f"'{reference}' leads nowhere.")
    yield from _look_at_required(steps, schema, root)


def _look_at_required(steps: Steps, schema: dict[str, Any], root: Schema) -> Iterator[Mistake]:
    place = place_of(schema, root) if "properties" in schema else None
    for index, name in enumerate(cast(list[str], schema.get("required", []))):
        if place is not None and place.field(name) is None:
            here = (*steps, "required", index)
            yield _mistake(
                here, f"'{name}' is not in properties.", did_you_mean(name, place.fields)
            )


def _mistake(steps: Steps, message: str, hint: str = "") -> Mistake:
    return Mistake(field=field_path(steps), message=message, hint=hint, code="manifest.schema")


def answer_form(schema: Schema) -> dict[str, Any]:
    """Make the schema that answers are held against.

    Nothing is required at the top, since an absent value makes an action incomplete and is no
    reason to ask a model again; and objects are closed where the schema does not say otherwise.
    """
    form = _closed(dict(schema))
    form.pop("required", None)
    return form


def _closed(schema: Any, inside_all_of: bool = False) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    form = dict(cast(Schema, schema))
    for keyword, value in form.items():
        if keyword in _SINGLE and keyword not in ("not", "if"):
            form[keyword] = _closed(value)
        elif keyword in _BY_NAME and isinstance(value, Mapping):
            named = cast(Schema, value)
            form[keyword] = {name: _closed(sub) for name, sub in named.items()}
        elif keyword in _LISTS and isinstance(value, list):
            branches = cast(list[Any], value)
            joined = keyword == "allOf" or "properties" in form
            form[keyword] = [_closed(sub, joined) for sub in branches]
    stated = "additionalProperties" in form or "unevaluatedProperties" in form
    if "properties" in form and not stated and not inside_all_of and _COMPOSED.isdisjoint(form):
        form["additionalProperties"] = False
    return form
