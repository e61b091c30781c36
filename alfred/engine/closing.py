"""Closing a proposal that nobody decided to the end: its time ran out, or another replaced it."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from alfred.engine.database import Connection
from alfred.engine.ledger import (
    Actor,
    Entry,
    append_entries,
    load_proposal,
    set_action_states,
    set_proposal_state,
)
from alfred.engine.proposal import Proposal
from alfred.engine.settlement import annotate_discarded, annotate_expired, mark_due


async def expire(connection: Connection, proposal: Proposal) -> None:
    """Close a proposal whose time ran out, say so on the message, and let its run continue."""
    await close_undecided(connection, proposal, "expired")
    await annotate_discarded(connection, proposal)
    await annotate_expired(connection, proposal)
    await mark_due(connection, proposal)


async def supersede_earlier(connection: Connection, turn_id: UUID, attempt: int) -> None:
    """Close the proposals of earlier attempts of a turn."""
    if attempt == 0:
        return
    cursor = await connection.execute(
        "SELECT id FROM proposal WHERE turn_id = %s AND attempt < %s"
        " AND state IN ('pending', 'corrected') FOR UPDATE",
        (turn_id, attempt),
    )
    for row in await cursor.fetchall():
        earlier = await load_proposal(connection, row["id"])
        await close_undecided(connection, earlier, "superseded")


async def close_undecided(
    connection: Connection, proposal: Proposal, state: Literal["expired", "superseded"]
) -> None:
    """Close a proposal that was not decided to the end; what was approved in it falls too."""
    for before in ("pending", "approved"):
        undone = [action.id for action in proposal.in_state(before)]
        await set_action_states(connection, undone, before, state)
    await set_proposal_state(connection, proposal, state, closed=True)
    engine = Actor(user_id=proposal.user_id, origin="engine")
    entry = Entry(kind=state, digest=proposal.digest)
    await append_entries(connection, proposal, engine, [entry])
