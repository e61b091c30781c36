"""`alfred eval diagnosis`: how well a diagnosis finds causes, and whether it ever invents one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from alfred.cli.session import console, json_option, print_json, run, say
from alfred.settings import Settings, read_settings

if TYPE_CHECKING:
    from alfred.evaluation.diagnosis_answers import ModelOf
    from alfred.evaluation.diagnosis_case import Cases
    from alfred.evaluation.diagnosis_perturbation import PlannedRun
    from alfred.evaluation.diagnosis_report import DiagnosisReport
    from alfred.evaluation.diagnosis_score import RunScore


LOCK_PATIENCE_S = 1.0


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the command was asked for."""

    folder: Path
    is_opensre: bool
    perturb: str
    limit: int | None
    is_recorded: bool
    fresh: bool


@click.command("diagnosis")
@click.option(
    "--cases",
    "cases",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A folder of recorded cases, as docs/evals.md describes them.",
)
@click.option(
    "--opensre",
    "opensre",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A folder of OpenSRE scenarios instead.",
)
@click.option("--model", metavar="MODEL", help="Ask this model instead of the one in use.")
@click.option(
    "--perturb",
    metavar="NAME",
    default="all",
    show_default=True,
    help="Also run under perturbations: all, none, swapped, deleted, failing or edited.",
)
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), help="Measure N of the cases, a fixed mix."
)
@click.option(
    "--answers",
    type=click.Choice(["model", "recorded"]),
    default="model",
    show_default=True,
    help="Ask the model, or replay the answers recorded beside each case.",
)
@click.option("--fresh", is_flag=True, help="Forget what the model answered in earlier runs.")
@click.option("--markdown", is_flag=True, help="Print the tables in Markdown.")
@json_option
def command(
    *,
    cases: Path | None,
    opensre: Path | None,
    model: str | None,
    perturb: str,
    limit: int | None,
    answers: str,
    fresh: bool,
    markdown: bool,
    as_json: bool,
) -> None:
    """Measure the diagnosis over recorded cases, as they are and under perturbations.

    Each answer of the model is kept: after an interruption the same command goes on where it
    ended, and a later one pays only for prompts that are new.
    """
    if (cases is None) == (opensre is None):
        raise click.UsageError("Give either --cases DIR or --opensre DIR.")
    if answers == "recorded" and (model or fresh or opensre):
        raise click.UsageError("--answers recorded asks no model: leave out the other options.")
    folder = cases or opensre
    assert folder is not None
    settings = read_settings()
    wanted = Wanted(
        folder=folder,
        is_opensre=opensre is not None,
        perturb=perturb,
        limit=limit,
        is_recorded=answers == "recorded",
        fresh=fresh,
    )
    report = _measure(replace(settings, model=model) if model else settings, wanted)
    if as_json:
        from alfred.evaluation.diagnosis_report import report_document

        print_json(report_document(report))
        return
    _print_tables(report, markdown=markdown)


def _measure(settings: Settings, wanted: Wanted) -> DiagnosisReport:
    from alfred.evaluation.diagnosis_perturbation import choose_diagnosis_cases, plan_runs

    read = _read(wanted)
    chosen = choose_diagnosis_cases(read.cases, limit=wanted.limit)
    planned = plan_runs(chosen, read.cases, wanted.perturb)
    # Only now: these load the graph library, and a mistake in a case is told sooner without.
    from alfred.evaluation.diagnosis_evaluate import evaluate_diagnosis, make_diagnosis_bench
    from alfred.evaluation.diagnosis_report import DiagnosisReport
    from alfred.installed import load_domains

    bench = make_diagnosis_bench(load_domains(), settings.model_timeout_s)

    async def work() -> DiagnosisReport:
        async with AsyncExitStack() as opened:
            model_of, name = _open(settings, wanted, opened)
            say(f"{len(chosen)} cases, {len(planned)} runs with {name}")
            scores = await evaluate_diagnosis(planned, model_of, bench, _teller(planned))
        return DiagnosisReport(
            model=name,
            source=str(wanted.folder),
            cases=len(chosen),
            scores=scores,
            left_out=read.left_out,
        )

    try:
        return run(work())
    except KeyboardInterrupt:
        say("Every answer of the model is kept; the same command goes on from here.")
        raise


def _read(wanted: Wanted) -> Cases:
    from alfred.evaluation.diagnosis_case import Cases, read_diagnosis_cases
    from alfred.evaluation.diagnosis_opensre import read_scenarios

    if not wanted.is_opensre:
        return Cases(cases=read_diagnosis_cases(wanted.folder))
    read = read_scenarios(wanted.folder)
    say(f"{len(read.cases)} scenarios read, {len(read.left_out)} things left out")
    return read


def _open(settings: Settings, wanted: Wanted, opened: AsyncExitStack) -> tuple[ModelOf, str]:
    """Open the model, or none where its answers were recorded."""
    from alfred.evaluation.diagnosis_answers import recorded_of, remembering
    from alfred.evaluation.run_file import RunFolder
    from alfred.models.provider import open_model
    from alfred.store.file_lock import file_lock

    if wanted.is_recorded:
        return recorded_of, "recorded answers"
    lock = RunFolder(settings.home).lock_path
    opened.enter_context(file_lock(lock, timeout_s=LOCK_PATIENCE_S, on_wait=lambda: None))
    model = remembering(settings.home, open_model(settings), fresh=wanted.fresh)
    opened.push_async_callback(model.aclose)
    return lambda _: model, model.name


def _teller(planned: list[PlannedRun]) -> Callable[[int, RunScore], None]:
    from alfred.evaluation.diagnosis_report import score_lines

    err = console(stderr=True)

    def tell(done: int, score: RunScore) -> None:
        first, *more = score_lines(score)
        for line in (f"[{done}/{len(planned)}] {first}", *more):
            err.print(line, markup=False, soft_wrap=True)

    return tell


def _print_tables(report: DiagnosisReport, *, markdown: bool) -> None:
    from alfred.evaluation.diagnosis_report import markdown_lines, report_lines

    out = console()
    for line in markdown_lines(report) if markdown else report_lines(report):
        out.print(line, markup=False, soft_wrap=True)
