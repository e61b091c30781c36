"""A turn: one message and the run it starts. The words are stored first, whatever happens after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from psycopg.types.json import Jsonb

from alfred.engine.database import Connection, Database, Role
from alfred.errors import ReviewRefused

TurnState = Literal["running", "waiting", "done", "failed"]


@dataclass(frozen=True, kw_only=True)
class NewMessage:
    """What a person sent: valid text, and the original bytes where they differ from it."""

    user_id: UUID
    thread_id: UUID
    turn_id: UUID
    text: str
    original: bytes | None
    source: str | None
    modality: str
    language: str
    received_at: datetime
    timezone: str
    manifests: Mapping[str, str]
    message_id: UUID
    """A message may start a second turn: the first may have failed for want of a model."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A stored turn. A re-run starts from exactly this: its clock, zone and manifests are kept."""

    id: UUID
    user_id: UUID
    message_id: UUID
    thread_id: UUID
    state: TurnState
    domain: str | None
    timezone: str
    language: str
    manifests: Mapping[str, str]
    received_at: datetime
    resume_due: bool
    outcome: str | None
    problem: str | None
    text: str
    original: bytes | None
    source: str | None
    modality: str
    annotations: list[dict[str, Any]]


async def store_message(database: Database, message: NewMessage) -> None:
    """Store message and turn in one transaction; a repeat changes nothing.

    The turn is due from the start: if this process dies, the next one runs it.
    """
    key = (message.user_id, message.message_id)
    async with database.transaction(Role.RUNTIME, message.user_id) as connection:
        await connection.execute(
            "INSERT INTO chat_thread (user_id, id) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            (message.user_id, message.thread_id),
        )
        await connection.execute(
            "INSERT INTO chat_message (user_id, id, thread_id, role, modality, text, source,"
            " original, received_at) VALUES (%s, %s, %s, 'user', %s, %s, %s, %s, %s)"
            " ON CONFLICT DO NOTHING",
            (
                *(*key, message.thread_id, message.modality, message.text, message.source),
                *(message.original, message.received_at),
            ),
        )
        await connection.execute(
            "INSERT INTO turn (user_id, id, message_id, state, timezone, language, manifests,"
            " received_at, resume_due) VALUES (%s, %s, %s, 'running', %s, %s, %s, %s, true)"
            " ON CONFLICT DO NOTHING",
            (
                *(message.user_id, message.turn_id, message.message_id, message.timezone),
                *(message.language, Jsonb(dict(message.manifests)), message.received_at),
            ),
        )


async def ensure_user(database: Database, user_id: UUID, name: str) -> None:
    """Make sure the user has a row."""
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        await connection.execute(
            "INSERT INTO alfred_user (id, name) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            (user_id, name),
        )


async def load_turn(connection: Connection, turn_id: UUID) -> Turn:
    """Read a turn with its message.

    Errors: `review.unknown` if the user of the transaction has none of that id.
    """
    cursor = await connection.execute(
        "SELECT t.id, t.user_id, t.message_id, m.thread_id, t.state, t.domain, t.timezone,"
        " t.language, t.manifests, t.received_at, t.resume_due, t.outcome, t.problem, m.text,"
        " m.original, m.source, m.modality, m.annotations FROM turn t"
        " JOIN chat_message m ON m.user_id = t.user_id AND m.id = t.message_id WHERE t.id = %s",
        (turn_id,),
    )
    row = await cursor.fetchone()
    if row is None:
        raise ReviewRefused("review.unknown", f"There is no turn {turn_id}.")
    return Turn(**row)


async def finish_turn(  # noqa: PLR0913 - a turn's end has these facts
    database: Database,
    turn: Turn,
    *,
    state: TurnState,
    domain: str | None,
    outcome: str | None,
    problem: str | None,
) -> None:
    """Record how far a turn got; what was due is done, unless it was decided meanwhile."""
    async with database.transaction(Role.RUNTIME, turn.user_id) as connection:
        # A decision marks the turn as due in its own transaction. Behind this lock it is either
        # committed, and the next statement sees it, or waits and marks the turn afterwards.
        await connection.execute("SELECT FROM turn WHERE id = %s FOR UPDATE", (turn.id,))
        await connection.execute(
            "UPDATE turn SET state = %s, domain = %s, outcome = %s, problem = %s,"
            " resume_due = %s AND NOT EXISTS (SELECT FROM proposal WHERE state = 'pending'"
            " AND proposal.user_id = turn.user_id AND turn_id = turn.id) WHERE id = %s",
            (state, domain, outcome, problem, state == "waiting", turn.id),
        )


async def turns_due(database: Database, user_id: UUID) -> list[UUID]:
    """List turns whose run was decided, or cut off, and has to continue."""
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        cursor = await connection.execute(
            "SELECT id FROM turn WHERE resume_due ORDER BY created_at"
        )
        return [row["id"] for row in await cursor.fetchall()]
