"""`alfred review`: decide what is proposed, in questions and answers or by options."""

from __future__ import annotations

import sys

import click

from alfred.cli.entry import STILL_PENDING
from alfred.cli.session import console, json_option, print_json, run_with_app


@click.command("review")
@click.argument("proposal_", metavar="[PROPOSAL]", required=False)
@click.option("--approve", "approved", multiple=True, metavar="ID", help="Approve an action.")
@click.option("--reject", "rejected", multiple=True, metavar="ID", help="Reject an action.")
@click.option("--set", "assignments", multiple=True, metavar="ID.field=value", help="Edit a value.")
@click.option("--correct", "words", metavar="WORDS", help="Say in words what is wrong.")
@click.option("--yes", is_flag=True, help="Approve all that is complete and stands in the source.")
@click.option("--discard-rest", is_flag=True, help="Reject what is left undecided.")
@click.option("--show", is_flag=True, help="Only show it; so does --json without a decision.")
@json_option
def command(
    proposal_: str | None,
    approved: tuple[str, ...],
    rejected: tuple[str, ...],
    assignments: tuple[str, ...],
    words: str | None,
    *,
    yes: bool,
    discard_rest: bool,
    show: bool,
    as_json: bool,
) -> None:
    """Decide a PROPOSAL, the newest that waits by default.

    ID is an action's number in the proposal, or the beginning of its id. Edits are shown with
    their effects before anything is approved. --yes approves only what is complete and stands in
    the source; the rest stays pending (exit code 3), unless --discard-rest rejects it. Everything
    is written in one transaction, once all actions are decided.

    --correct gives WORDS such as "the company is the other one, and drop the second reminder" back
    to what read the text, and shows what is proposed instead; decide that with another command.
    """
    from alfred.app import App
    from alfred.cli.changes import changes_document, find_changes, print_changes
    from alfred.cli.decide import Wish, carry_out, correct, interview, reshow, settle
    from alfred.cli.document import proposal_document
    from alfred.cli.lookup import find_proposal
    from alfred.cli.preview import print_proposal
    from alfred.cli.progress import FieldPrinter
    from alfred.errors import ReviewRefused

    out = console(stderr=as_json)
    if both := set(approved) & set(rejected):
        raise click.UsageError(f"{', '.join(sorted(both))} can't be approved and rejected at once.")
    if show and (approved or rejected or assignments or yes or discard_rest):
        raise click.UsageError("--show decides nothing; leave it out to decide.")
    wish = Wish(
        approved=approved,
        rejected=rejected,
        assignments=assignments,
        yes=yes,
        discard_rest=discard_rest,
    )
    if words is not None and (show or wish):
        raise click.UsageError("--correct makes a new proposal; look at it before you decide.")
    is_asking = not (show or wish or as_json)

    async def work(app: App) -> int:
        await app.drain()
        proposal = await app.approvals.load(app.user_id, await find_proposal(app, proposal_))
        source = (await app.load_turn(proposal.turn_id)).text
        if not (wish or as_json or words is not None):
            await print_changes(app, out, proposal)
            print_proposal(out, proposal, source)
        code = STILL_PENDING if proposal.state == "pending" else 0
        try:
            if words is not None:
                proposal = await correct(app, out, proposal, source, words)
                code = STILL_PENDING if proposal.state == "pending" else 0
            elif wish:
                code = await carry_out(app, out, proposal, source, wish)
            elif is_asking and proposal.state == "pending":
                code = await interview(app, out, proposal, source)
            elif is_asking and proposal.closed_at is None:
                code = await settle(app, out, proposal)
        except ReviewRefused as error:
            reshow(out, error, source)
            raise
        if as_json:
            proposal = await app.approvals.load(app.user_id, proposal.id)
            correction = changes_document(await find_changes(app, proposal))
            print_json({**proposal_document(proposal), "correction": correction})
        return code

    told = None if as_json else FieldPrinter(console(stderr=True))
    sys.exit(run_with_app(work, on_progress=told))
