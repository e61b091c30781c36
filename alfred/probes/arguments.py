"""Arguments of a tool: made fit to be kept, and held against the tool's schema."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, cast

import jsonschema_rs

MAX_CHARS = 4_000
MAX_DEPTH = 20
MAX_WHOLE = 2**63
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """Copy arguments so that they can be digested and stored; None where nobody could mean them.

    NUL and half characters become U+FFFD. What is no JSON value, deeper than MAX_DEPTH, longer
    than MAX_CHARS, a number that is none or a whole one over 64 bits is not taken.
    """
    try:
        copy = {_text(name): _storable(value, 1) for name, value in arguments.items()}
        text = json.dumps(copy, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return None
    return copy if len(text) <= MAX_CHARS else None


def schema_validator(schema: Mapping[str, Any]) -> Any:
    """Make the validator of a schema, which fetches nothing that the schema refers to.

    Errors: ValueError where it is no schema or refers to something outside itself.
    """
    return jsonschema_rs.validator_for(dict(schema), offline=True)


def check_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of arguments. Errors: ValueError where it is none, or is not complete."""
    try:
        if schema.get("type") == "object":
            schema_validator(schema)
            return schema
    except ValueError as exc:
        if "$ref" in json.dumps(schema):
            message = "is no JSON Schema that stands alone; write out what a $ref points to."
            raise ValueError(message) from exc
    raise ValueError("is no JSON Schema of an object.")


def _storable(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < MAX_WHOLE:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if depth < MAX_DEPTH and isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {_text(name): _storable(inner, depth + 1) for name, inner in fields.items()}
    if depth < MAX_DEPTH and isinstance(value, list | tuple):
        return [_storable(inner, depth + 1) for inner in cast("list[Any]", value)]
    raise ValueError("is no value that can be kept")


def _text(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text)
