"""`alfred pending`: what waits for a decision, and what was cut off."""

from __future__ import annotations

import sys

import click

from alfred.cli.session import console, json_option, print_json, run_with_app, short


@click.command("pending")
@click.option("--check", is_flag=True, help="Say which proposals an upgrade has changed or broken.")
@json_option
def command(*, check: bool, as_json: bool) -> None:
    """List the proposals that wait for you, the newest first, and turns that were cut off.

    With --check the exit code is 1 if something that waits can't be carried out any more.
    """
    from alfred.app import App
    from alfred.cli.drift import find_drifts
    from alfred.engine.database import Role
    from alfred.services.queries.inbox import list_open_proposals, list_unfinished_turns

    async def work(app: App) -> int:
        await app.approvals.expire_due(app.user_id)
        async with app.database.transaction(Role.READER, app.user_id) as connection:
            proposals = await list_open_proposals(connection)
            turns = await list_unfinished_turns(connection)
        drifts = await find_drifts(app, proposals) if check else {}
        broken = [proposal for proposal, drift in drifts.items() if drift.breaks]
        if as_json:
            drift = {str(proposal): each.lines for proposal, each in drifts.items()}
            waiting = {"proposals": proposals, "unfinished_turns": turns}
            print_json({**waiting, "drift": drift, "broken": broken})
            return 1 if broken else 0
        out = console()
        if not proposals and not turns:
            out.print("Nothing waits for you.")
        for row in proposals:
            opened = f"{row['created_at']:%Y-%m-%d %H:%M}"
            out.print(
                f"{short(row['id'])}  {row['state']:<9} {row['pending']} of {row['actions']}"
                f" actions open  {opened}  {row['summary']}",
                markup=False,
            )
            for line in drifts[row["id"]].lines if check else ():
                out.print(f"          {line}", style="yellow", markup=False)
        for row in turns:
            problem = row["problem"] or "runs now, or continues with the next capture"
            again = f"  (alfred capture --again {short(row['id'])})" if row["problem"] else ""
            out.print(f"turn {short(row['id'])}  {row['state']}: {problem}{again}", markup=False)
        return 1 if broken else 0

    sys.exit(run_with_app(work))
