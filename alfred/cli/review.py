"""`alfred review`: decide what is proposed, in questions and answers or by options."""

from __future__ import annotations

import sys
from uuid import UUID

import click

from alfred.cli.entry import STILL_PENDING
from alfred.cli.session import console, json_option, print_json, run_with_app


@click.command("review")
@click.argument("proposal_", metavar="[PROPOSAL]", required=False)
@click.option("--approve", "approved", multiple=True, metavar="ID", help="Approve an action.")
@click.option("--reject", "rejected", multiple=True, metavar="ID", help="Reject an action.")
@click.option("--set", "assignments", multiple=True, metavar="ID.field=value", help="Edit a value.")
@click.option("--yes", is_flag=True, help="Approve all that is complete and stands in the source.")
@click.option("--show", is_flag=True, help="Only show it.")
@json_option
def command(
    proposal_: str | None,
    approved: tuple[str, ...],
    rejected: tuple[str, ...],
    assignments: tuple[str, ...],
    *,
    yes: bool,
    show: bool,
    as_json: bool,
) -> None:
    """Decide a PROPOSAL, the newest that waits by default.

    ID is an action's number in the proposal, or the beginning of its id. Edits are shown with
    their effects before anything is approved. --yes approves only what is complete and stands in
    the source; the rest stays pending (exit code 3). Everything is written in one transaction,
    once all actions are decided.
    """
    from alfred.app import App
    from alfred.cli.decide import interview, parse_assignments, reshow, settle, ticked
    from alfred.cli.document import proposal_document
    from alfred.cli.lookup import find_action, find_proposal
    from alfred.cli.preview import print_proposal
    from alfred.engine.decision_rules import Verdict
    from alfred.errors import ReviewRefused

    out = console(stderr=as_json)
    if both := set(approved) & set(rejected):
        raise click.UsageError(f"{', '.join(sorted(both))} can't be approved and rejected at once.")

    async def work(app: App) -> int:
        await app.drain()
        proposal = await app.approvals.load(app.user_id, await find_proposal(app, proposal_))
        source = (await app.load_turn(proposal.turn_id)).text
        try:
            if show:
                if as_json:
                    print_json(proposal_document(proposal))
                else:
                    print_proposal(out, proposal, source)
                return STILL_PENDING if proposal.state == "pending" else 0
            if not (approved or rejected or assignments or yes):
                print_proposal(out, proposal, source)
                if proposal.state != "pending":
                    return await settle(app, out, proposal) if proposal.closed_at is None else 0
                return await interview(app, out, proposal, source)
            if assignments:
                edits = parse_assignments(app, proposal, assignments)
                proposal = await app.approvals.amend(
                    proposal.id, edits, seen=proposal.digest, actor=app.actor
                )
                out.print("With your edits:")
                print_proposal(out, proposal, source)
            verdicts: dict[UUID, Verdict] = {
                **{find_action(proposal, typed).id: "approve" for typed in approved},
                **{find_action(proposal, typed).id: "reject" for typed in rejected},
            }
            if yes:
                verdicts |= ticked(proposal, verdicts)
            if verdicts:
                proposal = await app.approvals.decide(
                    proposal.id, verdicts, seen=proposal.digest, actor=app.actor
                )
            code = await settle(app, out, proposal)
        except ReviewRefused as error:
            reshow(out, error, source)
            raise
        if as_json:
            final = await app.approvals.load(app.user_id, proposal.id)
            print_json(proposal_document(final))
        return code

    sys.exit(run_with_app(work))
