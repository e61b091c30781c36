"""`alfred job show`: one posting with everything that belongs to it."""

from __future__ import annotations

from datetime import tzinfo
from typing import Any

import click

from alfred.cli.moment import local_time
from alfred.cli.session import console, json_option, print_json, run_with_app, short


@click.command("show")
@click.argument("posting", metavar="POSTING")
@json_option
def command(posting: str, *, as_json: bool) -> None:
    """Show a POSTING: requirements, application, interviews, reminders, and where it came from."""
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
        for line in posting_lines(found, app.now().tzinfo):
            out.print(line, markup=False, soft_wrap=True)

    run_with_app(work)


def posting_lines(found: dict[str, Any], zone: tzinfo | None) -> list[str]:
    """Write a posting with all that belongs to it, a fact a line."""
    named = ("location", "place", "deadline", "url", "website")
    lines = [f"{found['company']}: {found['title']}"]
    lines += [f"  {name}: {found[name]}" for name in named if found[name]]
    if application := found["application"]:
        since = f" on {application['applied_on']}" if application["applied_on"] else ""
        via = f" via {application['channel']}" if application["channel"] else ""
        told = f"{application['status']}{since}{via}"
        lines.append(f"  application {short(application['id'])}: {told}")
    lines += [
        f"  {'must' if row['importance'] == 'must' else 'nice'}  {row['kind']}: {row['text']}"
        for row in found["requirements"]
    ]
    lines += [
        f"  interview {row['round']}: {local_time(row['starts_at'], zone)}"
        for row in found["interviews"]
    ]
    lines += [f"  reminder on {row['due_on']}: {row['about']}" for row in found["reminders"]]
    for origin in found["provenance"]:
        told = f"  from: {origin['source'] or 'words'} on {local_time(origin['received_at'], zone)}"
        proposal = origin["proposal_id"]
        lines.append(f"{told}, proposal {short(proposal)}" if proposal else told)
    return lines
