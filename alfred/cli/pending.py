"""`alfred pending`: what waits for a decision, and what was cut off."""

from __future__ import annotations

import click

from alfred.cli.session import console, json_option, print_json, run_with_app, short


@click.command("pending")
@click.option("--check", is_flag=True, help="Say which proposals a changed node could not resume.")
@json_option
def command(*, check: bool, as_json: bool) -> None:
    """List the proposals that wait for you, the newest first, and turns that were cut off."""
    from alfred.app import App
    from alfred.engine.database import Role
    from alfred.services.queries.inbox import find_drift, list_open_proposals, list_unfinished_turns

    async def work(app: App) -> None:
        await app.approvals.expire_due(app.user_id)
        async with app.database.transaction(Role.READER, app.user_id) as connection:
            proposals = await list_open_proposals(connection)
            turns = await list_unfinished_turns(connection)
        drift = {}
        if check:
            digests = {m.name: m.digest for m in app.registry.manifests.values()}
            drift = {str(p["id"]): find_drift(p["manifests"], digests) for p in proposals}
        if as_json:
            print_json({"proposals": proposals, "unfinished_turns": turns, "drift": drift})
            return
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
            for line in drift.get(str(row["id"]), []):
                out.print(f"          {line}", style="yellow", markup=False)
        for row in turns:
            problem = row["problem"] or "runs now, or continues with the next capture"
            again = f"  (alfred capture --again {short(row['id'])})" if row["problem"] else ""
            out.print(f"turn {short(row['id'])}  {row['state']}: {problem}{again}", markup=False)

    run_with_app(work)
