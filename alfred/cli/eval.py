"""`alfred eval`: how well a node reads, measured over cases; stored runs and their differences."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from alfred import __version__
from alfred.cli import eval_diagnosis
from alfred.cli.session import console, json_option, print_json, run, run_with_app, say
from alfred.settings import read_settings

if TYPE_CHECKING:
    from alfred.engine.context import Told
    from alfred.evaluation.run_file import Run
    from alfred.evaluation.score import CaseResult


class NodeGroup(click.Group):
    """A group whose command `run` may be left out before a node's name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            return super().resolve_command(ctx, ["run", *args])
        return super().resolve_command(ctx, args)


@click.group("eval", cls=NodeGroup)
def command() -> None:
    """Measure how well a node reads, over cases with known answers.

    `alfred eval NODE --cases FILE` is short for `alfred eval run NODE --cases FILE`.
    """


command.add_command(eval_diagnosis.command)


@command.command("run")
@click.argument("node", metavar="NODE")
@click.option(
    "--cases",
    "file",
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path),
    help="JSON Lines, as docs/evals.md describes them.",
)
@click.option("--model", metavar="MODEL", help="Ask this model instead of the one in use.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), help="Measure N of the cases, a fixed mix."
)
@click.option("--only", metavar="LANG", help="Measure the cases of one language.")
@click.option("--fresh", is_flag=True, help="Begin anew where a run was interrupted.")
@json_option
def run_cases(
    *,
    node: str,
    file: Path,
    model: str | None,
    limit: int | None,
    only: str | None,
    fresh: bool,
    as_json: bool,
) -> None:
    """Measure a NODE over the cases of a file, without writing to the database.

    Each finished case is kept: after an interruption the same command goes on where it ended.
    """
    from alfred.app import utc_now
    from alfred.evaluation.case_file import read_cases
    from alfred.evaluation.evaluate import Listener, Plan, choose_cases, evaluate
    from alfred.evaluation.report import report_lines, run_document
    from alfred.evaluation.run_file import RunFolder
    from alfred.installed import load_domains
    from alfred.models.provider import open_model

    settings = read_settings()
    settings = replace(settings, model=model) if model else settings
    domains = load_domains()
    cases = choose_cases(read_cases(file), node, language=only, limit=limit)
    plan = Plan(
        node=node,
        cases=cases,
        source=str(file),
        version=__version__,
        model_timeout_s=settings.model_timeout_s,
        fresh=fresh,
    )
    listener = Listener(
        clock=utc_now, began=_tell_begin, measured=_tell_result, progress=_no_fields
    )
    opened = open_model(settings)
    folder = RunFolder(settings.home)

    async def work() -> Run:
        try:
            return await evaluate(plan, domains, opened, folder, listener)
        finally:
            await opened.aclose()

    try:
        done = run(work())
    except KeyboardInterrupt:
        say("Every finished case is kept; the same command goes on from here.")
        raise
    if as_json:
        print_json(run_document(done))
        return
    out = console()
    for line in report_lines(done):
        out.print(line, markup=False, soft_wrap=True)


@command.command("runs")
@json_option
def list_runs(*, as_json: bool) -> None:
    """List the stored runs, the newest first."""
    from alfred.evaluation.report import run_summary, summary_line
    from alfred.evaluation.run_file import RunFolder

    folder = RunFolder(read_settings().home)
    summaries = [run_summary(folder.load(name)) for name in folder.names()]
    if as_json:
        print_json({"runs": summaries})
        return
    out = console()
    if not summaries:
        out.print("No run is stored yet: alfred eval NODE --cases FILE.")
    for summary in summaries:
        out.print(summary_line(summary), markup=False, soft_wrap=True)


@command.command("compare")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@json_option
def compare_runs(before: str, after: str, *, as_json: bool) -> None:
    """Show what changed from run A to run B, field by field and case by case.

    A and B are names of `alfred eval runs`, or the beginning of one.
    """
    from alfred.evaluation.difference import compare
    from alfred.evaluation.report import difference_lines
    from alfred.evaluation.run_file import RunFolder

    folder = RunFolder(read_settings().home)
    first, second = folder.load(before), folder.load(after)
    found = compare(first.results, second.results)
    if as_json:
        print_json({"before": first.name, "after": second.name, **asdict(found)})
        return
    out = console()
    for line in difference_lines(first, second, found):
        out.print(line, markup=False, soft_wrap=True)


@command.command("cases")
@click.option(
    "--from-decisions",
    is_flag=True,
    required=True,
    help="Make them of your own edits and rejections.",
)
@click.option(
    "--to",
    "target",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write them to a new file instead of standard output.",
)
def export_cases(*, from_decisions: bool, target: Path | None) -> None:
    """Export what you edited or rejected as cases that a node can be measured with."""
    from alfred.app import App
    from alfred.engine.database import Role
    from alfred.evaluation.decision_cases import Export, export_decisions

    async def work(app: App) -> Export:
        async with app.database.transaction(Role.READER, app.user_id) as connection:
            return await export_decisions(connection)

    assert from_decisions
    if target is not None and target.exists():
        raise click.UsageError(f"{target} exists; name a new file.")
    found = run_with_app(work)
    text = "".join(f"{json.dumps(case, ensure_ascii=False)}\n" for case in found.cases)
    if target is None:
        click.echo(text, nl=False)
    else:
        _write_private(target, text)
    say(
        f"{len(found.cases)} cases from {found.edits} edited and {found.rejections} rejected"
        f" actions; left out: {found.erased} whose words were erased, {found.untold} that change"
        " nothing a node answers in words."
    )


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read: it holds what the person captured."""
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(text, encoding="utf-8")


def _no_fields(_: Told) -> None:
    """Show no single field: the score of the whole case follows at once."""


def _tell_begin(begun: Run) -> None:
    kept = f", {len(begun.results)} of them measured before" if begun.results else ""
    say(f"{begun.name}: {begun.planned} cases with {begun.subject.model}{kept}")


def _tell_result(under_way: Run, result: CaseResult) -> None:
    from alfred.evaluation.report import miss_lines

    err = console(stderr=True)
    place = f"[{len(under_way.results)}/{under_way.planned}]"
    told = f"{place} {result.id}  {result.language}  {result.calls} calls  {result.seconds:.1f} s"
    for line in (told, *miss_lines(result)):
        err.print(line, markup=False, soft_wrap=True)
