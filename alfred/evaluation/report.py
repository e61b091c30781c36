"""Runs as people and programs read them: tables of scores, misses, what changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from alfred.evaluation.difference import Difference
from alfred.evaluation.run_file import Run
from alfred.evaluation.score import CaseResult, field_scores, language_scores

_COLUMNS = (
    f"{'':4} {'field':14} {'cases':>5} {'exact':>7} {'right':>7} {'ungrounded':>10} {'wrong':>7}"
)


def run_document(run: Run) -> dict[str, Any]:
    """Write a run with its scores and its misses as one JSON document."""
    return {
        **run_summary(run),
        "fields": [asdict(score) for score in field_scores(run.results)],
        "languages": [asdict(score) for score in language_scores(run.results)],
        "misses": [
            {"case": result.id, "lang": result.language, **asdict(field)}
            for result in run.results
            for field in result.fields
            if not field.is_right
        ],
    }


def run_summary(run: Run) -> dict[str, Any]:
    """Write what identifies a run and how far it got."""
    scored = [field for result in run.results for field in result.fields]
    return {
        "name": run.name,
        **asdict(run.subject),
        "source": run.source,
        "planned": run.planned,
        "measured": len(run.results),
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "version": run.version,
        "right": sum(field.is_right for field in scored),
        "wrong_grounded": sum(field.is_wrong_but_grounded for field in scored),
        "scored": len(scored),
    }


def summary_line(summary: dict[str, Any]) -> str:
    """Write a run's summary as one line."""
    until = "" if summary["finished_at"] else "  (interrupted)"
    return (
        f"{summary['name']}  {summary['model']}  {summary['measured']}/{summary['planned']} cases"
        f"  right {_share(summary['right'], summary['scored'])}"
        f"  wrong but grounded {_share(summary['wrong_grounded'], summary['scored'])}{until}"
    )


def report_lines(run: Run) -> Iterator[str]:
    """Write a run's tables: accuracy per language and field, then what each language cost."""
    yield _COLUMNS
    for score in field_scores(run.results):
        yield (
            f"{score.language:4} {score.field:14} {score.cases:>5}"
            f" {_share(score.exact, score.cases):>7} {_share(score.right, score.cases):>7}"
            f" {_share(score.ungrounded, score.stated):>10}"
            f" {_share(score.wrong_grounded, score.cases):>7}"
        )
    yield "right: after normalisation; ungrounded: of the values given; wrong: but grounded"
    yield ""
    for cost in language_scores(run.results):
        yield (
            f"{cost.language:4} {cost.cases} cases, schema-valid {_share(cost.valid, cost.cases)},"
            f" {cost.calls / cost.cases:.2f} calls, {cost.seconds / cost.cases:.1f} s,"
            f" {cost.prompt_tokens / cost.cases:,.0f} tokens read and"
            f" {cost.completion_tokens / cost.cases:,.0f} written a case"
        )
    yield ""
    yield summary_line(run_summary(run))


def miss_lines(result: CaseResult) -> Iterator[str]:
    """Write each field that is not right with what was expected, what came, and its support."""
    for field in result.fields:
        if not field.is_right:
            yield f"    {field.field}: expected {_shown(field.expected)},{_answer(field)}"
    if not result.valid:
        yield "    the answer breaks the schema"


def _answer(field: Any) -> str:
    support = f" ({field.support})" if field.support else ""
    return f" got {_shown(field.got)}{support}"


def difference_lines(before: Run, after: Run, found: Difference) -> Iterator[str]:
    """Write what changed between two runs."""
    yield f"A {summary_line(run_summary(before))}"
    yield f"B {summary_line(run_summary(after))}"
    if found.only_before or found.only_after:
        yield (
            f"{found.shared} cases are in both; {found.only_before} only in A,"
            f" {found.only_after} only in B"
        )
    for field in found.fields:
        a, b = field.before, field.after
        yield (
            f"{a.language:4} {a.field:14} right {_share(a.right, a.cases)} →"
            f" {_share(b.right, b.cases)}, wrong but grounded"
            f" {_share(a.wrong_grounded, a.cases)} → {_share(b.wrong_grounded, b.cases)}"
        )
    for change in found.changes:
        yield (
            f"{change.kind}: {change.case} {change.field}: {_shown(change.before)} →"
            f" {_shown(change.after)}, expected {_shown(change.expected)}"
        )
    if not found.changes:
        yield "no case is answered differently"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def _shown(value: Any) -> str:
    return "nothing" if value is None else repr(value)
