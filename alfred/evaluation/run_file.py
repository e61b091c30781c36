"""Stored runs of an evaluation: one JSON file each, written anew after every case."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from alfred.errors import EvaluationRefused
from alfred.evaluation.score import CaseResult, FieldResult

FOLDER = "evals"
FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What was measured with what. Two runs of the same subject should give the same figures.

    `cases` and `code` are digests: of the chosen cases with their contents, and of the node's
    folder, its Python included.
    """

    node: str
    model: str
    cases: str
    manifest: str
    code: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run as far as it got; `planned` cases in all. `name` is the file's."""

    name: str
    subject: Subject
    source: str
    """Where the cases were read from, as it was typed."""
    planned: int
    started_at: datetime
    finished_at: datetime | None = None
    version: str
    results: tuple[CaseResult, ...] = field(default=())

    @property
    def is_complete(self) -> bool:
        return self.finished_at is not None


class RunFolder:
    """The runs of one home."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    @property
    def lock_path(self) -> Path:
        """The file to lock while a run is written, in a folder that exists from then on."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._folder / ".lock"

    def save(self, run: Run) -> Path:
        """Write a run's file whole, so that an interruption leaves the last complete one."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"{run.name}.json"
        draft = path.with_suffix(".draft")
        document = {"format": FORMAT, **asdict(run), "started_at": run.started_at.isoformat()}
        document["finished_at"] = run.finished_at.isoformat() if run.finished_at else None
        draft.write_text(json.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8")
        draft.replace(path)
        return path

    def names(self) -> list[str]:
        """List the runs, the newest first."""
        return sorted((path.stem for path in self._folder.glob("*.json")), reverse=True)

    def load(self, name: str) -> Run:
        """Read a run by its name or the only one that begins so.

        Errors: `eval.run`.
        """
        found = [each for each in self.names() if each == name]
        found = found or [each for each in self.names() if each.startswith(name)]
        if len(found) != 1:
            problem = f"{len(found)} runs have a name that begins with" if found else "No run is"
            raise EvaluationRefused(
                "eval.run", f"{problem} {name!r}.", hint="`alfred eval runs` lists them."
            )
        path = self._folder / f"{found[0]}.json"
        try:
            return _read(path)
        except (OSError, ValueError, KeyError, TypeError) as exc:
            raise EvaluationRefused(
                "eval.run", f"{path} is no stored run: {exc}.", hint="Delete the file."
            ) from exc

    def unfinished(self, subject: Subject) -> Run | None:
        """Find the newest run of a subject that was interrupted."""
        for name in self.names():
            try:
                run = self.load(name)
            except EvaluationRefused:
                continue
            if run.subject == subject and not run.is_complete:
                return run
        return None

    def new_name(self, node: str, at: datetime) -> str:
        """Name a new run by its moment and node; names sort by time."""
        name = f"{at:%Y%m%d-%H%M%S}-{node}"
        taken = set(self.names())
        return next(n for n in (name, *(f"{name}-{i}" for i in range(2, 1000))) if n not in taken)


def with_result(run: Run, result: CaseResult) -> Run:
    """Return the run with one more case."""
    return replace(run, results=(*run.results, result))


def _read(path: Path) -> Run:
    fields = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
    if fields.pop("format") != FORMAT:
        raise ValueError("it has another format")
    ended: str | None = fields.pop("finished_at")
    return Run(
        subject=Subject(**fields.pop("subject")),
        started_at=datetime.fromisoformat(fields.pop("started_at")),
        finished_at=datetime.fromisoformat(ended) if ended else None,
        results=tuple(map(_result, cast("Sequence[dict[str, Any]]", fields.pop("results")))),
        **fields,
    )


def _result(fields: dict[str, Any]) -> CaseResult:
    read = tuple(FieldResult(**each) for each in fields.pop("fields"))
    return CaseResult(fields=read, notices=tuple(fields.pop("notices")), **fields)
