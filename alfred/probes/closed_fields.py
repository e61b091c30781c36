"""Reads a YAML or JSON document into a closed model; every mistake has its place and a remedy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from alfred.engine.mistake import did_you_mean, field_path, found_type
from alfred.engine.yaml_text import YamlDocument, read_yaml
from alfred.errors import ProbeFailed

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "fields",
    "model_type": "fields",
    "model_attributes_type": "fields",
    "none_required": "nothing",
}


class Closed(BaseModel):
    """Fields that are all known, of exactly their type, and never changed."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


T = TypeVar("T", bound=Closed)


def read_closed_yaml(text: str, file: str, model: type[T], code: str) -> T:
    """Read YAML into a model.

    Errors: `ProbeFailed` with `code`; the message names file, line, field and remedy of every
    mistake. `file` is only named, never opened.
    """
    document = read_document(text, file, code)
    return read_closed(document.value, file, model, code, document)


def read_document(text: str, file: str, code: str) -> YamlDocument:
    """Read YAML as plain JSON values with their lines; errors: `ProbeFailed` with `code`."""
    document = read_yaml(text)
    if document.mistakes or document.value is None:
        said = [
            f"{_at_line(m.line)}{m}" if "line" not in str(m) else str(m) for m in document.mistakes
        ]
        raise refused(file, said or ["the file is empty."], code)
    return document


def read_closed(
    value: Any, file: str, model: type[T], code: str, document: YamlDocument | None = None
) -> T:
    """Check plain JSON values against a model; `document` knows their lines."""
    try:
        # Through JSON, where strict means JSON's own types and lists may become tuples.
        return model.model_validate_json(json.dumps(value))
    except ValidationError as exc:
        lines = document.lines if document else {}
        said = [_sentence(details, model, lines) for details in exc.errors(include_url=False)]
        raise refused(file, list(dict.fromkeys(said)), code) from exc


def refused(file: str, sentences: Iterable[str], code: str) -> ProbeFailed:
    """Make one error of all that is wrong with a file."""
    found = list(sentences)
    if len(found) == 1:
        return ProbeFailed(code, f"{file}, {found[0]}")
    lines = "".join(f"\n  {sentence}" for sentence in found)
    return ProbeFailed(code, f"{file} has {len(found)} mistakes:{lines}")


def _sentence(
    details: ErrorDetails, model: type[BaseModel], lines: Mapping[tuple[str | int, ...], int]
) -> str:
    steps = _known_steps(details["loc"], model)
    line = next((lines[steps[:n]] for n in range(len(steps), 0, -1) if steps[:n] in lines), None)
    place = field_path(steps)
    what = _complaint(details, steps, model)
    return f"{_at_line(line)}{place}: {what}" if place else f"{_at_line(line)}{what}"


def _complaint(details: ErrorDetails, steps: tuple[str | int, ...], model: type[BaseModel]) -> str:
    kind = details["type"]
    if kind == "extra_forbidden":
        known = _fields_of(_annotation_at(steps[:-1], model))
        return f"unknown field. {did_you_mean(str(steps[-1]), known)}".strip()
    if kind == "missing":
        return "is missing."
    found = found_type(details["input"])
    if kind in _EXPECTED:
        quote = "; quote it" if kind == "string_type" and found in ("a number", "a boolean") else ""
        return f"expected {_EXPECTED[kind]}, found {found}{quote}."
    if kind == "literal_error":
        expected = str(details.get("ctx", {}).get("expected", ""))
        return f"expected {expected}, found {details['input']!r}."
    message = details["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{message[0].lower()}{message[1:]}."


def _at_line(line: int | None) -> str:
    return f"line {line}, " if line else ""


def _known_steps(loc: tuple[str | int, ...], model: type[BaseModel]) -> tuple[str | int, ...]:
    """Leave out what pydantic adds to a place for itself, such as the branch of a union."""
    kept: list[str | int] = []
    here: Any = model
    for step in loc:
        following = _step_into(here, step)
        if following is None and step != loc[-1]:
            continue
        kept.append(step)
        here = following
    return tuple(kept)


def _annotation_at(steps: tuple[str | int, ...], model: type[BaseModel]) -> Any:
    here: Any = model
    for step in steps:
        here = _step_into(here, step)
    return here


def _step_into(annotation: Any, step: str | int) -> Any:
    for option in _options(annotation):
        if isinstance(option, type) and issubclass(option, BaseModel):
            for name, field in option.model_fields.items():
                if step in (field.alias, name):
                    return field.annotation
        elif get_origin(option) in (dict, Mapping):
            return get_args(option)[1]
        elif get_origin(option) in (list, tuple) and isinstance(step, int):
            return get_args(option)[0]
        elif getattr(get_origin(option), "__name__", "") == "Mapping":
            return get_args(option)[1]
    return None


def _options(annotation: Any) -> list[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _options(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return [option for part in get_args(annotation) for option in _options(part)]
    return [annotation]


def _fields_of(annotation: Any) -> list[str]:
    return [
        field.alias or name
        for option in _options(annotation)
        if isinstance(option, type) and issubclass(option, BaseModel)
        for name, field in option.model_fields.items()
    ]
