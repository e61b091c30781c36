"""Runs of a diagnosis as people and programs read them: lines, Markdown tables, one document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from alfred.evaluation.diagnosis_figures import (
    COLUMNS,
    CheckFigures,
    GroupFigures,
    check_figures,
    condition_figures,
    confusion,
    perturbation_figures,
)
from alfred.evaluation.diagnosis_score import RunScore

Row = Sequence[str]


@dataclass(frozen=True, kw_only=True)
class DiagnosisReport:
    """What was measured with which model; `left_out` are sentences about cases not read."""

    model: str
    source: str
    cases: int
    scores: Sequence[RunScore]
    left_out: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of figures; the first column names the rows."""

    title: str
    head: Row
    rows: Sequence[Row]


def report_document(report: DiagnosisReport) -> dict[str, Any]:
    """Write everything as one JSON document."""
    scores = report.scores
    return {
        "model": report.model,
        "source": report.source,
        "cases": report.cases,
        "left_out": list(report.left_out),
        "conditions": [asdict(each) for each in condition_figures(scores)],
        "confusion": {name: dict(counts) for name, counts in confusion(scores).items()},
        "perturbations": [asdict(each) for each in perturbation_figures(scores)],
        "checks": [asdict(each) for each in check_figures(scores)],
        "runs": [asdict(score) for score in scores],
    }


def tables_of(report: DiagnosisReport) -> list[Table]:
    """Make the tables: conditions, what answers came to, perturbations, what they led to."""
    scores = report.scores
    tables = [
        Table(
            title=f"{report.cases} cases with {report.model}, as they are",
            head=_HEAD,
            rows=[_row(each) for each in condition_figures(scores)],
        ),
        Table(
            title="What the answers came to",
            head=("truth", *COLUMNS),
            rows=[
                (name, *(str(counts[column]) for column in COLUMNS))
                for name, counts in confusion(scores).items()
            ],
        ),
        Table(
            title="Under perturbations",
            head=_HEAD,
            rows=[_row(each) for each in perturbation_figures(scores)],
        ),
        Table(
            title="What the perturbations led to",
            head=("perturbation", "expected", "met", "not met by"),
            rows=[_check_row(each) for each in check_figures(scores)],
        ),
    ]
    return [table for table in tables if table.rows]


def markdown_lines(report: DiagnosisReport) -> Iterator[str]:
    """Write the tables in Markdown, ready for a document."""
    for table in tables_of(report):
        yield f"**{table.title}**"
        yield ""
        yield _markdown_row(table.head)
        yield _markdown_row(["---"] * len(table.head))
        yield from (_markdown_row(row) for row in table.rows)
        yield ""
    yield from _notes(report)


def report_lines(report: DiagnosisReport) -> Iterator[str]:
    """Write the tables in columns, then each statement that its citations do not carry."""
    for table in tables_of(report):
        widths = [max(map(len, column)) for column in zip(table.head, *table.rows, strict=True)]
        yield table.title
        for row in (table.head, *table.rows):
            yield "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
        yield ""
    yield from _notes(report)


def score_lines(score: RunScore) -> Iterator[str]:
    """Tell one run: what it found, how it ended, and what is wrong with it."""
    right = {None: "", True: "  right", False: "  wrong"}[score.is_right]
    yield (
        f"{score.case}/{score.perturbation}  {score.finding}  {score.verdict or '–'}"
        f"  {score.reason}{right}  {score.cost.model_calls} model calls, {score.cost.seconds:.1f} s"
    )
    yield f"    {score.headline}"
    yield from (f"    unsupported: {said}" for said in score.unsupported)
    yield from (f"    not met: {check.name}" for check in score.checks if not check.passed)


def _notes(report: DiagnosisReport) -> Iterator[str]:
    for score in report.scores:
        for said in score.unsupported:
            yield f"{score.case}/{score.perturbation}: unsupported: {said}"
    yield from report.left_out


_HEAD = (
    "",
    "runs",
    "answered by the composer",
    "right",
    "unsupported of what is said",
    "valid citations",
    "object found",
    "cause found",
    "unproved of hypotheses",
    "tool calls",
    "model calls",
    "tokens read / written",
    "seconds",
)


def _row(figures: GroupFigures) -> Row:
    return (
        figures.name,
        str(figures.runs),
        str(figures.composed),
        str(figures.right),
        str(figures.unsupported),
        str(figures.valid_citations),
        str(figures.has_object),
        str(figures.has_cause),
        str(figures.open_unproved),
        f"{figures.tool_calls:.1f}",
        f"{figures.model_calls:.1f}",
        f"{figures.prompt_tokens:,.0f} / {figures.completion_tokens:,.0f}",
        f"{figures.seconds:.0f}",
    )


def _check_row(figures: CheckFigures) -> Row:
    missed = ", ".join(figures.not_met) or "–"
    return figures.perturbation, figures.check, str(figures.passed), missed


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
