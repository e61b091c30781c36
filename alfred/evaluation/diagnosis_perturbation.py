"""Changes to a case that must change its answer: swapped, deleted, failing, edited."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from alfred.errors import EvaluationRefused
from alfred.evaluation.diagnosis_case import DiagnosisCase
from alfred.evaluation.diagnosis_outcome import UNPERTURBED
from alfred.probes.replay import RecordedCall, Recording

SWAPPED, DELETED, FAILING, EDITED = "swapped", "deleted", "failing", "edited"
PERTURBATIONS = (SWAPPED, DELETED, FAILING, EDITED)
"""
swapped  each tool says what it said in another case
deleted  the sources that the case calls decisive were not recorded
failing  every call fails
edited   one number of the composer's first answer is changed
"""
ALL = "all"


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """A case as it is to be run, its evidence changed already; the truth is its own."""

    case: DiagnosisCase
    perturbation: str

    @property
    def key(self) -> str:
        return f"{self.case.id}/{self.perturbation}"


def choose_diagnosis_cases(
    cases: Sequence[DiagnosisCase], *, limit: int | None
) -> list[DiagnosisCase]:
    """Keep at most `limit` cases, those whose names hash lowest: a mix that is always the same."""
    if limit is None or limit >= len(cases):
        return list(cases)
    lowest = sorted(cases, key=lambda case: hashlib.sha256(case.id.encode()).digest())[:limit]
    return [case for case in cases if case in lowest]


def plan_runs(
    chosen: Sequence[DiagnosisCase], cases: Sequence[DiagnosisCase], perturb: str
) -> list[PlannedRun]:
    """List the runs of some cases: as they are, then under the perturbations asked for.

    `perturb` is a perturbation's name, "all" or "none". `cases` are those to take foreign evidence
    from. Errors: `eval.cases` for another name.
    """
    if perturb not in (ALL, UNPERTURBED, *PERTURBATIONS):
        raise EvaluationRefused(
            "eval.cases",
            f"There is no perturbation {perturb!r}.",
            hint=f"Known: {', '.join((ALL, UNPERTURBED, *PERTURBATIONS))}.",
        )
    asked = PERTURBATIONS if perturb == ALL else [p for p in PERTURBATIONS if p == perturb]
    runs = [PlannedRun(case=case, perturbation=UNPERTURBED) for case in chosen]
    for perturbation in asked:
        runs.extend(_perturbed(chosen, cases, perturbation))
    return runs


def _perturbed(
    chosen: Sequence[DiagnosisCase], cases: Sequence[DiagnosisCase], perturbation: str
) -> Iterator[PlannedRun]:
    for case in chosen:
        recording = _changed(case, cases, perturbation)
        if recording is not None:
            yield PlannedRun(case=replace(case, recording=recording), perturbation=perturbation)


def _changed(
    case: DiagnosisCase, cases: Sequence[DiagnosisCase], perturbation: str
) -> Recording | None:
    """Change a case's evidence; None where the perturbation has no meaning for it."""
    if perturbation == EDITED:
        return case.recording
    if perturbation == DELETED:
        return _without(case) if case.decisive else None
    if case.condition == "failing tools":
        return None
    if perturbation == FAILING:
        return case.recording.failing()
    donor = _donor(case, cases)
    return _swapped(case.recording, donor.recording) if donor else None


def _without(case: DiagnosisCase) -> Recording:
    kept = [
        call
        for call in case.recording.calls
        if not any(source.answered(call) for source in case.decisive)
    ]
    return replace(case.recording, calls=kept)


def _donor(case: DiagnosisCase, cases: Sequence[DiagnosisCase]) -> DiagnosisCase | None:
    """Take the faulty case that follows in the list: always the same, and never its own."""
    faulty = [each for each in cases if each.condition == "faulty" and each.id != case.id]
    return next((each for each in faulty if each.id > case.id), faulty[0] if faulty else None)


def _swapped(own: Recording, other: Recording) -> Recording:
    """Take over what another case's tools said, at this case's own times.

    With the other's times the gatekeeper would refuse it all as outside the window, and nothing
    behind the gatekeeper would be tested.
    """
    swapped = own.swapped(other)
    return replace(swapped, calls=[_at_own_time(call, own) for call in swapped.calls])


def _at_own_time(call: RecordedCall, own: Recording) -> RecordedCall:
    asked = next(
        each for each in own.calls if each.tool == call.tool and each.arguments == call.arguments
    )
    return call.model_copy(update={"start": asked.start, "end": asked.end})
