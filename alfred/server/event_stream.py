"""Streams of stored events: read as fast as they are taken, and no faster."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from uuid import UUID

from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.types import Receive, Scope, Send

from alfred.app import App
from alfred.engine.database import Connection, Role
from alfred.engine.turn_event import (
    AT_ONCE,
    REACH,
    TurnEvent,
    last_run,
    read_changes,
    read_run,
)
from alfred.errors import RequestRefused, StoreFailed
from alfred.server.agui_events import ENDS
from alfred.server.who import Reader
from alfred.store.notifications import Bell

log = logging.getLogger("alfred.server")

MAX_STREAMS = 20
"""How many streams one user may have open in one process."""
LOOK_EVERY_S = 15.0
"""How often is looked for events that nothing told of."""
HEARTBEAT_S = 15.0
SLOW_S = 20.0
"""A client that takes nothing for so long is left; it can go on where it was."""
UNTOLD_S = 6.0
"""How long a run that has ended may take to tell so."""
_AGAIN_S = 1.0
Read = Callable[[Connection, int], Awaitable[Sequence[TurnEvent]]]
IsOver = Callable[[], Awaitable[bool]]
Seat = Callable[[Reader], AsyncGenerator[None]]


class Stream(EventSourceResponse):
    """Sends events as they come, a heartbeat where none do, and gives up on who takes none."""

    def __init__(self, events: AsyncGenerator[ServerSentEvent]) -> None:
        # Clients of the protocol split at two line feeds.
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            events, sep="\n", ping=HEARTBEAT_S, send_timeout=SLOW_S
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except SendTimeoutError:
            log.info("A client took nothing for %g s.", SLOW_S, extra={"action": "events.slow"})


@dataclass(frozen=True, kw_only=True)
class Tail:
    """What is read again and again: one user's rows, as a query gives them behind a number.

    Units: `until` in seconds of `time.monotonic`; None for no other end than `is_over`, which is
    asked where there is nothing more to read.
    """

    app: App
    read: Read
    after: int
    is_over: IsOver
    until: float | None = None

    async def events(self, bell: Bell) -> AsyncGenerator[TurnEvent]:
        """Give events as they are committed; a database that is away is waited for."""
        after = self.after
        with bell.heard_by(self.app.user_id) as rung:
            while not bell.is_closed and (left_s := self._left_s()) > 0:
                rung.clear()
                try:
                    rows = await self._rows(after)
                    is_done = _may_be_last(rows) and await self.is_over()
                    if is_done and not rows:
                        rows = await self._rows(after)  # told between the two looks
                except StoreFailed:
                    await asyncio.sleep(_AGAIN_S)
                    continue
                for row in rows:
                    after = max(after, row.seq)
                    yield row
                if is_done:
                    return
                if len(rows) < AT_ONCE:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(rung.wait(), min(LOOK_EVERY_S, left_s))

    def _left_s(self) -> float:
        return LOOK_EVERY_S if self.until is None else self.until - time.monotonic()

    async def _rows(self, after: int) -> Sequence[TurnEvent]:
        database = self.app.database
        async with database.transaction(Role.RUNTIME, self.app.user_id) as connection:
            return await self.read(connection, after)


def _may_be_last(rows: Sequence[TurnEvent]) -> bool:
    return len(rows) < AT_ONCE and (not rows or rows[-1].type in ENDS)


def run_reader(turn_id: UUID) -> Read:
    """Read what a turn's runs tell."""

    async def read(connection: Connection, after: int) -> Sequence[TurnEvent]:
        return await read_run(connection, turn_id, after=after)

    return read


def change_reader() -> Read:
    """Read what changes for the user; nothing twice, though numbers may come out of order."""
    known: deque[int] = deque(maxlen=REACH)

    async def read(connection: Connection, after: int) -> Sequence[TurnEvent]:
        found = await read_changes(connection, after=after, known=known)
        known.extend(event.seq for event in found)
        return found

    return read


async def never() -> bool:
    """Stand where a stream has no end of its own."""
    return False


def at_rest(app: App, turn_id: UUID) -> IsOver:
    """Say when a turn has come to its end and its run has told so, as far as it was followed.

    A run that tells no end, since what followed it is gone, is over after a while.
    """

    async def has_ended() -> bool:
        turn = await app.load_turn(turn_id)
        return turn.state in ("done", "failed")

    is_left = lasting(has_ended)

    async def is_over() -> bool:
        return await is_left() or (await has_ended() and await is_told(app, turn_id))

    return is_over


def lasting(is_so: IsOver) -> IsOver:
    """Say when something was so at several looks, longer than a run's follower takes to tell it."""
    since: float | None = None

    async def is_over() -> bool:
        nonlocal since
        if not await is_so():
            since = None
            return False
        since = since if since is not None else time.monotonic()
        return time.monotonic() - since >= UNTOLD_S

    return is_over


async def is_told(app: App, turn_id: UUID) -> bool:
    """Say whether no run of a turn is open, as far as was told."""
    async with app.database.transaction(Role.RUNTIME, app.user_id) as connection:
        told = await last_run(connection, turn_id)
    return not told or told[-1].type in ENDS


async def as_sent(events: AsyncGenerator[TurnEvent]) -> AsyncGenerator[ServerSentEvent]:
    """Write each event as it is sent: its number is what a client comes back with."""
    async with aclosing(events):
        async for event in events:
            yield ServerSentEvent(data=text_of(event), id=str(event.seq), sep="\n")


def text_of(event: TurnEvent) -> str:
    """Write what an event says in one line."""
    is_change = "type" not in event.body
    said = {"type": event.type, **event.body} if is_change else dict(event.body)
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def seats() -> Seat:
    """Make what keeps one of a user's places while a stream is open, from before it begins on.

    Errors: `request.too_many`.
    """
    taken: Counter[UUID] = Counter()

    async def seat(visitor: Reader) -> AsyncGenerator[None]:
        if taken[visitor.user_id] >= MAX_STREAMS:
            raise RequestRefused(
                "request.too_many",
                f"{MAX_STREAMS} streams of yours are open already.",
                hint="Close some of the pages.",
                retry_after_s=int(LOOK_EVERY_S),
            )
        taken[visitor.user_id] += 1
        try:
            yield
        finally:
            taken[visitor.user_id] -= 1
            if not taken[visitor.user_id]:
                del taken[visitor.user_id]

    return seat
