"""How turns come to wait for a worker: in the transaction that stores what they are about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from uuid import UUID

from alfred.engine.database import Connection, Database, Role
from alfred.errors import QueueRefused

NOBODY = UUID(int=1)
MAX_WAITING = 100
"""How many turns of one user wait at most."""


async def enqueue_turn(
    connection: Connection, turn_id: UUID, *, bound: int | None = MAX_WAITING
) -> None:
    """Let a turn of the transaction's user wait for a worker, if the transaction commits.

    One run at a time goes on in a conversation, in the order in which they came. A turn that waits
    already does not wait twice. With `bound` None nothing is refused: what was decided continues.
    Errors: `queue.full`; the caller's transaction then has to end without a commit.
    """
    cursor = await connection.execute(
        "SELECT queue.enqueue_turn(%s, %s) AS is_in", (turn_id, bound)
    )
    row = await cursor.fetchone()
    if row is None or not row["is_in"]:
        raise _full()


async def require_room(database: Database, user_id: UUID) -> None:
    """Say that too much waits before anything is stored that `resume_turn` will let wait.

    Errors: `queue.full`.
    """
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        cursor = await connection.execute("SELECT queue.waiting() AS number")
        row = await cursor.fetchone()
    if row is not None and row["number"] >= MAX_WAITING:
        raise _full()


async def resume_turn(database: Database, user_id: UUID, turn_id: UUID) -> None:
    """Let a turn wait whose run is due to continue; none is refused."""
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        await enqueue_turn(connection, turn_id, bound=None)


async def enqueue_forgotten(database: Database, user_id: UUID, due: Sequence[UUID]) -> list[UUID]:
    """Let those of the due turns wait that neither wait nor run, and name them."""
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        query = "SELECT queue.forgotten(%s::uuid[]) AS turn_id"
        cursor = await connection.execute(query, (list(due),))
        forgotten = [row["turn_id"] for row in await cursor.fetchall()]
        for turn_id in forgotten:
            await enqueue_turn(connection, turn_id, bound=None)
    return forgotten


async def is_news(database: Database, user_id: UUID, subject_id: UUID, due_on: date) -> bool:
    """Say whether a user is to be told that something is due; true once, whoever asks."""
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        query = "SELECT queue.is_news(%s, %s, %s) AS is_news"
        cursor = await connection.execute(query, (user_id, subject_id, due_on))
        row = await cursor.fetchone()
        return row is not None and row["is_news"]


async def enrol(database: Database, user_id: UUID) -> None:
    """Make a user known to the periodic tasks of workers."""
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        await connection.execute("SELECT queue.enrol(%s)", (user_id,))


async def members(database: Database) -> list[UUID]:
    """List the ids of the users that are enrolled; nothing else of them is seen."""
    async with database.transaction(Role.RUNTIME, NOBODY) as connection:
        cursor = await connection.execute("SELECT queue.members() AS user_id")
        return [row["user_id"] for row in await cursor.fetchall()]


def _full() -> QueueRefused:
    return QueueRefused(
        "queue.full",
        f"{MAX_WAITING} of your texts wait to be read; this one was not taken.",
        hint="Send it again when some are done.",
    )
