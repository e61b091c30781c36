"""`alfred job match`: what of a posting's requirements you have on record, quoted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
from rich.text import Text

from alfred.cli.session import console, json_option, print_json, run_with_app, short

if TYPE_CHECKING:
    from alfred.services.matching import Compared, Matched, Verdict

MARKS: dict[Verdict, str] = {
    "on_record": "[x]",
    "partly_on_record": "[~]",
    "nothing_on_record": "[ ]",
}
HEADINGS = {"must": "Must have", "nice": "Nice to have"}


@click.command("match")
@click.argument("posting", metavar="POSTING")
@json_option
def command(posting: str, *, as_json: bool) -> None:
    """Say what of a POSTING's requirements you have on record, and what not.

    Skills are compared under all their names, Chinese and English, other requirements by their
    own words, always as whole names. Each is quoted from what you told, or said to be missing.
    Years and levels are not compared.
    """
    from alfred.app import App
    from alfred.engine.database import Role
    from alfred.services.queries.jobs import get_posting
    from alfred.services.queries.matching import match_posting

    async def work(app: App) -> None:
        async with app.database.transaction(Role.READER, app.user_id) as connection:
            found = await get_posting(connection, posting)
            match = await match_posting(connection, found["id"])
        if as_json:
            named = {name: found[name] for name in ("id", "company", "title", "location", "url")}
            print_json({"posting": named, "counts": counts(match["requirements"]), **match})
            return
        out = console()
        out.print(f"{found['company']}: {found['title']}", markup=False, soft_wrap=True)
        for line in match_lines(match["requirements"]):
            out.print(line, soft_wrap=True)
        if not match["requirements"]:
            out.print("No requirement of it is stored.")
        elif not match["records"]:
            out.print("Nothing of yours is on record yet: capture what you have done.")
        else:
            out.print("Compared by name, as whole words; years and levels are not compared.")

    run_with_app(work)


def counts(requirements: Sequence[Matched]) -> dict[str, dict[Verdict, int]]:
    """Count the verdicts, musts and nices apart."""
    return {
        importance: {
            verdict: sum(
                r["importance"] == importance and r["verdict"] == verdict for r in requirements
            )
            for verdict in MARKS
        }
        for importance in HEADINGS
    }


def match_lines(requirements: Sequence[Matched]) -> Iterator[Text]:
    """Yield musts, then nices, each requirement with its quotes."""
    for importance, heading in HEADINGS.items():
        these = [each for each in requirements if each["importance"] == importance]
        if not these:
            continue
        on_record = sum(each["verdict"] == "on_record" for each in these)
        yield Text(f"{heading}: {on_record} of {len(these)} on record", style="bold")
        for each in these:
            yield from _requirement_lines(each)


def _requirement_lines(each: Matched) -> Iterator[Text]:
    yield Text(f"  {MARKS[each['verdict']]} {each['text']}")
    for compared in each["compared"]:
        how = f"        {_how(compared)}: "
        if not compared["support"]:
            yield Text(f"{how}nothing on record", style="dim")
        for quote in compared["support"]:
            told = f"“{quote['quote']}”  ({quote['table']} {short(quote['id'])})"
            yield Text(f"{how}{told}")


def _how(compared: Compared) -> str:
    """Say what was looked for: a skill by its name, with the others it has, or words."""
    if compared["by"] == "words":
        return f"the words “{compared['name']}”"
    others = [s for s in compared["spellings"] if s != compared["name"].casefold()]
    return f"{compared['name']} ({', '.join(others)})" if others else compared["name"]
