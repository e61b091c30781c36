"""`alfred diagnosis`: earlier diagnoses, listed, shown, cancelled, taken up again."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from alfred.cli.session import console, json_option, print_json, run_with_app, say, short

if TYPE_CHECKING:
    from alfred.app import App


@click.group("diagnosis")
def command() -> None:
    """See earlier diagnoses and stop running ones."""


@command.command("list")
@click.option("--limit", metavar="N", default=20, type=click.IntRange(1, 1_000), show_default=True)
@json_option
def list_command(limit: int, *, as_json: bool) -> None:
    """List diagnoses, the newest first, each with how it ended."""
    from alfred.diagnoses import Diagnoses

    async def work(app: App) -> None:
        runs = await Diagnoses(app).list(limit=limit)
        if as_json:
            print_json([dict(run) for run in runs])
            return
        out = console()
        if not runs:
            say("There is no diagnosis yet: alfred diagnose “Why is … slow?”")
        for run in runs:
            ended = run["finding"] or run["terminal_reason"] or "open"
            began = run["began_at"].astimezone(app.now().tzinfo)
            line = f"{short(run['id'])}  {began:%Y-%m-%d %H:%M}  {ended}  {run['question']}"
            out.print(line, markup=False, soft_wrap=True)

    run_with_app(work)


@command.command("show")
@click.argument("run", metavar="RUN")
@json_option
def show_command(run: str, *, as_json: bool) -> None:
    """Show a diagnosis: first look, calls, facts, answer and path."""
    from alfred.cli.diagnose import diagnosis_document, find_run
    from alfred.cli.diagnosis_page import print_diagnosis, print_first_look
    from alfred.diagnoses import Diagnoses

    async def work(app: App) -> None:
        diagnoses = Diagnoses(app)
        stored = await diagnoses.load(await find_run(diagnoses, run))
        assert stored is not None, "it was found just now"
        if as_json:
            print_json(diagnosis_document(stored, None))
            return
        out = console()
        out.print(stored.run["question"], markup=False, style="bold")
        print_first_look(out, stored.calls)
        if stored.end is None:
            out.print("It has not ended yet.")
        elif "finding" in stored.end["answer"]:
            print_diagnosis(out, stored.end["answer"], stored.end["trace"])
        else:
            out.print(stored.end["answer"].get("headline", ""), markup=False)

    run_with_app(work)


@command.command("cancel")
@click.argument("run", metavar="RUN")
def cancel_command(run: str) -> None:
    """Stop a diagnosis: at once, or within seconds where it goes on in another process."""
    from alfred.cli.diagnose import find_run
    from alfred.diagnoses import Diagnoses

    async def work(app: App) -> int:
        diagnoses = Diagnoses(app)
        run_id = await find_run(diagnoses, run)
        if run_id not in {each["id"] for each in await diagnoses.open_runs()}:
            say("It has ended already.")
            return 1
        reason = await diagnoses.cancel(run_id)
        said = "is asked to stop" if reason is None else f"has ended with {reason}"
        say(f"Run {short(run_id)} {said}.")
        return 0

    sys.exit(run_with_app(work))


@command.command("resume")
@click.argument("run", metavar="RUN")
@json_option
def resume_command(run: str, *, as_json: bool) -> None:
    """Take up a diagnosis that was cut off, behind its last finished step."""
    from alfred.cli.diagnose import find_run, show
    from alfred.diagnoses import Diagnoses

    async def work(app: App) -> int:
        diagnoses = Diagnoses(app)
        standing = await diagnoses.advance(await find_run(diagnoses, run))
        return await show(app, console(), standing, then_review=False, as_json=as_json)

    sys.exit(run_with_app(work))
