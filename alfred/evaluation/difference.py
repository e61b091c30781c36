"""What differs between two runs: each field's figures, and the cases that changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from alfred.evaluation.score import CaseResult, FieldResult, FieldScore, field_scores


@dataclass(frozen=True, kw_only=True)
class FieldDifference:
    """One field's scores in both runs, over the cases that both have."""

    before: FieldScore
    after: FieldScore


@dataclass(frozen=True, kw_only=True)
class Change:
    """A field of a case that the runs answer differently; `kind` says whether that is good."""

    case: str
    language: str
    field: str
    expected: Any
    before: Any
    after: Any
    kind: str


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The comparison of two runs; `shared` cases are compared, the others counted."""

    shared: int
    only_before: int
    only_after: int
    fields: tuple[FieldDifference, ...]
    changes: tuple[Change, ...]


def compare(before: Sequence[CaseResult], after: Sequence[CaseResult]) -> Difference:
    """Compare two runs field by field over the cases and fields that both have."""
    old, new = {r.id: r for r in before}, {r.id: r for r in after}
    pairs = [(old[i], new[i]) for i in old if i in new]
    left = _scores([_only(a, b) for a, b in pairs])
    right = _scores([_only(b, a) for a, b in pairs])
    return Difference(
        shared=len(pairs),
        only_before=len(old) - len(pairs),
        only_after=len(new) - len(pairs),
        fields=tuple(
            FieldDifference(before=score, after=right[key])
            for key, score in left.items()
            if key in right
        ),
        changes=tuple(change for a, b in pairs for change in _changes(a, b)),
    )


def _both(a: CaseResult, b: CaseResult) -> list[str]:
    names = {field.field for field in b.fields}
    return [field.field for field in a.fields if field.field in names]


def _only(result: CaseResult, other: CaseResult) -> CaseResult:
    """Keep the fields that the other run has as well."""
    kept = set(_both(result, other))
    return replace(result, fields=tuple(f for f in result.fields if f.field in kept))


def _scores(results: Sequence[CaseResult]) -> dict[tuple[str, str], FieldScore]:
    return {(score.language, score.field): score for score in field_scores(results)}


def _changes(a: CaseResult, b: CaseResult) -> list[Change]:
    later = {field.field: field for field in b.fields}
    return [
        Change(
            case=a.id,
            language=a.language,
            field=field.field,
            expected=later[field.field].expected,
            before=field.got,
            after=later[field.field].got,
            kind=_kind(field, later[field.field]),
        )
        for field in a.fields
        if field.field in later
        and (field.got != later[field.field].got or field.is_right != later[field.field].is_right)
    ]


def _kind(before: FieldResult, after: FieldResult) -> str:
    if before.is_right != after.is_right:
        return "mended" if after.is_right else "broken"
    return "still right" if after.is_right else "still wrong"
