"""Proposals: looked at, edited, corrected in words, decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from alfred.app import App
from alfred.cli.document import proposal_document
from alfred.engine.amendment import Edit
from alfred.engine.decision_rules import Verdict
from alfred.engine.proposal import Proposal, ProposalState
from alfred.inbox import Inbox
from alfred.server.documents import (
    Decided,
    FullProposal,
    ListedProposal,
    Posted,
    ProposalDocument,
)
from alfred.server.page import Cursor, Limit, Page, page_of, read_cursor
from alfred.server.refusals import refusals
from alfred.server.routes.turns import describe_turn
from alfred.server.who import Decider, Reader
from alfred.services.queries.inbox import list_proposals

router = APIRouter(tags=["proposals"])
Digest = Annotated[
    str, Field(min_length=1, max_length=128, description="`digest` of what was shown")
]
MAX_ACTIONS = 1_000


class Decision(BaseModel):
    """Verdicts on actions, and one on the rest of those that are pending.

    `rest: approve` approves what is ticked: complete, and resting on the source. What does not
    rest on it has to be approved by its id.
    """

    model_config = ConfigDict(extra="forbid")
    digest: Digest
    verdicts: Annotated[dict[UUID, Verdict], Field(max_length=MAX_ACTIONS)] = {}
    rest: Verdict | None = None


class Amendment(BaseModel):
    """New values for arguments, by action; null clears an optional one."""

    model_config = ConfigDict(extra="forbid")
    digest: Digest
    edits: Annotated[dict[UUID, dict[str, Any]], Field(max_length=MAX_ACTIONS)]


class Correction(BaseModel):
    """What is wrong, in words."""

    model_config = ConfigDict(extra="forbid")
    digest: Digest
    words: str


@router.get("/proposals", responses=refusals())
async def get_proposals(
    visitor: Reader,
    state: Annotated[ProposalState | None, Query(description="Only those.")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Page[ListedProposal]:
    """List proposals, the newest first; those whose time ran out are closed first."""
    app, after = visitor.app, read_cursor(cursor)
    await app.approvals.expire_due(app.user_id)
    async with app.reading() as connection:
        rows = await list_proposals(connection, state=state, after=after, limit=limit + 1)
    loaded = {row["id"]: await app.approvals.load(app.user_id, row["id"]) for row in rows[:limit]}
    page = page_of(
        rows,
        limit,
        lambda row: (row["created_at"], row["id"]),
        lambda row: {**proposal_document(loaded[row["id"]]), "text": row["text"]},
    )
    return Page[ListedProposal].model_validate(page)


@router.get("/proposals/{proposal_id}", responses=refusals(404))
async def get_proposal(proposal_id: UUID, visitor: Reader) -> FullProposal:
    """Show what is proposed, with the words it came from."""
    app = visitor.app
    proposal = await app.approvals.load(app.user_id, proposal_id)
    turn = await app.load_turn(proposal.turn_id)
    document = {**proposal_document(proposal), "text": turn.text, "thread": turn.thread_id}
    return FullProposal.model_validate(document)


@router.post("/proposals/{proposal_id}/decide", responses=refusals(404, 409, 410))
async def decide(proposal_id: UUID, body: Decision, visitor: Decider) -> Decided:
    """Record verdicts; with the last one, everything approved is written in one transaction."""
    app = visitor.app
    proposal = await app.approvals.load(app.user_id, proposal_id)
    verdicts = with_rest(proposal, body.verdicts, body.rest)
    decided = await Inbox(app).decide(proposal_id, verdicts, seen=body.digest)
    return Decided.model_validate(await _decided(app, decided))


@router.post("/proposals/{proposal_id}/amend", responses=refusals(404, 409, 410))
async def amend(proposal_id: UUID, body: Amendment, visitor: Decider) -> ProposalDocument:
    """Edit values and show the effects they would have; nothing is decided by it."""
    app = visitor.app
    edits = {action_id: Edit(args=args) for action_id, args in body.edits.items()}
    revised = await app.approvals.amend(proposal_id, edits, seen=body.digest, actor=app.actor)
    return ProposalDocument.model_validate(proposal_document(revised))


@router.post("/proposals/{proposal_id}/correct", status_code=202, responses=refusals(404, 409, 410))
async def correct(proposal_id: UUID, body: Correction, visitor: Decider) -> Posted:
    """Say in words what is wrong; a worker proposes anew in this one's place."""
    app = visitor.app
    corrected = await Inbox(app).correct(proposal_id, body.words, seen=body.digest)
    turn = await app.load_turn(corrected.turn_id)
    return Posted(turn=turn.id, message=turn.message_id, state=turn.state)


def with_rest(
    proposal: Proposal, verdicts: Mapping[UUID, Verdict], rest: Verdict | None
) -> dict[UUID, Verdict]:
    """Add a verdict on every pending action that has none."""
    found = dict(verdicts)
    if rest is None:
        return found
    for action in proposal.in_state("pending"):
        if action.id not in found and (rest == "reject" or action.is_tickable):
            found[action.id] = rest
    return found


async def _decided(app: App, proposal: Proposal) -> dict[str, Any]:
    turn = await app.load_turn(proposal.turn_id)
    document = await describe_turn(app, turn)
    return {"proposal": proposal_document(proposal), "turn": document}
