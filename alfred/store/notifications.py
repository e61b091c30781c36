"""One connection of a process that hears whose events there are, and wakes who waits for them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from uuid import UUID

import psycopg
from psycopg import AsyncConnection

from alfred.engine.database import Role
from alfred.store.address import Address

log = logging.getLogger("alfred")

_SILENT_S = 20.0
"""After so long without a word the server is asked whether it is still there."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.2, 5.0


class Bell:
    """Rings for a user when an event of theirs is committed, in whichever process.

    It says neither what nor how much, and may ring in vain: who is woken looks for themselves. The
    connection is there as long as somebody listens.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._waiting: dict[UUID, set[asyncio.Event]] = {}
        self._listening: asyncio.Task[None] | None = None
        self.is_closed = False

    @contextmanager
    def heard_by(self, user_id: UUID) -> Generator[asyncio.Event]:
        """Lend an event that is set at each ring for a user; the waiter clears it."""
        rung = asyncio.Event()
        self._waiting.setdefault(user_id, set()).add(rung)
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen(), name="alfred-events")
        try:
            yield rung
        finally:
            self._waiting[user_id].discard(rung)
            if not self._waiting[user_id]:
                del self._waiting[user_id]
            if not self._waiting:
                self._hang_up()

    def close(self) -> None:
        """Let everybody who listens know that there is nothing more to come from here."""
        self.is_closed = True
        self._wake_all()

    def listeners(self, user_id: UUID) -> int:
        """Count who waits for a user's events."""
        return len(self._waiting.get(user_id, ()))

    def _hang_up(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            self._listening = None

    async def _listen(self) -> None:
        """Listen until cancelled; a connection that is lost is opened again.

        Whatever was told meanwhile is not told again, so that everybody is woken then.
        """
        wait_s = _FIRST_WAIT_S
        while True:
            try:
                dsn = self._address.dsn(Role.RUNTIME)
                connection = await AsyncConnection.connect(dsn, autocommit=True)
                async with connection:
                    await connection.execute("LISTEN alfred_events")
                    wait_s = _FIRST_WAIT_S
                    self._wake_all()
                    await self._hear(connection)
            except psycopg.Error as error:
                log.warning("Not listening: %s", error, extra={"action": "events.deaf"})
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    async def _hear(self, connection: AsyncConnection) -> None:
        while True:
            async for heard in connection.notifies(timeout=_SILENT_S):
                user, _, _ = heard.payload.partition(":")
                for rung in self._waiting.get(UUID(user), ()):
                    rung.set()
            await connection.execute("SELECT 1")

    def _wake_all(self) -> None:
        for waiting in self._waiting.values():
            for rung in waiting:
                rung.set()
