"""A step of a proposal: what moves, what is written down and what is due, as one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from psycopg.types.json import Jsonb

from alfred.engine.database import Connection
from alfred.engine.ledger import ENTRIES, Actor, Entry, entry_values
from alfred.engine.proposal import ActionState, Proposal, ProposalState
from alfred.errors import ReviewRefused


@dataclass(frozen=True, kw_only=True)
class Step:
    """From where a proposal is, to where: `moves` names each action that moves and its new state.

    `receipts` gives the digest of each action that was written. The turn is due to continue where
    `is_due`.
    """

    state: ProposalState
    moves: Mapping[UUID, ActionState]
    entries: Sequence[Entry]
    receipts: Mapping[UUID, str] = field(default_factory=dict[UUID, str])
    closes: bool = False
    is_due: bool = False


async def take_step(
    connection: Connection, proposal: Proposal, actor: Actor, step: Step
) -> datetime | None:
    """Compare and set everything that moves, and write it down; say when the proposal closed.

    Errors: `review.conflict` if another decision was faster; the transaction must then end.
    """
    before = {action.id: action.state for action in proposal.actions}
    cursor = await connection.execute(
        _STEP,
        {
            "moves": Jsonb(
                [
                    {"id": str(moved), "before": before[moved], "after": after}
                    for moved, after in step.moves.items()
                ]
            ),
            "receipts": Jsonb(
                [
                    {"action_id": str(action_id), "digest": digest}
                    for action_id, digest in step.receipts.items()
                ]
            ),
            "before": proposal.state,
            "state": step.state,
            "closes": step.closes,
            "turn_id": proposal.turn_id,
            "is_due": step.is_due,
            **entry_values(proposal, actor, step.entries),
        },
    )
    row = await cursor.fetchone()
    assert row is not None
    if row["moved"] != len(step.moves) or row["stood"] != 1:
        raise ReviewRefused(
            "review.conflict", "Another decision was faster.", hint="Look at it again."
        )
    return row["closed_at"]


# The parts see one state of the database; keys are checked when all of them are done.
_STEP: LiteralString = f"""
    WITH moved AS (
        UPDATE action SET state = m.after
        FROM jsonb_to_recordset(%(moves)s) AS m (id uuid, before text, after text)
        WHERE action.id = m.id AND action.state = m.before RETURNING action.id
    ), stood AS (
        UPDATE proposal SET state = %(state)s, closed_at = CASE WHEN %(closes)s THEN now() END
        WHERE id = %(proposal_id)s AND state = %(before)s RETURNING closed_at
    ), continuing AS (
        UPDATE turn SET resume_due = true WHERE id = %(turn_id)s AND %(is_due)s
    ), writing AS (
        INSERT INTO receipt (user_id, action_id, proposal_id, digest)
        SELECT %(user_id)s, action_id, %(proposal_id)s, digest
        FROM jsonb_to_recordset(%(receipts)s) AS r (action_id uuid, digest text)
    ), {ENTRIES}
    SELECT (SELECT count(*) FROM moved) AS moved, (SELECT count(*) FROM stood) AS stood,
        (SELECT closed_at FROM stood) AS closed_at
"""  # noqa: S608 - constants
