"""`alfred job due`: reminders, deadlines and interviews, what is overdue first."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import click
from rich.text import Text

from alfred.cli.moment import Days
from alfred.cli.session import console, json_option, print_json, run_with_app, short

if TYPE_CHECKING:
    from alfred.services.queries.due import Due


@click.command("due")
@click.option(
    "--within", type=Days(), default="14d", show_default=True, help="How far to look ahead."
)
@json_option
def command(within: timedelta, *, as_json: bool) -> None:
    """List what is overdue and what falls due: reminders, deadlines, interviews.

    Deadlines of postings to which something was sent are left out, and interviews of applications
    that have ended.
    """
    from alfred.app import App
    from alfred.engine.database import Role
    from alfred.services.queries.due import list_due

    async def work(app: App) -> None:
        now = app.now()
        async with app.database.transaction(Role.READER, app.user_id) as connection:
            due = await list_due(connection, now=now, days=within.days)
        if as_json:
            until = now.date() + within
            print_json({"today": now.date(), "until": until, "due": due})
            return
        out = console()
        if not due:
            out.print(f"Nothing is due within {within.days} days.")
        for each in due:
            style = "bold red" if each["overdue"] else ""
            out.print(Text(due_line(each), style=style), soft_wrap=True)

    run_with_app(work)


def due_line(each: Due) -> str:
    """Write one of them in a line: when, what, for which posting."""
    at = f" {each['at']:%H:%M}" if each["at"] else ""
    line = f"{each['on']}{at}  {_from_today(each['days'])}  {each['kind']}: {each['about']}"
    if each["posting_id"] is None:
        return line
    return f"{line}  {each['company']}: {each['title']} ({short(each['posting_id'])})"


def _from_today(days: int) -> str:
    if days < 0:
        return f"overdue by {-days} {'day' if days == -1 else 'days'}"
    return {0: "today", 1: "tomorrow"}.get(days, f"in {days} days")
