"""Turns, conversations and their messages, piece by piece, the newest first."""

from __future__ import annotations

from datetime import datetime
from typing import LiteralString
from uuid import UUID

from alfred.engine.database import Connection, Row

Place = tuple[datetime, UUID]

_NEWEST: LiteralString = (
    "(SELECT p.id FROM proposal p WHERE p.user_id = t.user_id AND p.turn_id = t.id"
    " ORDER BY p.attempt DESC LIMIT 1) AS proposal"
)


async def list_turns(connection: Connection, *, after: Place | None, limit: int) -> list[Row]:
    """List turns, the newest first, behind a place.

    Shapes: id, thread_id, state, outcome, domain, source, received_at, problem, created_at, text
    (its first 400 characters), proposal (the id of the newest, None without one).
    """
    cursor = await connection.execute(
        "SELECT t.id, m.thread_id, t.state, t.outcome, t.domain, m.source, t.received_at,"  # noqa: S608
        f" t.problem, t.created_at, left(m.text, 400) AS text, {_NEWEST} FROM turn t"
        " JOIN chat_message m ON m.user_id = t.user_id AND m.id = t.message_id"
        " WHERE %(moment)s::timestamptz IS NULL OR (t.created_at, t.id) < (%(moment)s, %(id)s)"
        " ORDER BY t.created_at DESC, t.id DESC LIMIT %(limit)s",
        _values(after, limit),
    )
    return await cursor.fetchall()


async def newest_proposal(connection: Connection, turn_id: UUID) -> UUID | None:
    """Name the newest proposal of a turn."""
    cursor = await connection.execute(
        "SELECT id FROM proposal WHERE turn_id = %s ORDER BY attempt DESC LIMIT 1", (turn_id,)
    )
    row = await cursor.fetchone()
    return row["id"] if row else None


async def list_threads(connection: Connection, *, after: Place | None, limit: int) -> list[Row]:
    """List conversations: id, title, created_at, messages (how many)."""
    cursor = await connection.execute(
        "SELECT c.id, c.title, c.created_at, (SELECT count(*) FROM chat_message m"
        " WHERE m.user_id = c.user_id AND m.thread_id = c.id) AS messages FROM chat_thread c"
        " WHERE %(moment)s::timestamptz IS NULL OR (c.created_at, c.id) < (%(moment)s, %(id)s)"
        " ORDER BY c.created_at DESC, c.id DESC LIMIT %(limit)s",
        _values(after, limit),
    )
    return await cursor.fetchall()


async def has_thread(connection: Connection, thread_id: UUID) -> bool:
    """Say whether the user has a conversation."""
    cursor = await connection.execute("SELECT FROM chat_thread WHERE id = %s", (thread_id,))
    return await cursor.fetchone() is not None


async def list_messages(
    connection: Connection, thread_id: UUID, *, after: Place | None, limit: int
) -> list[Row]:
    """List a conversation's messages, the newest first.

    Shapes: id, role, modality, text, source, link, received_at, annotations, created_at.
    """
    cursor = await connection.execute(
        "SELECT id, role, modality, text, source, link, received_at, annotations, created_at"
        " FROM chat_message WHERE thread_id = %(thread)s AND (%(moment)s::timestamptz IS NULL"
        " OR (created_at, id) < (%(moment)s, %(id)s))"
        " ORDER BY created_at DESC, id DESC LIMIT %(limit)s",
        {**_values(after, limit), "thread": thread_id},
    )
    return await cursor.fetchall()


def _values(after: Place | None, limit: int) -> dict[str, object]:
    moment, identifier = after or (None, None)
    return {"moment": moment, "id": identifier, "limit": limit}
