"""Holds a model's answer against its node's schema: what is good stays, the rest has a reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import jsonschema_rs

from alfred.engine import json_pointer
from alfred.engine.answer_finding import Findings, Steps, findings_of, value_at
from alfred.engine.answer_problem import AnswerProblem, repair_note
from alfred.engine.answer_schema import answer_form
from alfred.engine.answer_text import ParsedAnswer, parse_answer
from alfred.engine.answer_words import Source, is_placeholder, normal, says_nothing
from alfred.engine.schema_place import Schema, SchemaPlace, place_of

__all__ = [
    "AnswerProblem",
    "AnswerValidator",
    "ParsedAnswer",
    "Validation",
    "drop_nulls",
    "parse_answer",
    "repair_note",
]


@dataclass(frozen=True)
class Validation:
    """The outcome for one answer.

    `value` is the answer without what is not stated and without lost items; None where problems
    call for another answer. `lost` names each dropped item, by its pointer in the answer without
    nulls, with the reason.
    """

    value: dict[str, Any] | None
    problems: tuple[AnswerProblem, ...] = ()
    lost: Mapping[str, AnswerProblem] = field(default_factory=dict[str, AnswerProblem])


def drop_nulls(value: Any) -> Any:
    """Remove every field and item that is null, at any depth."""
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value).items()
        return {name: drop_nulls(part) for name, part in fields if part is not None}
    if isinstance(value, list):
        return [drop_nulls(part) for part in cast(list[Any], value) if part is not None]
    return value


class AnswerValidator:
    """Validates the answers of one node; made once, since compiling a schema is slow."""

    def __init__(self, schema: Schema) -> None:
        self._place = place_of(schema)
        self._validator = jsonschema_rs.validator_for(
            answer_form(schema), offline=True, validate_formats=True
        )

    def validate(self, value: Mapping[str, Any], source: str = "") -> Validation:
        """Validate a parsed answer that was read from `source`.

        Null, and words that only say "not stated", count as absent. An item of a list that breaks
        the schema is dropped and counted where the rest is good; where a list has no good item,
        or something else is wrong, there are problems and no value. Errors: none.
        """
        words = Source(source)
        stated = self._stated(drop_nulls(dict(value)), self._place, words)
        findings = [*self._placeholders(stated, self._place, (), "", words), *self._errors(stated)]
        lost = _losses(stated, findings)
        if lost is None:
            return Validation(None, _unique(problem for _, problem in findings))
        if lost:
            stated = _without(stated, (), frozenset(lost))
            if left := self._errors(stated):
                return Validation(None, _unique(problem for _, problem in left))
        named = {json_pointer.from_steps(steps): problem for steps, problem in lost.items()}
        return Validation(stated, (), named)

    def _stated(self, value: Any, place: SchemaPlace | None, words: Source) -> Any:
        """Remove what only says that nothing is stated; None where nothing is left of a text."""
        if isinstance(value, str):
            is_choice = place is not None and place.lists(value)
            return None if not is_choice and says_nothing(value, words) else value
        if isinstance(value, dict):
            fields = cast(dict[str, Any], value).items()
            kept = {n: self._stated(v, _step(place, n), words) for n, v in fields}
            return {name: part for name, part in kept.items() if part is not None}
        if isinstance(value, list):
            items = cast(list[Any], value)
            kept_items = [self._stated(item, _step(place, None), words) for item in items]
            return [
                item
                for item, before in zip(kept_items, items, strict=True)
                if item is not None and (item or not before)
            ]
        return value

    def _placeholders(
        self, value: Any, place: SchemaPlace | None, steps: Steps, name: str, words: Source
    ) -> Iterator[tuple[Steps, AnswerProblem]]:
        if isinstance(value, str):
            if place is not None and place.lists(value):
                return
            if is_placeholder(value, _echoes(place, name), words):
                yield steps, AnswerProblem(json_pointer.from_steps(steps), "placeholder")
        elif isinstance(value, dict):
            for key, part in cast(dict[str, Any], value).items():
                onward = _step(place, key)
                yield from self._placeholders(part, onward, (*steps, key), key, words)
        elif isinstance(value, list):
            onward = _step(place, None)
            for index, part in enumerate(cast(list[Any], value)):
                yield from self._placeholders(part, onward, (*steps, index), name, words)

    def _errors(self, value: Any) -> Findings:
        errors = self._validator.iter_errors(value)
        return [finding for error in errors for finding in findings_of(error, value, self._place)]


def _step(place: SchemaPlace | None, step: str | None) -> SchemaPlace | None:
    return place.step(step) if place else None


def _echoes(place: SchemaPlace | None, name: str) -> frozenset[str]:
    own = [name, name.replace("_", " ")]
    for alternative in place.alternatives if place else ():
        own += [str(alternative.get(keyword, "")) for keyword in ("title", "description")]
    return frozenset(normal(text) for text in own if text)


def _losses(value: Any, findings: Findings) -> dict[Steps, AnswerProblem] | None:
    """Find the items whose removal leaves a good answer; None where removing items is no remedy."""
    lost: dict[Steps, AnswerProblem] = {}
    for steps, problem in findings:
        item = _innermost_item(steps)
        if item is None:
            return None
        lost.setdefault(item, problem)
    for array in sorted({item[:-1] for item in lost}, key=len, reverse=True):
        inner = [item for item in lost if item[:-1] == array]
        if len(inner) < len(value_at(value, array)):
            continue
        outer = _innermost_item(array)
        if outer is None:
            return None
        lost.setdefault(outer, lost[inner[0]])
    return {item: problem for item, problem in lost.items() if not _is_inside(item, lost)}


def _innermost_item(steps: Steps) -> Steps | None:
    for end in range(len(steps), 0, -1):
        if isinstance(steps[end - 1], int):
            return steps[:end]
    return None


def _is_inside(item: Steps, lost: Mapping[Steps, AnswerProblem]) -> bool:
    return any(item[:end] in lost for end in range(1, len(item)))


def _without(value: Any, steps: Steps, lost: frozenset[Steps]) -> Any:
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value).items()
        return {name: _without(part, (*steps, name), lost) for name, part in fields}
    if isinstance(value, list):
        return [
            _without(part, (*steps, index), lost)
            for index, part in enumerate(cast(list[Any], value))
            if (*steps, index) not in lost
        ]
    return value


def _unique(problems: Iterable[AnswerProblem]) -> tuple[AnswerProblem, ...]:
    return tuple(dict.fromkeys(problems))
