"""Case files: JSON Lines of inputs with the answers that are expected of a node."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

from alfred.engine.canonical import digest
from alfred.errors import EvaluationRefused
from alfred.evaluation.agreement import problem_with
from alfred.settings import is_timezone

MAX_FILE_BYTES = 64_000_000
INLINE, FILES = ("text", "html"), ("text_file", "html_file")
_KNOWN = frozenset(
    {"id", "lang", "node", "expect", "gold_in_text", "received_at", "timezone", "note", "answered"}
    | {*INLINE, *FILES}
)
_RECEIVED_AT, _TIMEZONE = "2026-03-02T09:00:00+00:00", "UTC"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One input and what is expected of each field; fields that are not named are not scored.

    `node` is the only node that the case is about, or None. `filename` tells a page from a text.
    """

    id: str
    language: str
    node: str | None
    content: bytes
    filename: str
    expect: Mapping[str, Any]
    received_at: datetime
    timezone: str

    @property
    def digest(self) -> str:
        """SHA-256 of everything that an answer or its score depends on."""
        content = self.content.decode("utf-8", "backslashreplace")
        when = [self.received_at.isoformat(), self.timezone]
        return digest([self.id, self.language, self.filename, content, dict(self.expect), *when])


def digest_of(cases: Sequence[Case]) -> str:
    """Name a list of cases by its content."""
    return digest([case.digest for case in cases])


def read_cases(path: Path) -> list[Case]:
    """Read a case file, with the files that its cases name, relative to it.

    Errors: `eval.cases` with the line's number; nothing is read halfway.
    """
    cases: dict[str, Case] = {}
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            case = _case(_object(line), path.parent)
        except _Mistake as mistake:
            raise _refused(f"{path}, line {number}: {mistake}.") from mistake
        if case.id in cases:
            raise _refused(f"{path}, line {number}: the id {case.id!r} stands on two lines.")
        cases[case.id] = case
    if not cases:
        raise _refused(f"{path} has no case.")
    return list(cases.values())


class _Mistake(ValueError):
    """What is wrong with one line."""


def _refused(message: str) -> EvaluationRefused:
    return EvaluationRefused(
        "eval.cases", message, hint="docs/evals.md describes the format; nothing was run."
    )


def _lines(path: Path) -> list[str]:
    try:
        text = _content(path).decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise _refused(f"{path} is not UTF-8 at byte {exc.start:,}.") from exc
    except _Mistake as mistake:
        raise _refused(f"{mistake}.") from mistake
    # Not splitlines: a text may hold U+2028, which it takes for the end of a line.
    return text.split("\n")


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise _Mistake(f"{path} is larger than {MAX_FILE_BYTES // 10**6} MB")
        return path.read_bytes()
    except OSError as exc:
        raise _Mistake(f"{path} cannot be read: {exc.strerror or exc}") from exc


def _object(line: str) -> dict[str, Any]:
    try:
        read = json.loads(line)
    except ValueError as exc:
        raise _Mistake(f"is no JSON: {exc}") from exc
    except RecursionError as exc:
        raise _Mistake("is nested too deeply") from exc
    if not isinstance(read, dict):
        raise _Mistake("is no JSON object")
    return cast("dict[str, Any]", read)


def _case(fields: dict[str, Any], folder: Path) -> Case:
    if unknown := sorted(set(fields) - _KNOWN):
        raise _Mistake(f"unknown field {unknown[0]!r}; known: {', '.join(sorted(_KNOWN))}")
    timezone = _text(fields, "timezone", _TIMEZONE)
    if not is_timezone(timezone):
        raise _Mistake(f"timezone {timezone!r} is no IANA name")
    content, filename = _input(fields, folder)
    return Case(
        id=_text(fields, "id"),
        language=_text(fields, "lang"),
        node=_text(fields, "node") if "node" in fields else None,
        content=content,
        filename=filename,
        expect=_expectations(fields),
        received_at=_moment(_text(fields, "received_at", _RECEIVED_AT)).astimezone(
            ZoneInfo(timezone)
        ),
        timezone=timezone,
    )


def _text(fields: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = fields.get(name, default)
    if not isinstance(value, str) or not value.strip():
        raise _Mistake(f"{name} is missing or no text")
    return value


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as exc:
        raise _Mistake(f"received_at {text!r} is no ISO 8601 date and time") from exc
    if moment.utcoffset() is None:
        raise _Mistake(f"received_at {text!r} has no offset from UTC")
    return moment


def _input(fields: Mapping[str, Any], folder: Path) -> tuple[bytes, str]:
    """Take the content from where the case has it; the name says whether it is a page."""
    given = [name for name in (*INLINE, *FILES) if name in fields]
    if len(given) != 1:
        raise _Mistake(f"exactly one of {', '.join((*INLINE, *FILES))} is needed")
    (name,) = given
    value = _text(fields, name)
    if name in FILES:
        return _content(folder / value), Path(value).name
    return value.encode("utf-8", "backslashreplace"), f"case.{'html' if name == 'html' else 'txt'}"


def _expectations(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keep what can be scored: a field that the text does not show is left out."""
    expect, shown = fields.get("expect"), fields.get("gold_in_text", {})
    if not isinstance(expect, dict) or not expect:
        raise _Mistake("expect is missing or no object of fields")
    if not isinstance(shown, dict) or not all(
        isinstance(value, bool) for value in cast("dict[str, Any]", shown).values()
    ):
        raise _Mistake("gold_in_text is no object of true and false")
    expected = cast("dict[str, Any]", expect)
    for field, value in expected.items():
        if problem := problem_with(value):
            raise _Mistake(f"expect.{field} {problem}")
    hidden = {field for field, is_shown in cast("dict[str, bool]", shown).items() if not is_shown}
    return {field: value for field, value in expected.items() if field not in hidden}
