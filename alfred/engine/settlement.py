"""What a decided proposal leaves behind: receipts, a note on the message, a run to continue."""

from __future__ import annotations

from uuid import UUID

from psycopg.types.json import Jsonb

from alfred.engine.database import Connection
from alfred.engine.proposal import Proposal
from alfred.errors import ReviewRefused

DISCARDED = {"zh": "已丢弃，原始内容保留", "en": "Discarded; the original text is kept."}


async def read_receipts(connection: Connection, proposal: Proposal) -> list[UUID]:
    """Read which actions have receipts; errors: `review.closed` where nothing can have one."""
    if proposal.state in ("expired", "superseded"):
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
    rejected = proposal.in_state("rejected")
    if not rejected:
        return
    cursor = await connection.execute(
        "SELECT language FROM turn WHERE id = %s", (proposal.turn_id,)
    )
    turn = await cursor.fetchone()
    language = turn["language"] if turn else "en"
    note = {
        "kind": "discarded",
        "text": DISCARDED[language],
        "actions": [str(action.id) for action in rejected],
    }
    await connection.execute(
        "UPDATE chat_message SET annotations = annotations || %s WHERE id = %s",
        (Jsonb([note]), proposal.message_id),
    )
