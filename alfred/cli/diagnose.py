"""`alfred diagnose`: ask what is wrong, see the evidence at once, get an answer that cites it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from alfred.cli.entry import STILL_PENDING
from alfred.cli.session import console, json_option, print_json, run, run_with_app, say, short
from alfred.settings import read_settings

if TYPE_CHECKING:
    from rich.console import Console

    from alfred.app import App
    from alfred.diagnoses import Begun, Diagnoses
    from alfred.engine.context import Told
    from alfred.engine.standing import Standing
    from alfred.graphs.diagnosis.first_look import Looked, Wish


@click.command("diagnose")
@click.argument("question", metavar="QUESTION|-")
@click.option("--since", metavar="TIME", help="Look back to 30m, 2h, 1d, 14:00 or a moment.")
@click.option(
    "--scope", "scopes", metavar="KEY=VALUE", multiple=True, help="What it is about; may repeat."
)
@click.option("--follow", metavar="RUN", help="Continue an earlier diagnosis.")
@click.option(
    "--review/--no-review", "then_review", default=None, help="Ask for decisions at once."
)
@json_option
def command(
    question: str,
    since: str | None,
    scopes: Sequence[str],
    follow: str | None,
    then_review: bool | None,
    *,
    as_json: bool,
) -> None:
    """Find out why a system misbehaves, by read-only tools; `-` reads the question from standard
    input.

    Shows alerts, recent changes and log patterns at once, then the plan, each call of a tool, the
    facts with their verdicts, and an answer that cites its evidence or says that nothing is
    established. An incident note is proposed and written only if you approve it. The tools are
    listed in the file that ALFRED_TOOLS names.
    """
    from alfred.cli.diagnosis_page import print_first_look
    from alfred.graphs.diagnosis.first_look import Wish
    from alfred.graphs.diagnosis.time_words import read_since

    now = datetime.now(ZoneInfo(read_settings().timezone))
    start = read_since(since, now) if since else None
    wish = Wish(since=start, scope=parse_scopes(scopes))
    words = sys.stdin.read() if question == "-" else question
    out = console()
    looked = None if follow else run(_look(words, wish, now))
    if looked is not None and not as_json:
        print_first_look(out, looked.calls)

    async def work(app: App) -> int:
        from alfred.diagnoses import Diagnoses

        diagnoses = Diagnoses(app)
        followed = await find_run(diagnoses, follow) if follow else None
        begun = await diagnoses.ask(words, replace(wish, follow=followed), looked)
        if begun.opened.run is None:
            _print_reply(out, begun, as_json=as_json)
            return 0
        if not as_json:
            if looked is None:
                print_first_look(out, begun.opened.calls)
            for notice in begun.opened.notices:
                out.print(notice, style="yellow", markup=False)
        standing = await advance_or_cancel(diagnoses, begun)
        return await show(app, out, standing, then_review=then_review, as_json=as_json)

    sys.exit(run_with_app(work, on_progress=None if as_json else _Teller(out)))


async def _look(question: str, wish: Wish, now: datetime) -> Looked | None:
    """Look at the system before the database is opened and what answers is imported."""
    from alfred.graphs.diagnosis.first_look import look_at_once
    from alfred.probes.tools_file import configured_tools

    toolbox = configured_tools(read_settings()).toolbox
    try:
        return await look_at_once(question, wish, toolbox, now)
    finally:
        await toolbox.aclose()


async def advance_or_cancel(diagnoses: Diagnoses, begun: Begun) -> Standing:
    """Run to the answer; whoever interrupts it wants it stopped, and not to go on later."""
    import asyncio

    try:
        return await diagnoses.advance(begun.turn.id)
    except asyncio.CancelledError:
        reason = await diagnoses.cancel(begun.turn.id)
        say(f"Run {short(begun.turn.id)} has ended with {reason}.")
        raise


async def show(
    app: App,
    out: Console,
    standing: Standing,
    *,
    then_review: bool | None,
    as_json: bool,
) -> int:
    """Print what a diagnosis found and the note it proposes; return the exit code."""
    from alfred.cli.decide import interview
    from alfred.cli.diagnosis_page import print_diagnosis
    from alfred.cli.preview import print_proposal
    from alfred.diagnoses import Diagnoses

    stored = await Diagnoses(app).load(standing.turn_id)
    turn = await app.load_turn(standing.turn_id)
    if as_json:
        print_json(diagnosis_document(stored, standing))
    elif stored is not None and stored.end is not None and "finding" in stored.end["answer"]:
        print_diagnosis(out, stored.end["answer"], stored.end["trace"])
        out.print(f"Run {short(standing.turn_id)}: alfred diagnosis show {short(standing.turn_id)}")
    else:
        out.print(standing.reply or "; ".join(standing.problems), markup=False)
    proposal = standing.proposal
    if proposal is None:
        return 5 if standing.state == "failed" else 0
    if as_json:
        return STILL_PENDING
    out.print()
    print_proposal(out, proposal, turn.text)
    if sys.stdin.isatty() if then_review is None else then_review:
        return await interview(app, out, proposal, turn.text)
    console(stderr=True).print(f"Decide with: alfred review {short(proposal.id)}", markup=False)
    return STILL_PENDING


def diagnosis_document(stored: Any, standing: Standing | None) -> dict[str, Any]:
    """Make one document of a diagnosis: question, calls, facts, answer, path, proposed note."""
    from alfred.cli.document import proposal_document

    document: dict[str, Any] = {}
    if stored is not None:
        end = stored.end
        document = {
            "run": dict(stored.run),
            "calls": list(stored.calls),
            "facts": [dict(fact) for fact in stored.facts],
            "events": list(stored.events),
            "answer": end["answer"] if end else None,
            "trace": end["trace"] if end else None,
            "cost": {name: end[name] for name in _COSTS} if end else None,
        }
    if standing is not None:
        document["reply"] = standing.reply
        document["problems"] = standing.problems
        proposal = standing.proposal
        document["proposal"] = proposal_document(proposal) if proposal else None
    return document


_COSTS = ("calls", "prompt_tokens", "completion_tokens", "milliseconds")


def parse_scopes(given: Sequence[str]) -> dict[str, str]:
    """Read `key=value` pairs; errors: a usage error for anything else."""
    scope: dict[str, str] = {}
    for pair in given:
        name, sign, value = pair.partition("=")
        if not (sign and name.strip() and value.strip()):
            raise click.UsageError(f"--scope {pair!r} is not KEY=VALUE, such as service=checkout.")
        scope[name.strip()] = value.strip()
    return scope


async def find_run(diagnoses: Diagnoses, typed: str) -> Any:
    """Find a run by its id or a unique beginning of it; errors: a usage error."""
    runs = await diagnoses.list(limit=1_000)
    found = [run["id"] for run in runs if str(run["id"]).startswith(typed.lower())]
    if len(found) != 1:
        what = "no diagnosis begins" if not found else f"{len(found)} diagnoses begin"
        raise click.UsageError(f"{what} with {typed!r}; alfred diagnosis list shows them.")
    return found[0]


def _print_reply(out: Console, begun: Begun, *, as_json: bool) -> None:
    if as_json:
        print_json({"turn": begun.turn.id, "reply": begun.opened.reply})
    else:
        out.print(begun.opened.reply, markup=False, soft_wrap=True)


class _Teller:
    """Prints each sentence about progress where the answer will stand."""

    def __init__(self, out: Console) -> None:
        self._out = out

    def __call__(self, seen: Told) -> None:
        text = getattr(seen, "text", None)
        if text is not None:
            self._out.print(text, markup=False, soft_wrap=True)
