"""`alfred job delete`: delete postings or applications, as actions that are reviewed."""

from __future__ import annotations

import shlex
import sys

import click

from alfred.cli.session import json_option, run_with_app


@click.command("delete")
@click.argument("targets", metavar="POSTING|APPLICATION...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Delete without asking.")
@json_option
def command(targets: tuple[str, ...], *, yes: bool, as_json: bool) -> None:
    """Delete each POSTING with all that belongs to it, or an APPLICATION alone.

    Shows every row that goes and asks; "later" leaves it for `alfred review`. What happened, your
    messages and the documents you wrote stay, and so does the company.
    """
    from alfred.app import App
    from alfred.cli.confirmation import confirm
    from alfred.engine.command import Wanted
    from alfred.engine.database import Role
    from alfred.services.queries.posting_lookup import find_removals

    async def work(app: App) -> int:
        async with app.database.transaction(Role.READER, app.user_id) as connection:
            found = await find_removals(connection, targets)
        wanted = [Wanted(kind=each.kind, args={each.argument: str(each.id)}) for each in found]
        words = shlex.join(["alfred", "job", "delete", *targets])
        return await confirm(app, words, wanted, yes=yes, as_json=as_json)

    sys.exit(run_with_app(work))
