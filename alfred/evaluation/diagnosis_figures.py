"""Figures over many runs of a diagnosis; each rate with the number that it is a share of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from alfred.evaluation.diagnosis_outcome import UNPERTURBED
from alfred.evaluation.diagnosis_score import CAUSE, FELL_BACK, HYPOTHESES, RunScore


@dataclass(frozen=True)
class Rate:
    """A part of a whole."""

    part: int
    whole: int

    def __str__(self) -> str:
        return (
            f"{100 * self.part / self.whole:.1f} % ({self.part} of {self.whole})" if self else "–"
        )

    def __bool__(self) -> bool:
        return self.whole > 0


@dataclass(frozen=True, kw_only=True)
class GroupFigures:
    """What the runs of one condition or of one perturbation came to.

    `unsupported` is of everything that answers state, `valid_citations` of their references to
    evidence, `open_unproved` of the hypotheses that they show as not established. `right`,
    `has_object` and `has_cause` are of the runs that they can be said of. Costs are per run.
    """

    name: str
    runs: int
    composed: Rate
    right: Rate
    unsupported: Rate
    valid_citations: Rate
    open_unproved: Rate
    has_object: Rate
    has_cause: Rate
    tool_calls: float
    model_calls: float
    prompt_tokens: float
    completion_tokens: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class CheckFigures:
    """How often a perturbation led to what it must lead to; `not_met` names the other cases."""

    perturbation: str
    check: str
    passed: Rate
    not_met: tuple[str, ...]


def condition_figures(scores: Sequence[RunScore]) -> list[GroupFigures]:
    """Compute the figures of unperturbed runs for each condition, then of them all."""
    plain = [score for score in scores if score.perturbation == UNPERTURBED]
    conditions = dict.fromkeys(score.condition for score in plain)
    groups = [_figures(c, [s for s in plain if s.condition == c]) for c in conditions]
    return [*groups, _figures("all", plain)] if plain else []


def perturbation_figures(scores: Sequence[RunScore]) -> list[GroupFigures]:
    """Compute the figures of each perturbation, then of every run there is."""
    names = dict.fromkeys(s.perturbation for s in scores if s.perturbation != UNPERTURBED)
    groups = [_figures(n, [s for s in scores if s.perturbation == n]) for n in names]
    return [*groups, _figures("every run", scores)] if groups else []


def check_figures(scores: Sequence[RunScore]) -> list[CheckFigures]:
    """Count for each expectation of a perturbation how often it was met."""
    found: dict[tuple[str, str], list[tuple[str, bool]]] = {}
    for score in scores:
        for check in score.checks:
            held = found.setdefault((score.perturbation, check.name), [])
            held.append((score.case, check.passed))
    return [
        CheckFigures(
            perturbation=perturbation,
            check=name,
            passed=Rate(sum(passed for _, passed in results), len(results)),
            not_met=tuple(case for case, passed in results if not passed),
        )
        for (perturbation, name), results in found.items()
    ]


COLUMNS = (
    "right cause",
    "other cause",
    "right hypothesis",
    "other hypothesis",
    "no_fault",
    "not_established",
    FELL_BACK,
)
"""What an answer can come to; a cause or a hypothesis is right if it is what the case holds."""


def confusion(scores: Sequence[RunScore]) -> dict[str, Counter[str]]:
    """Count what answers came to for each condition, of unperturbed runs."""
    table: dict[str, Counter[str]] = {}
    for score in scores:
        if score.perturbation == UNPERTURBED:
            table.setdefault(score.condition, Counter())[_column(score)] += 1
    return table


def _column(score: RunScore) -> str:
    kind = {CAUSE: "cause", HYPOTHESES: "hypothesis"}.get(score.finding)
    if kind is None:
        return score.finding
    is_true = score.condition == "faulty" and score.has_object and score.has_cause
    return f"{'right' if is_true else 'other'} {kind}"


def _figures(name: str, scores: Sequence[RunScore]) -> GroupFigures:
    faulty = [s for s in scores if s.condition == "faulty" and s.perturbation == UNPERTURBED]
    judged = [s for s in scores if s.is_right is not None]
    return GroupFigures(
        name=name,
        runs=len(scores),
        composed=Rate(sum(s.finding != FELL_BACK for s in scores), len(scores)),
        right=Rate(sum(bool(s.is_right) for s in judged), len(judged)),
        unsupported=Rate(sum(len(s.unsupported) for s in scores), sum(s.said for s in scores)),
        valid_citations=_sum(scores, lambda s: (s.valid_citations, s.citations)),
        open_unproved=_sum(scores, lambda s: (s.open_unproved, s.open_claims)),
        has_object=Rate(sum(s.has_object for s in faulty), len(faulty)),
        has_cause=Rate(sum(s.has_cause for s in faulty), len(faulty)),
        tool_calls=_mean([s.cost.tool_calls for s in scores]),
        model_calls=_mean([s.cost.model_calls for s in scores]),
        prompt_tokens=_mean([s.cost.prompt_tokens for s in scores]),
        completion_tokens=_mean([s.cost.completion_tokens for s in scores]),
        seconds=_mean([s.cost.seconds for s in scores]),
    )


def _sum(scores: Sequence[RunScore], read: Callable[[RunScore], tuple[int, int]]) -> Rate:
    pairs = [read(score) for score in scores]
    return Rate(sum(part for part, _ in pairs), sum(whole for _, whole in pairs))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
