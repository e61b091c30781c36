"""A turn: one message and the run it starts. The words are stored first, whatever happens after."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, LiteralString
from uuid import UUID

from psycopg.types.json import Jsonb

from alfred.engine.database import Connection, Database, Role
from alfred.engine.trace import EVENTS, event_values
from alfred.errors import ReviewRefused

Beside = Callable[[Connection], Awaitable[None]]
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
    domain: str | None = None
    """The domain that the person named; None leaves the choice to the nodes' rules."""
    link: str | None = None
    """The link that is the whole message; `text` is that until the page is kept."""
    media_type: str | None = None
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
    link: str | None
    media_type: str | None
    annotations: list[dict[str, Any]]

    @property
    def is_unfetched(self) -> bool:
        """Whether the message is a link whose page is not there yet."""
        return self.link is not None and self.original is None


@dataclass(frozen=True, kw_only=True)
class LinkedPage:
    """What a link led to: the bytes as they came, where from, and the text they read as."""

    text: str
    language: str
    original: bytes
    media_type: str
    source: str


@dataclass(frozen=True, kw_only=True)
class TurnEnd:
    """How far a run took its turn, and what came of it."""

    state: TurnState
    domain: str | None
    outcome: str | None
    problem: str | None


# Every part stands already where a message comes again.
_STORE: LiteralString = """
    WITH thread AS (
        INSERT INTO chat_thread (user_id, id) VALUES (%(user_id)s, %(thread_id)s)
        ON CONFLICT DO NOTHING
    ), message AS (
        INSERT INTO chat_message (user_id, id, thread_id, role, modality, text, source, original,
            link, media_type, received_at)
        VALUES (%(user_id)s, %(message_id)s, %(thread_id)s, 'user', %(modality)s, %(text)s,
            %(source)s, %(original)s, %(link)s, %(media_type)s, %(received_at)s)
        ON CONFLICT DO NOTHING
    )
    INSERT INTO turn (user_id, id, message_id, state, domain, timezone, language, manifests,
        received_at, resume_due)
    VALUES (%(user_id)s, %(turn_id)s, %(message_id)s, 'running', %(domain)s, %(timezone)s,
        %(language)s, %(manifests)s, %(received_at)s, true)
    ON CONFLICT DO NOTHING
"""


async def store_message(
    database: Database, message: NewMessage, *, beside: Beside | None = None
) -> bool:
    """Store message and turn in one transaction; a repeat changes nothing and gives False.

    The turn is due from the start: if this process dies, the next one runs it. What is to happen
    in the same transaction is done `beside` it; where that fails, nothing is stored.
    """
    async with database.transaction(Role.RUNTIME, message.user_id) as connection:
        cursor = await connection.execute(
            _STORE, {**vars(message), "manifests": Jsonb(dict(message.manifests))}
        )
        is_new = bool(cursor.rowcount)
        if is_new and beside is not None:
            await beside(connection)
        return is_new


def new_turn(message: NewMessage) -> Turn:
    """Give the turn of a message that was stored just now, as it would be read back."""
    return Turn(
        id=message.turn_id,
        user_id=message.user_id,
        message_id=message.message_id,
        thread_id=message.thread_id,
        state="running",
        domain=message.domain,
        timezone=message.timezone,
        language=message.language,
        manifests=message.manifests,
        received_at=message.received_at,
        resume_due=True,
        outcome=None,
        problem=None,
        text=message.text,
        original=message.original,
        source=message.source,
        modality=message.modality,
        link=message.link,
        media_type=message.media_type,
        annotations=[],
    )


async def keep_page(database: Database, turn: Turn, page: LinkedPage) -> Turn:
    """Keep what the link of a turn's message led to; give the turn as it is now.

    From here on the message's text is the page's, since evidence points into it; the words that
    came stay in `link`. A page that is already there stays.
    """
    async with database.transaction(Role.RUNTIME, turn.user_id) as connection:
        cursor = await connection.execute(
            "UPDATE chat_message SET text = %s, original = %s, media_type = %s, source = %s"
            " WHERE id = %s AND original IS NULL",
            (page.text, page.original, page.media_type, page.source, turn.message_id),
        )
        if cursor.rowcount:
            await connection.execute(
                "UPDATE turn SET language = %s WHERE message_id = %s",
                (page.language, turn.message_id),
            )
        return await load_turn(connection, turn.id)


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
        " m.original, m.source, m.modality, m.link, m.media_type, m.annotations FROM turn t"
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
    end = TurnEnd(state=state, domain=domain, outcome=outcome, problem=problem)
    async with database.transaction(Role.RUNTIME, turn.user_id) as connection:
        await write_end(connection, turn, end)


async def write_end(
    connection: Connection, turn: Turn, end: TurnEnd, events: Sequence[Mapping[str, Any]] = ()
) -> None:
    """Do what `finish_turn` does in a caller's transaction, and keep the run's events with it."""
    # A decision marks the turn as due in its own transaction. Behind this lock it is either
    # committed, and the next statement sees it, or waits and marks the turn afterwards.
    await connection.execute("SELECT FROM turn WHERE id = %s FOR UPDATE", (turn.id,))
    values = {
        **vars(end),
        "is_waiting": end.state == "waiting",
        "user_id": turn.user_id,
        "turn_id": turn.id,
        "events": event_values(events),
    }
    await connection.execute(_END, values)


_END: LiteralString = f"""
    WITH happened AS ({EVENTS})
    UPDATE turn SET state = %(state)s, domain = %(domain)s, outcome = %(outcome)s,
        problem = %(problem)s,
        resume_due = %(is_waiting)s AND NOT EXISTS (SELECT FROM proposal WHERE state = 'pending'
            AND proposal.user_id = turn.user_id AND turn_id = turn.id)
    WHERE id = %(turn_id)s
"""  # noqa: S608 - constants


async def turns_due(
    database: Database, user_id: UUID, *, received_before: datetime | None = None
) -> list[UUID]:
    """List turns whose run was decided, or cut off, and has to continue."""
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        cursor = await connection.execute(
            "SELECT id FROM turn WHERE resume_due"
            " AND received_at < coalesce(%s, 'infinity'::timestamptz) ORDER BY created_at",
            (received_before,),
        )
        return [row["id"] for row in await cursor.fetchall()]
