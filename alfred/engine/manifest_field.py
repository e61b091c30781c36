"""Says in words what is wrong with a manifest's fields, where pydantic refuses them."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from alfred.engine.manifest import ActionEntry, Chunking, Items, Manifest, Match, Prompt
from alfred.engine.mistake import Mistake, did_you_mean, field_path, found_type

_PARTS: Mapping[str, type[BaseModel]] = {
    "match": Match,
    "chunking": Chunking,
    "items": Items,
    "prompt": Prompt,
    "actions": ActionEntry,
}
_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "fields",
    "model_type": "fields",
    "model_attributes_type": "fields",
}


def field_mistakes(error: ValidationError) -> list[Mistake]:
    """Translate the refusal of a manifest into one mistake per field."""
    return [_mistake(details) for details in error.errors(include_url=False)]


def _mistake(details: ErrorDetails) -> Mistake:
    steps = details["loc"]
    place = field_path(steps)
    kind = details["type"]
    if kind == "extra_forbidden":
        owner = _PARTS.get(str(steps[0]), Manifest) if len(steps) > 1 else Manifest
        known = [info.alias or name for name, info in owner.model_fields.items()]
        return Mistake(
            field=place,
            message="unknown field.",
            hint=did_you_mean(place.rsplit(".", 1)[-1], known),
        )
    if kind == "missing":
        return Mistake(field=place, message="is missing.")
    found = found_type(details["input"])
    if kind in _EXPECTED:
        quote = "; quote it" if kind == "string_type" and found not in ("a list", "fields") else ""
        quote = "" if found == "nothing" else quote
        return Mistake(field=place, message=f"expected {_EXPECTED[kind]}, found {found}{quote}.")
    if kind == "literal_error":
        expected = str(details.get("ctx", {}).get("expected", ""))
        return Mistake(field=place, message=f"expected {expected}, found {details['input']!r}.")
    if kind == "string_pattern_mismatch":
        return Mistake(field=place, message=_wrong_text(str(details["input"])))
    message = details["msg"].removeprefix("Value error, ")
    return Mistake(field=place, message=f"{message[0].lower()}{message[1:]}.")


def _wrong_text(text: str) -> str:
    if not text.strip():
        return "is empty."
    return f"'{text}' is no name; use lower-case letters, digits and _, beginning with a letter."
