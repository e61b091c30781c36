"""Measures a diagnosis over cases and perturbations, one run after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from alfred.engine.domain import Domain, all_kinds
from alfred.evaluation.diagnosis_answers import ModelOf
from alfred.evaluation.diagnosis_measurement import DiagnosisBench, measure_diagnosis
from alfred.evaluation.diagnosis_perturbation import PlannedRun
from alfred.evaluation.diagnosis_score import RunScore, score_run
from alfred.installed import load_registry

Heard = Callable[[int, RunScore], None]
"""Told of each run: how many are done, and the score of the latest."""


def make_diagnosis_bench(domains: Sequence[Domain], model_timeout_s: float) -> DiagnosisBench:
    """Collect what the machine's nodes need beside a case.

    Errors: `manifest.*` where a node's manifest cannot be read.
    """
    return DiagnosisBench(
        registry=load_registry(domains),
        kinds=all_kinds(domains),
        model_timeout_s=model_timeout_s,
    )


async def evaluate_diagnosis(
    runs: Sequence[PlannedRun], model_of: ModelOf, bench: DiagnosisBench, heard: Heard
) -> list[RunScore]:
    """Run and score everything that is planned, in turn.

    Errors: `ModelFailed` where the model is missing or out of reach. What it answered until then
    is kept where `model_of` keeps it, so that the same call goes on from there.
    """
    scores: list[RunScore] = []
    for planned in runs:
        outcome = await measure_diagnosis(planned, model_of(planned.case), bench)
        scores.append(score_run(planned, outcome))
        heard(len(scores), scores[-1])
    return scores
