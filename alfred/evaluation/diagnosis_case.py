"""Recorded cases of a diagnosis: a question, what the tools said, and the truth for the scorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from alfred.errors import AlfredError, EvaluationRefused
from alfred.graphs.diagnosis.time_words import read_since
from alfred.probes.closed_fields import Closed, read_closed_yaml
from alfred.probes.probe import Window
from alfred.probes.replay import RecordedCall, Recording, read_recording

CASE_FILE = "case.yaml"
RECORDED_ANSWERS = "recording.jsonl"
"""A case's answers of a model, as `RecordedModel` reads them; not every case has them."""
Words = tuple[tuple[str, ...], ...]
"""Groups of words: a text has them where it has at least one of each group, in any case."""


class Truth(Closed):
    """What is true of a case; nothing but the scorer ever sees it.

    `object` and `cause` are groups of words that a right answer has. An answer with a word of
    `forbidden` is wrong.
    """

    object: Words = ()
    cause: Words = ()
    forbidden: tuple[str, ...] = ()


class Source(Closed):
    """A source of evidence: a tool, or one of its calls where `arguments` are given."""

    tool: str
    arguments: dict[str, Any] | None = None

    def answered(self, call: RecordedCall) -> bool:
        """Say whether a recorded call is of this source."""
        is_same = self.arguments is None or self.arguments == call.arguments
        return call.tool == self.tool and is_same


class CaseFields(Closed):
    """What stands in `case.yaml`."""

    language: Literal["en", "zh"]
    question: str = Field(min_length=1)
    asked_at: str
    since: str = "1h"
    scope: dict[str, str] = Field(default_factory=dict[str, str])
    healthy: bool = False
    failing_tools: bool = False
    decisive: tuple[Source, ...] = ()
    truth: Truth = Truth()

    @field_validator("asked_at")
    @classmethod
    def _has_a_zone(cls, text: str) -> str:
        if (moment := _moment(text)) is None or moment.tzinfo is None:
            raise ValueError(f"'{text}' is no time with a zone, as in 2026-03-02T14:00:00+00:00")
        return text


Condition = Literal["faulty", "healthy", "failing tools"]


@dataclass(frozen=True, kw_only=True)
class DiagnosisCase:
    """One recorded incident. `id` names it to people; no prompt holds it.

    `decisive` are the sources without which the cause cannot be established.
    """

    id: str
    language: str
    question: str
    window: Window
    scope: Mapping[str, str]
    condition: Condition
    truth: Truth
    recording: Recording
    decisive: Sequence[Source] = ()
    answers: Path | None = None
    """The file of recorded answers, where the case has one."""


@dataclass
class Cases:
    """What was read, and a sentence for each thing that could not be."""

    cases: list[DiagnosisCase] = field(default_factory=list[DiagnosisCase])
    left_out: list[str] = field(default_factory=list[str])


def read_diagnosis_cases(folder: Path) -> list[DiagnosisCase]:
    """Read every case in a folder; one that stands in a folder of its own is one.

    Errors: `eval.cases` with file, line and remedy; nothing is read halfway.
    """
    if not folder.is_dir():
        raise _refused(f"{folder} is no folder.")
    folders = sorted(path.parent for path in folder.glob(f"*/{CASE_FILE}"))
    if (folder / CASE_FILE).is_file():
        folders = [folder]
    if not folders:
        raise _refused(f"{folder} has no case: no folder in it holds a {CASE_FILE}.")
    return [read_diagnosis_case(each) for each in folders]


def read_diagnosis_case(folder: Path) -> DiagnosisCase:
    """Read one case; errors as `read_diagnosis_cases`."""
    path = folder / CASE_FILE
    try:
        text = path.read_text(encoding="utf-8")
        fields = read_closed_yaml(text, CASE_FILE, CaseFields, "probe.recording")
        recording = read_recording(folder)
        window = _window(fields)
    except OSError as exc:
        raise _refused(f"{path} cannot be read: {exc.strerror or exc}.") from exc
    except UnicodeDecodeError as exc:
        raise _refused(f"{path} is not UTF-8 at byte {exc.start:,}.") from exc
    except AlfredError as exc:
        raise _refused(f"The case {folder.name}: {exc}") from exc
    _check_decisive(folder, fields, recording)
    answers = folder / RECORDED_ANSWERS
    return DiagnosisCase(
        id=folder.name,
        language=fields.language,
        question=fields.question,
        window=window,
        scope=fields.scope,
        condition=_condition(folder, fields),
        truth=fields.truth,
        recording=recording,
        decisive=fields.decisive,
        answers=answers if answers.is_file() else None,
    )


def _condition(folder: Path, fields: CaseFields) -> Condition:
    if fields.healthy and fields.failing_tools:
        raise _refused(
            f"The case {folder.name} is healthy and has failing tools; it can't be both."
        )
    if fields.failing_tools:
        return "failing tools"
    if fields.healthy:
        return "healthy"
    if not fields.truth.object or not fields.truth.cause:
        raise _refused(f"The case {folder.name} is faulty, so truth needs object and cause.")
    return "faulty"


def _check_decisive(folder: Path, fields: CaseFields, recording: Recording) -> None:
    for source in fields.decisive:
        if not any(source.answered(call) for call in recording.calls):
            raise _refused(
                f"The case {folder.name} names {source.tool} as decisive, with arguments that none"
                " of its recorded calls has."
            )


def _window(fields: CaseFields) -> Window:
    asked_at = datetime.fromisoformat(fields.asked_at)
    return Window(start=read_since(fields.since, asked_at), end=asked_at)


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _refused(message: str) -> EvaluationRefused:
    return EvaluationRefused(
        "eval.cases", message, hint="docs/evals.md describes the format; nothing was run."
    )
