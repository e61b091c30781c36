"""`alfred job funnel`: how applications convert stage by stage, from what happened."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

import click

from alfred.cli.moment import Days
from alfred.cli.session import console, json_option, print_json, run_with_app
from alfred.services.funnel import ENDS, STAGES, Funnel


@click.command("funnel")
@click.option("--within", type=Days(), help="Only applications that began within this time.")
@json_option
def command(within: timedelta | None, *, as_json: bool) -> None:
    """Count how far applications got, in all and by the month in which they began.

    A stage counts as reached if it or a later one was. Deleted applications don't count.
    """
    from alfred.app import App
    from alfred.engine.database import Role
    from alfred.services.funnel import count_funnel
    from alfred.services.queries.history import list_changes

    async def work(app: App) -> None:
        now = app.now()
        since: date | None = now.date() - within if within is not None else None
        async with app.database.transaction(Role.READER, app.user_id) as connection:
            changes = await list_changes(connection)
        assert now.tzinfo is not None
        funnel = count_funnel(changes, now.tzinfo, since=since)
        if as_json:
            print_json({"since": since, **funnel})
            return
        out = console()
        for line in funnel_lines(funnel):
            out.print(line, markup=False, soft_wrap=True)

    run_with_app(work)


def funnel_lines(funnel: Funnel) -> Iterator[str]:
    """Yield a line for each stage, then for each end, then for each month."""
    if not funnel["applications"]:
        yield "No application is recorded in that time."
        return
    for stage in funnel["stages"]:
        line = f"{stage['stage']:<13}{stage['reached']:>4}  {_percent(stage['share'])} of all"
        if stage["of_previous"] is not None:
            line += f", {_percent(stage['of_previous'])} of the stage before"
        if stage["median_days"] is not None:
            line += f", after {stage['median_days']:g} days (median)"
        yield line
    for end, reached in funnel["ended"].items():
        told = ", ".join(f"{count} {stage}" for stage, count in reached.items() if count)
        if told:
            yield f"{end:<13}{sum(reached.values()):>4}  having reached: {told}"
    yield "by the month in which they began:"
    for month in funnel["months"]:
        counts = [f"{month['reached'][stage]} {stage}" for stage in STAGES]
        counts += [f"{month['ended'][end]} {end}" for end in ENDS if month["ended"][end]]
        yield f"  {month['month']}  {', '.join(counts)}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"
