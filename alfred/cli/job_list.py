"""`alfred job list`: the stored postings, all or those that ask for something."""

from __future__ import annotations

from typing import Any

import click

from alfred.cli.session import console, json_option, print_json, run_with_app, short


@click.command("list")
@click.option("--needs", multiple=True, metavar="SKILL", help="Only postings that ask for SKILL.")
@json_option
def command(needs: tuple[str, ...], *, as_json: bool) -> None:
    """List stored postings, the newest first.

    SKILL is a skill under any of its names, Chinese or English, or words of a requirement. With
    several, a posting has to ask for all of them.
    """
    from alfred.app import App
    from alfred.engine.database import Role
    from alfred.services.queries.jobs import list_postings
    from alfred.services.queries.matching import find_needs

    if blank := [words for words in needs if not words.strip()]:
        raise click.BadParameter(f"{blank[0]!r} names no skill.", param_hint="--needs")

    async def work(app: App) -> None:
        async with app.database.transaction(Role.READER, app.user_id) as connection:
            postings = await list_postings(connection, limit=None if needs else 100)
            asked = [await find_needs(connection, words) for words in needs]
        numbered: list[dict[str, Any]] = []
        for number, row in enumerate(postings, start=1):
            if all(row["id"] in found for found in asked):
                wanted = [each for found in asked for each in found[row["id"]]]
                numbered.append({"number": number, **row, **({"needs": wanted} if needs else {})})
        if as_json:
            print_json({"postings": numbered})
            return
        out = console()
        if not numbered:
            out.print(nothing_listed(needs, stored=bool(postings)), markup=False)
        for row in numbered:
            for line in posting_lines(row):
                out.print(line, markup=False, soft_wrap=True)

    run_with_app(work)


def nothing_listed(needs: tuple[str, ...], *, stored: bool) -> str:
    """Say why the list is empty."""
    if not stored:
        return "No posting is stored yet: capture one and approve it."
    return f"No stored posting asks for {' and '.join(needs)}."


def posting_lines(row: dict[str, Any]) -> list[str]:
    """Write a posting in one line, and below it the requirements that were asked for."""
    facts = [
        row["location"],
        f"{row['requirements']} requirements",
        f"until {row['deadline']}" if row["deadline"] else None,
        row["status"],
    ]
    told = ", ".join(fact for fact in facts if fact)
    line = f"{row['number']:>3}  {short(row['id'])}  {row['company']}: {row['title']}  ({told})"
    needs = (f"       {each['importance']}  “{each['text']}”" for each in row.get("needs", ()))
    return [line, *needs]
