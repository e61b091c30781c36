"""`alfred job set-status`: move an application to another state, as an action that is reviewed."""

from __future__ import annotations

import shlex
import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from alfred.cli.session import console, json_option, print_json, run_with_app
from alfred.services.funnel import ENDS, STAGES

if TYPE_CHECKING:
    from alfred.services.application import Status


@click.command("set-status")
@click.argument("posting", metavar="POSTING")
@click.argument(
    "status", metavar="STATUS", type=click.Choice((*STAGES, *ENDS), case_sensitive=False)
)
@click.option("--on", type=click.DateTime(["%Y-%m-%d"]), help="The day on which you applied.")
@click.option("--yes", is_flag=True, help="Write it without asking.")
@json_option
def command(posting: str, status: Status, on: datetime | None, *, yes: bool, as_json: bool) -> None:
    """Set where you stand with a POSTING: saved, applied, interviewing, offer, rejected, withdrawn.

    Shows what would be written and asks; "later" leaves it for `alfred review`.
    """
    from alfred.app import App
    from alfred.cli.confirmation import confirm
    from alfred.engine.command import Wanted
    from alfred.engine.database import Role
    from alfred.services.application import require_change
    from alfred.services.queries.jobs import get_posting

    day = on.date().isoformat() if on else None
    typed = ["alfred", "job", "set-status", posting, status, *(["--on", day] if day else [])]

    async def work(app: App) -> int:
        async with app.database.transaction(Role.READER, app.user_id) as connection:
            found = await get_posting(connection, posting)
        application = found["application"]
        name = f"{found['company']}: {found['title']}"
        if application is not None:
            require_change(application["status"], status, name)
        if application is not None and application["status"] == status and not day:
            document = {"posting": found["id"], "status": status, "changed": False}
            if as_json:
                print_json(document)
            else:
                console().print(f"{name} is {status} already.", markup=False)
            return 0
        args = {
            "posting": str(found["id"]),
            "status": status,
            **({"applied_on": day} if day else {}),
        }
        wanted = [Wanted(kind="record_application", args=args)]
        return await confirm(app, shlex.join(typed), wanted, yes=yes, as_json=as_json)

    sys.exit(run_with_app(work))
