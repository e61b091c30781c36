"""`alfred job documents`: which version of a document was written for which company."""

from __future__ import annotations

from datetime import tzinfo
from typing import Any

import click

from alfred.cli.moment import local_time
from alfred.cli.session import console, json_option, print_json, run_with_app, short

SENT = ("applied", "interviewing", "offer", "rejected")


@click.command("documents")
@click.argument("company", metavar="[COMPANY]", required=False)
@json_option
def command(company: str | None, *, as_json: bool) -> None:
    """List documents' versions with the posting each was written for, and its application."""
    from alfred.app import App
    from alfred.engine.database import Role
    from alfred.services.queries.history import list_documents
    from alfred.services.queries.posting_lookup import find_company

    async def work(app: App) -> None:
        async with app.database.transaction(Role.READER, app.user_id) as connection:
            wanted = await find_company(connection, company) if company is not None else None
            documents = await list_documents(connection, wanted)
        if as_json:
            print_json({"documents": documents})
            return
        out = console()
        if not documents:
            whose = f"was written for {wanted['name']}" if wanted else "is stored yet"
            out.print(f"No document {whose}.", markup=False)
        for row in documents:
            out.print(document_line(row, app.now().tzinfo), markup=False, soft_wrap=True)

    run_with_app(work)


def document_line(row: dict[str, Any], zone: tzinfo | None) -> str:
    """Write a version in one line: what it is, when it was written, for whom, whether sent."""
    written = local_time(row["created_at"], zone)
    line = f"{row['title']} ({row['kind']}), version {row['version']}, {written}"
    if row["posting_id"] is None:
        return f"{line}, for no posting"
    line += f", for {row['company']}: {row['posting']} ({short(row['posting_id'])})"
    status = row["status"]
    if status not in SENT:
        return f"{line}, {status or 'not applied for'}"
    on = f" on {row['applied_on']}" if row["applied_on"] else ""
    now = "" if status == "applied" else f", now {status}"
    return f"{line}, applied{on}{now}"
