"""Writes that a command asks for: shown like any proposal, and written after a yes."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import click

from alfred.app import App
from alfred.cli.decide import reshow, settle
from alfred.cli.document import proposal_document
from alfred.cli.entry import STILL_PENDING
from alfred.cli.preview import print_proposal
from alfred.cli.session import console, print_json, short
from alfred.engine.command import Wanted
from alfred.engine.decision_rules import Verdict
from alfred.errors import ReviewRefused

ANSWERS: dict[str, Verdict | None] = {
    "": "reject",
    **dict.fromkeys(("n", "no"), "reject"),
    **dict.fromkeys(("y", "yes"), "approve"),
    **dict.fromkeys(("l", "later"), None),
}


async def confirm(
    app: App, words: str, wanted: Sequence[Wanted], *, yes: bool, as_json: bool
) -> int:
    """Propose, show, ask unless `yes`, and write; return the exit code.

    With `as_json` nothing is asked: without `yes` the proposal waits, as it does after "later" or
    where nobody can answer.
    """
    out = console(stderr=as_json)
    proposal = await app.propose_actions(words, wanted)
    if not as_json:
        print_proposal(out, proposal, words)
    verdict = "approve" if yes else None if as_json else ask()
    code = STILL_PENDING
    if verdict is not None:
        verdicts: dict[UUID, Verdict] = {action.id: verdict for action in proposal.actions}
        try:
            decided = await app.approvals.decide(
                proposal.id, verdicts, seen=proposal.digest, actor=app.actor
            )
            code = await settle(app, out, decided)
        except ReviewRefused as error:
            reshow(out, error, words)
            raise
    elif not as_json:
        out.print(f"It waits. Decide with: alfred review {short(proposal.id)}", markup=False)
    if as_json:
        print_json(proposal_document(await app.approvals.load(app.user_id, proposal.id)))
    return code


def ask() -> Verdict | None:
    """Ask whether to write what is shown; None for later, and where the input ends."""
    while True:
        try:
            typed = input("Write this? [y/N/later] ").strip().lower()
        except EOFError:
            click.echo()
            return None
        if typed in ANSWERS:
            return ANSWERS[typed]
        click.echo("Type y, n or later.")
