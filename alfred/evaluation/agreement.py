"""Whether an answer says what a case expects: exactly, or after a strict normalisation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, cast, get_args

Agreement = Literal["exact", "normalised", "different"]
"""The best first."""

_TRAILING = " .,;:!?…。、"
_SEPARATORS = re.compile(r"[,;/|·、\n]+|\s(?:and|or)\s")
ANY_OF, WITH, WITHOUT = "any_of", "with", "without"
FORMS: Mapping[str, frozenset[str]] = {
    "a choice": frozenset({ANY_OF}),
    "what a list has and lacks": frozenset({WITH, WITHOUT}),
}
"""The keys of expectations that are objects; docs/evals.md explains each."""


def normalise(text: str) -> str:
    """Fold what is no matter of content: NFKC, case, runs of blanks, punctuation at the end.

    Nothing else: a legal form, a country behind a city or a translation is a difference.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split()).rstrip(_TRAILING)


def agree(expected: Any, got: Any) -> Agreement:
    """Compare an answer's field with what is expected of it.

    Shapes: `expected` as in a case file, checked by `problem_with`; `got` None where the answer
            does not state the field.
    """
    if isinstance(expected, Mapping):
        return _agree_with_form(cast("Mapping[str, Any]", expected), got)
    if expected is None or got is None:
        return "exact" if expected is got else "different"
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        return _agree_with_all(cast("Sequence[str]", expected), got)
    if type(expected) is type(got) and expected == got:
        return "exact"
    if isinstance(expected, str) and isinstance(got, str):
        return "normalised" if normalise(expected) == normalise(got) else "different"
    return "different"


def problem_with(expected: Any) -> str | None:
    """Say what is wrong with an expectation; None if it can be compared."""
    if expected is None or isinstance(expected, str | int | float):
        is_blank = isinstance(expected, str) and not normalise(expected)
        return "is blank; write null for what is not stated" if is_blank else None
    if isinstance(expected, list):
        return _problem_with_texts(cast("list[Any]", expected))
    if isinstance(expected, dict):
        form = cast("dict[str, Any]", expected)
        if not form or not any(set(form) <= keys for keys in FORMS.values()):
            return f"has the keys {', '.join(form) or '(none)'}; known: any_of, or with and without"
        if ANY_OF in form and isinstance(form[ANY_OF], list):
            choices = cast("list[Any]", form[ANY_OF])
            nested = any(isinstance(choice, dict) for choice in choices)
            wrong = next((w for choice in choices if (w := problem_with(choice))), None)
            return wrong or ("has no plain values in any_of" if nested or not choices else None)
        return next((w for texts in form.values() if (w := _problem_with_texts(texts))), None)
    return "is neither a value, null, a list of texts nor an object"


def _problem_with_texts(texts: Any) -> str | None:
    listed = cast("list[Any]", texts) if isinstance(texts, list) else []
    if not listed or not all(isinstance(each, str) and normalise(each) for each in listed):
        return "needs a list of texts"
    return None


def _agree_with_form(form: Mapping[str, Any], got: Any) -> Agreement:
    if ANY_OF in form:
        found = {agree(choice, got) for choice in form[ANY_OF]}
        return next(each for each in get_args(Agreement) if each in found)
    said = {normalise(text) for text in _texts(got)}
    has_all = all(normalise(text) in said for text in form.get(WITH, ()))
    has_none = not any(normalise(text) in said for text in form.get(WITHOUT, ()))
    return "normalised" if has_all and has_none else "different"


def _agree_with_all(expected: Sequence[str], got: Any) -> Agreement:
    """Compare several values with a list, or with one text that names them all, in any order."""
    if isinstance(got, str):
        if got == expected[0] and len(expected) == 1:
            return "exact"
        same = _parts([got]) == _parts(expected)
        return "normalised" if same else "different"
    if list(expected) == got:
        return "exact"
    said = sorted(normalise(text) for text in _texts(got))
    return "normalised" if said == sorted(map(normalise, expected)) else "different"


def _parts(texts: Sequence[str]) -> list[str]:
    joined = "\n".join(unicodedata.normalize("NFKC", text) for text in texts)
    return sorted(part for piece in _SEPARATORS.split(joined) if (part := normalise(piece)))


def _texts(value: Any) -> Iterator[str]:
    """Give every text in a value, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in cast("Mapping[str, Any]", value).values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _texts(inner)
