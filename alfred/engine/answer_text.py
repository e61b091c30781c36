"""Reads a model's text as one JSON object, strictly: what is not plainly right is a problem."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, cast

from alfred.engine import json_pointer
from alfred.engine.answer_problem import AnswerProblem, Rule
from alfred.engine.language_model import FinishReason

MAX_CHARS = 1_000_000
MAX_DEPTH = 64
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True)
class ParsedAnswer:
    """An answer as an object, or None and what is wrong with it."""

    value: dict[str, Any] | None
    problems: tuple[AnswerProblem, ...] = ()


def parse_answer(text: str, finish_reason: FinishReason = "stop") -> ParsedAnswer:
    """Read a model's text as one JSON object.

    Nothing is mended: fences, text around the object, duplicate keys, NaN and infinities, whole
    numbers over 64 bits, NUL and lone surrogates are problems. Errors: none.
    """
    if rule := _refusal(text, finish_reason):
        return _refused(rule)
    try:
        raw = _DECODER.decode(text)
    except json.JSONDecodeError as exc:
        return _refused("trailing" if exc.msg == "Extra data" else "syntax")
    except RecursionError:
        return _refused("size")
    if not isinstance(raw, _Members):
        return _refused("not_object")
    problems: list[AnswerProblem] = []
    value = _settle(raw, "", 0, problems)
    return ParsedAnswer(None, tuple(problems)) if problems else ParsedAnswer(value)


def _refusal(text: str, finish_reason: FinishReason) -> Rule | None:
    """Say why a text need not even be read."""
    if finish_reason != "stop":
        return "truncated" if finish_reason == "length" else "refused"
    if not text.strip():
        return "empty"
    if text.lstrip().startswith("```"):
        return "fenced"
    return "size" if len(text) > MAX_CHARS else None


def _refused(rule: Rule) -> ParsedAnswer:
    return ParsedAnswer(None, (AnswerProblem("", rule),))


class _Members(list[tuple[str, Any]]):
    """The members of an object before duplicates are looked for."""


_BAD_NUMBER = object()


def _whole(digits: str) -> Any:
    if len(digits) > 20 or not -(2**63) <= int(digits) < 2**63:
        return _BAD_NUMBER
    return int(digits)


def _fraction(digits: str) -> Any:
    number = float(digits)
    return number if math.isfinite(number) else _BAD_NUMBER


def _constant(_name: str) -> Any:
    return _BAD_NUMBER


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Members, parse_int=_whole, parse_float=_fraction, parse_constant=_constant
)


def _settle(raw: Any, pointer: str, depth: int, problems: list[AnswerProblem]) -> Any:
    if depth > MAX_DEPTH:
        problems.append(AnswerProblem(pointer, "size"))
        return None
    if isinstance(raw, _Members):
        fields: dict[str, Any] = {}
        for name, value in raw:
            here = json_pointer.extend(pointer, name)
            if not _is_storable(name):
                problems.append(AnswerProblem(pointer, "characters"))
            elif name in fields:
                problems.append(AnswerProblem(here, "duplicate"))
            else:
                fields[name] = _settle(value, here, depth + 1, problems)
        return fields
    if isinstance(raw, list):
        items = enumerate(cast(list[Any], raw))
        return [
            _settle(item, json_pointer.extend(pointer, index), depth + 1, problems)
            for index, item in items
        ]
    if raw is _BAD_NUMBER:
        problems.append(AnswerProblem(pointer, "number"))
    elif isinstance(raw, str) and not _is_storable(raw):
        problems.append(AnswerProblem(pointer, "characters"))
    return raw


def _is_storable(text: str) -> bool:
    return _UNSTORABLE.search(text) is None
