"""Scores: what was right, per language and field, and what each language cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alfred.engine.evidence import Evidence
from alfred.evaluation.agreement import Agreement, agree

GROUNDED = ("grounded", "derived")


@dataclass(frozen=True, kw_only=True)
class FieldResult:
    """One field of one case; `got` None where it was not answered, `support` empty then."""

    field: str
    expected: Any
    got: Any
    agreement: Agreement
    support: str
    quote: str

    @property
    def is_right(self) -> bool:
        """Say whether the field is right after normalisation."""
        return self.agreement != "different"

    @property
    def is_wrong_but_grounded(self) -> bool:
        """Say whether the field says something wrong that stands in the source."""
        return not self.is_right and self.support in GROUNDED


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    """One case as a node read it. Units: `seconds` of the whole node, `model_seconds` of its calls.

    `valid` says whether every answer passed the node's schema, after its repairs.
    """

    id: str
    language: str
    fields: tuple[FieldResult, ...]
    valid: bool
    outcome: str
    notices: tuple[str, ...]
    calls: int
    prompt_tokens: int
    completion_tokens: int
    model_seconds: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class FieldScore:
    """Counts of one field in one language; `stated` are the cases in which it was answered."""

    language: str
    field: str
    cases: int
    exact: int
    right: int
    stated: int
    ungrounded: int
    wrong_grounded: int


@dataclass(frozen=True, kw_only=True)
class LanguageScore:
    """What the cases of one language came to and cost."""

    language: str
    cases: int
    valid: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    model_seconds: float
    seconds: float


def score_fields(
    expect: Mapping[str, Any], out: Mapping[str, Any], evidence: Mapping[str, Evidence]
) -> tuple[FieldResult, ...]:
    """Compare an answer's fields with a case's expectations.

    Shapes: one result for each expected field, in its order. A field with parts has the weakest
            support of its parts.
    """
    return tuple(_score_field(name, value, out, evidence) for name, value in expect.items())


def _score_field(
    name: str, expected: Any, out: Mapping[str, Any], evidence: Mapping[str, Evidence]
) -> FieldResult:
    parts = [
        leaf
        for pointer, leaf in evidence.items()
        if pointer == f"/{name}" or pointer.startswith(f"/{name}/")
    ]
    supports = {leaf["support"] for leaf in parts}
    return FieldResult(
        field=name,
        expected=expected,
        got=out.get(name),
        agreement=agree(expected, out.get(name)),
        support=_weakest(supports),
        quote=" … ".join(leaf["quote"] for leaf in parts if leaf["quote"])[:300],
    )


def _weakest(supports: Iterable[str]) -> str:
    found = set(supports)
    return "ungrounded" if "ungrounded" in found else next(iter(sorted(found, reverse=True)), "")


def field_scores(results: Sequence[CaseResult]) -> list[FieldScore]:
    """Count per language and field, in the order in which they first occur."""
    groups: dict[tuple[str, str], list[FieldResult]] = defaultdict(list)
    for result in results:
        for field in result.fields:
            groups[result.language, field.field].append(field)
    return [
        FieldScore(
            language=language,
            field=name,
            cases=len(found),
            exact=sum(field.agreement == "exact" for field in found),
            right=sum(field.is_right for field in found),
            stated=sum(field.got is not None for field in found),
            ungrounded=sum(field.support == "ungrounded" for field in found),
            wrong_grounded=sum(field.is_wrong_but_grounded for field in found),
        )
        for (language, name), found in groups.items()
    ]


def language_scores(results: Sequence[CaseResult]) -> list[LanguageScore]:
    """Count what each language cost, in the order in which they first occur."""
    groups: dict[str, list[CaseResult]] = defaultdict(list)
    for result in results:
        groups[result.language].append(result)
    return [
        LanguageScore(
            language=language,
            cases=len(found),
            valid=sum(result.valid for result in found),
            calls=sum(result.calls for result in found),
            prompt_tokens=sum(result.prompt_tokens for result in found),
            completion_tokens=sum(result.completion_tokens for result in found),
            model_seconds=sum(result.model_seconds for result in found),
            seconds=sum(result.seconds for result in found),
        )
        for language, found in groups.items()
    ]
