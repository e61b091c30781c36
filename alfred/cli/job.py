"""`alfred job`: the stored postings."""

from __future__ import annotations

from typing import Any

import click

from alfred.cli.session import console, json_option, print_json, run_with_app, short


@click.group("job")
def command() -> None:
    """List and show stored postings."""


@command.command("list")
@json_option
def list_jobs(*, as_json: bool) -> None:
    """List stored postings, the newest first."""
    from alfred.app import App
    from alfred.engine.database import Role
    from alfred.services.queries.jobs import list_postings

    async def work(app: App) -> None:
        async with app.database.transaction(Role.READER, app.user_id) as connection:
            postings = await list_postings(connection)
        if as_json:
            print_json({"postings": postings})
            return
        out = console()
        if not postings:
            out.print("No posting is stored yet: capture one and approve it.")
        for row in postings:
            facts = [
                row["location"],
                f"{row['requirements']} requirements",
                f"until {row['deadline']}" if row["deadline"] else None,
                row["status"],
            ]
            told = ", ".join(fact for fact in facts if fact)
            line = f"{short(row['id'])}  {row['company']}: {row['title']}  ({told})"
            out.print(line, markup=False, soft_wrap=True)

    run_with_app(work)


@command.command("show")
@click.argument("posting", metavar="POSTING")
@json_option
def show_job(posting: str, *, as_json: bool) -> None:
    """Show a POSTING, named by the beginning of its id: requirements, reminders, where from."""
    from alfred.app import App
    from alfred.engine.database import Role
    from alfred.services.queries.jobs import get_posting

    async def work(app: App) -> None:
        async with app.database.transaction(Role.READER, app.user_id) as connection:
            found = await get_posting(connection, posting)
        if as_json:
            print_json(found)
            return
        out = console()
        for line in posting_lines(found):
            out.print(line, markup=False, soft_wrap=True)

    run_with_app(work)


def posting_lines(found: dict[str, Any]) -> list[str]:
    """Write a posting with all that belongs to it, a fact a line."""
    named = ("location", "place", "deadline", "url", "website")
    lines = [f"{found['company']}: {found['title']}"]
    lines += [f"  {name}: {found[name]}" for name in named if found[name]]
    if application := found["application"]:
        lines.append(f"  application: {application['status']}, {application['applied_on'] or ''}")
    lines += [
        f"  {'must' if row['importance'] == 'must' else 'nice'}  {row['kind']}: {row['text']}"
        for row in found["requirements"]
    ]
    lines += [f"  interview {row['round']}: {row['starts_at']}" for row in found["interviews"]]
    lines += [f"  reminder on {row['due_on']}: {row['about']}" for row in found["reminders"]]
    for origin in found["provenance"]:
        told = f"  from: {origin['source'] or 'words'} on {origin['received_at']:%Y-%m-%d %H:%M}"
        lines.append(f"{told}, proposal {short(origin['proposal_id'])}")
    return lines
