"""`alfred job about`: everything known about a company, by time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from alfred.cli.job_documents import document_line
from alfred.cli.job_due import due_line
from alfred.cli.moment import local_time
from alfred.cli.session import console, json_option, print_json, run_with_app, short

if TYPE_CHECKING:
    from alfred.services.queries.history import CompanyHistory


@click.command("about")
@click.argument("company", metavar="COMPANY")
@json_option
def command(company: str, *, as_json: bool) -> None:
    """Tell everything that is known about a COMPANY, by time.

    COMPANY is its name in any spelling, or words of it.
    """
    from alfred.app import App
    from alfred.engine.database import Role
    from alfred.services.queries.history import tell_company
    from alfred.services.queries.posting_lookup import find_company

    async def work(app: App) -> None:
        async with app.database.transaction(Role.READER, app.user_id) as connection:
            found = await find_company(connection, company)
            told = await tell_company(connection, found, now=app.now())
        if as_json:
            print_json(told)
            return
        out = console()
        for line in company_lines(told, app.now().tzinfo):
            out.print(line, markup=False, soft_wrap=True)

    run_with_app(work)


def company_lines(told: CompanyHistory, zone: tzinfo | None) -> Iterator[str]:
    """Yield the company, what there is now, what happened, what comes."""
    company = told["company"]
    yield f"{company['name']}  {company['website'] or ''}".rstrip()
    for row in told["postings"]:
        facts = (row["location"], f"until {row['deadline']}" if row["deadline"] else None)
        beside = ", ".join(fact for fact in (*facts, row["status"]) if fact)
        yield f"  posting {short(row['id'])}: {row['title']}" + (f"  ({beside})" if beside else "")
    for row in told["experience"]:
        parts = (row["role"], row["period"], row["summary"])
        yield f"  you told: {' | '.join(part for part in parts if part)}"
    for row in told["documents"]:
        yield f"  document: {document_line(row, zone)}"
    if told["history"]:
        yield "What happened:"
        yield from _history_lines(told["history"], zone)
    if told["upcoming"]:
        yield "What is due:"
        for each in told["upcoming"]:
            yield f"  {due_line(each)}"


def _history_lines(history: Sequence[dict[str, Any]], zone: tzinfo | None) -> Iterator[str]:
    """Write what happened, what was told in one breath of one subject in one line."""

    def told_together(event: dict[str, Any]) -> tuple[Any, ...]:
        return event["at"], event["kind"], event["subject"]

    for (at, kind, subject), group in groupby(history, key=told_together):
        events = list(group)
        body = events[0]["body"]
        values = [f"{name} {value}" for name, value in body.items() if not isinstance(value, dict)]
        told = f"{len(events)} times" if len(events) > 1 else ", ".join(values)
        name = subject.partition(":")[2].partition("/")[2]
        what = kind.replace(".", " ").replace("_", " ")
        source = f"  [{events[0]['source']}]" if events[0]["source"] else ""
        yield f"  {local_time(at, zone)}  {what} {name}" + (f": {told}" if told else "") + source
