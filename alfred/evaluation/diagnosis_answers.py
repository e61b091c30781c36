"""Where the answers of a model are kept between runs, so that no prompt is paid for twice."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from alfred.engine.language_model import LanguageModel
from alfred.errors import EvaluationRefused
from alfred.evaluation.diagnosis_case import RECORDED_ANSWERS, DiagnosisCase
from alfred.models.recorded import RecordedModel

FOLDER = "evals"
ModelOf = Callable[[DiagnosisCase], LanguageModel]
"""Gives the model to run a case with."""


def remembered_path(home: Path, model: str) -> Path:
    """Name the file that holds a model's answers; its folder exists from then on.

    A run that was interrupted goes on with it: what was answered is not asked again.
    """
    folder = home / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    readable = re.sub(r"[^\w.-]+", "-", model, flags=re.ASCII).strip("-.")[:60]
    mark = hashlib.sha256(model.encode()).hexdigest()[:8]
    return folder / f"diagnosis-{readable}-{mark}.answers"


def remembering(home: Path, model: LanguageModel, *, fresh: bool = False) -> RecordedModel:
    """Wrap a model so that its answers are kept; `fresh` forgets what was kept."""
    path = remembered_path(home, model.name)
    if fresh:
        path.unlink(missing_ok=True)
    _drop_torn_line(path)
    return RecordedModel(path, model)


def _drop_torn_line(path: Path) -> None:
    """Cut off a last line that a killed process did not finish; the rest was paid for."""
    if not path.exists():
        return
    kept = path.read_bytes()
    whole = kept[: kept.rfind(b"\n") + 1]
    if not whole:
        path.unlink()
    elif whole != kept:
        path.write_bytes(whole)


def recorded_of(case: DiagnosisCase) -> RecordedModel:
    """Take the model whose answers lie beside a case.

    Errors: `eval.cases` where none do; `model.not_scripted` once a prompt is not among them.
    """
    if case.answers is None:
        raise EvaluationRefused(
            "eval.cases",
            f"The case {case.id} has no {RECORDED_ANSWERS}.",
            hint="Leave out --answers recorded, or record them: evals/record_answers.py.",
        )
    return RecordedModel(case.answers)
