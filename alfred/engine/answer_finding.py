"""Turns a validator's errors into findings: which value breaks which rule, and what was wanted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

import jsonschema_rs

from alfred.engine import json_pointer
from alfred.engine.answer_problem import AnswerProblem, Rule
from alfred.engine.schema_place import SchemaPlace

Steps = tuple[str | int, ...]
Findings = list[tuple[Steps, AnswerProblem]]
Kind = jsonschema_rs.ValidationErrorKind

_LIMITS = frozenset(
    (
        *("minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("multipleOf", "minItems", "minProperties", "maxProperties", "pattern", "format"),
    )
)


def findings_of(
    error: jsonschema_rs.ValidationError, whole: Any, place: SchemaPlace
) -> Iterator[tuple[Steps, AnswerProblem]]:
    """Yield what is wrong, one finding per value; `whole` is the answer, `place` its schema.

    A list that is too long, or repeats itself, gives a finding for each item too many.
    """
    for leaf in _leaves(error):
        steps = tuple(leaf.instance_path)
        if isinstance(leaf.kind, Kind.MaxItems):
            limit = leaf.kind.limit
            for index in range(limit, len(value_at(whole, steps))):
                yield _finding((*steps, index), "limit", f"maxItems {limit}")
        elif isinstance(leaf.kind, Kind.UniqueItems):
            for index in _repeated(value_at(whole, steps)):
                yield _finding((*steps, index), "repeated")
        else:
            yield _finding(steps, *_rule(leaf.kind, steps, place))


def value_at(whole: Any, steps: Steps) -> Any:
    """Return the part of a JSON value that keys and indexes lead to."""
    for step in steps:
        whole = whole[step]
    return whole


def _finding(steps: Steps, rule: Rule, wanted: str = "") -> tuple[Steps, AnswerProblem]:
    return steps, AnswerProblem(json_pointer.from_steps(steps), rule, wanted)


def _leaves(error: jsonschema_rs.ValidationError) -> Iterator[jsonschema_rs.ValidationError]:
    """Go down to the errors of the branch that was meant: the first whose own type fits."""
    if isinstance(error.kind, Kind.AnyOf | Kind.OneOfNotValid):
        here = error.instance_path
        for branch in error.kind.context:
            if not any(e.instance_path == here and isinstance(e.kind, Kind.Type) for e in branch):
                for inner in branch:
                    yield from _leaves(inner)
                return
    yield error


def _rule(kind: Kind, steps: Steps, place: SchemaPlace) -> tuple[Rule, str]:
    rule: Rule = "other"
    wanted = kind.name
    match kind:
        case Kind.Type():
            rule, wanted = "type", " / ".join(kind.types)
        case Kind.Enum():
            choices = [str(option) for option in kind.options if option is not None]
            rule, wanted = "enum", ", ".join(choices)
        case Kind.Constant():
            rule, wanted = "enum", str(kind.expected_value)
        case Kind.Required():
            rule, wanted = "required", kind.property
        case Kind.AdditionalProperties() | Kind.UnevaluatedProperties():
            here = place.follow(steps)
            rule, wanted = "closed", ", ".join(sorted(here.fields)) if here else ""
        case Kind.AnyOf() | Kind.OneOfNotValid():
            types = {t for branch in kind.context for e in branch for t in _types(e)}
            rule, wanted = ("type", " / ".join(sorted(types))) if types else (rule, wanted)
        case _ if wanted in _LIMITS:
            rule, wanted = "limit", f"{wanted} {kind.value}"
        case _:
            pass
    return rule, wanted


def _types(error: jsonschema_rs.ValidationError) -> Sequence[str]:
    return error.kind.types if isinstance(error.kind, Kind.Type) else ()


def _repeated(items: Any) -> Iterator[int]:
    seen: set[str] = set()
    for index, item in enumerate(cast(list[Any], items)):
        text = json.dumps(item, sort_keys=True)
        if text in seen:
            yield index
        seen.add(text)
