"""What a run tells while it goes on, and what changed for a user, as rows that are soon gone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, LiteralString
from uuid import UUID

from psycopg.errors import ForeignKeyViolation
from psycopg.types.json import Jsonb

from alfred.engine.database import Connection, Database, Role

Change = Literal["turn", "proposal", "due"]
"""What a user is told of by its id; turns and proposals are noted by the database itself."""
CHANGES: tuple[Change, ...] = ("turn", "proposal", "due")
AT_ONCE = 100
"""How many rows are read at once: that many, and no more, are held for each listener."""
_OUT_OF_ORDER: LiteralString = "interval '10 seconds'"
"""How long a transaction may take to commit a change after it was numbered."""
REACH = 1_000
"""How many numbers back such a change is looked for."""


@dataclass(frozen=True, kw_only=True)
class TurnEvent:
    """One row: `body` is JSON as its `type` has it."""

    seq: int
    type: str
    body: Mapping[str, Any]


_COLUMNS: LiteralString = "SELECT seq, type, body FROM turn_event"
_OF_TURN: LiteralString = "turn_id = %(turn)s AND NOT type = ANY(%(changes)s)"


async def write_events(
    database: Database, user_id: UUID, turn_id: UUID, told: Sequence[tuple[str, Mapping[str, Any]]]
) -> None:
    """Add what a run told, type and body each, in this order; nothing where the turn is gone."""
    kinds = [kind for kind, _ in told]
    bodies = [Jsonb(dict(body)) for _, body in told]
    with suppress(ForeignKeyViolation):
        async with database.transaction(Role.RUNTIME, user_id) as connection:
            await connection.execute(
                "INSERT INTO turn_event (user_id, turn_id, type, body)"
                " SELECT %s, %s, type, body FROM unnest(%s::text[], %s::jsonb[])"
                " WITH ORDINALITY AS told (type, body, place) ORDER BY place",
                (user_id, turn_id, kinds, bodies),
            )


async def tell_due(database: Database, user_id: UUID, reminder_id: UUID) -> None:
    """Tell a user's pages that a reminder is due."""
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        await connection.execute(
            "INSERT INTO turn_event (user_id, type, body) VALUES (%s, 'due', %s)",
            (user_id, Jsonb({"id": str(reminder_id), "state": "due"})),
        )


async def read_run(connection: Connection, turn_id: UUID, *, after: int) -> list[TurnEvent]:
    """Read what a turn's runs told behind a number, the next `AT_ONCE` at most.

    One run at a time writes, so that the order of the numbers is that of the commits.
    """
    cursor = await connection.execute(
        f"{_COLUMNS} WHERE {_OF_TURN} AND seq > %(after)s ORDER BY seq LIMIT %(limit)s",
        {"turn": turn_id, "changes": list(CHANGES), "after": after, "limit": AT_ONCE},
    )
    return [TurnEvent(**row) for row in await cursor.fetchall()]


async def read_changes(
    connection: Connection, *, after: int, known: Collection[int]
) -> list[TurnEvent]:
    """Read what changed for the transaction's user behind a number, `AT_ONCE` at most.

    Several processes write at once, so that a lower number may be committed later: what is little
    older than the number is read again, except for those that are `known`.
    """
    cursor = await connection.execute(
        f"{_COLUMNS} WHERE type = ANY(%(changes)s) AND (seq > %(after)s OR (at > ("  # noqa: S608
        f"SELECT at - {_OUT_OF_ORDER} FROM turn_event WHERE seq = %(after)s)"
        " AND seq > %(after)s - %(reach)s AND NOT seq = ANY(%(known)s))) ORDER BY seq"
        " LIMIT %(limit)s",
        {
            "changes": list(CHANGES),
            "after": after,
            "known": list(known),
            "reach": REACH,
            "limit": AT_ONCE,
        },
    )
    return [TurnEvent(**row) for row in await cursor.fetchall()]


async def newest(connection: Connection) -> int:
    """Return the highest number of the transaction's user; 0 without any."""
    cursor = await connection.execute("SELECT coalesce(max(seq), 0) AS seq FROM turn_event")
    row = await cursor.fetchone()
    return row["seq"] if row else 0


async def last_run(connection: Connection, turn_id: UUID) -> list[TurnEvent]:
    """Read the beginnings and ends that the turn's last run told, from its own beginning on."""
    frame = {"turn": turn_id, "changes": list(CHANGES)}
    cursor = await connection.execute(
        f"{_COLUMNS} WHERE {_OF_TURN} AND type ~ '^(RUN|STEP)_' AND seq >= (SELECT max(seq)"  # noqa: S608
        f" FROM turn_event WHERE {_OF_TURN} AND type = 'RUN_STARTED') ORDER BY seq",
        frame,
    )
    return [TurnEvent(**row) for row in await cursor.fetchall()]
