"""What a decided proposal leaves behind: receipts, a note on the message, a run to continue."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from psycopg.types.json import Jsonb

from alfred.engine.database import Connection
from alfred.engine.decision_rules import expired
from alfred.engine.proposal import Proposal, ProposedAction
from alfred.errors import ReviewRefused

NOTES = {
    "discarded": {"zh": "已丢弃，原始内容保留", "en": "Discarded; the original text is kept."},
    "expired": {
        "zh": "逾期未决，没有写入，原始内容保留",
        "en": "Not decided in time; the original text is kept.",
    },
}


async def read_receipts(connection: Connection, proposal: Proposal) -> list[UUID]:
    """Read which actions have receipts.

    Errors: `review.expired` or `review.closed` where nothing can have one.
    """
    if proposal.state == "expired":
        raise expired(proposal)
    if proposal.state == "superseded":
        raise ReviewRefused("review.closed", f"The proposal is {proposal.state}.")
    cursor = await connection.execute(
        "SELECT action_id FROM receipt WHERE proposal_id = %s ORDER BY action_id", (proposal.id,)
    )
    return [row["action_id"] for row in await cursor.fetchall()]


async def mark_due(connection: Connection, proposal: Proposal) -> None:
    """Let the next start continue the turn's run, whatever becomes of this process."""
    await connection.execute("UPDATE turn SET resume_due = true WHERE id = %s", (proposal.turn_id,))


async def annotate_discarded(connection: Connection, proposal: Proposal) -> None:
    """Tell on the message which actions were discarded; its words stay as they are."""
    await _annotate(connection, proposal, "discarded", proposal.in_state("rejected"))


async def annotate_expired(connection: Connection, proposal: Proposal) -> None:
    """Tell on the message which actions nobody had decided when the proposal's time ran out."""
    await _annotate(connection, proposal, "expired", proposal.in_state("pending", "approved"))


async def _annotate(
    connection: Connection, proposal: Proposal, kind: str, actions: Sequence[ProposedAction]
) -> None:
    if not actions:
        return
    cursor = await connection.execute(
        "SELECT language FROM turn WHERE id = %s", (proposal.turn_id,)
    )
    turn = await cursor.fetchone()
    language = turn["language"] if turn else "en"
    note = {
        "kind": kind,
        "text": NOTES[kind][language],
        "actions": [str(action.id) for action in actions],
    }
    await connection.execute(
        "UPDATE chat_message SET annotations = annotations || %s WHERE id = %s",
        (Jsonb([note]), proposal.message_id),
    )
