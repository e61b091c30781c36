"""Locks that no two runs hold at once, be they of this process or of another on the database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import LiteralString

from psycopg import AsyncConnection

from alfred.engine.database import Role
from alfred.store.address import Address
from alfred.store.driver_errors import translated
from alfred.store.liveness import has_news

_BETWEEN_TRIES_S = 0.1
_TAKE: LiteralString = "SELECT pg_try_advisory_lock(hashtextextended(%s, 1))"
_RELEASE: LiteralString = "SELECT pg_advisory_unlock(hashtextextended(%s, 1))"


class NamedLocks:
    """Locks by name, all held by the session of one connection and gone with it.

    A session may take a lock twice, so that which names this process holds is kept beside it.
    """

    def __init__(self, address: Address, role: Role) -> None:
        self._address = address
        self._role = role
        self._held: set[str] = set()
        self._connection: AsyncConnection | None = None
        self._opening = asyncio.Lock()

    @asynccontextmanager
    async def hold(self, name: str, *, patience_s: float) -> AsyncGenerator[bool]:
        """Hold a lock while the block runs; give False where somebody else keeps it.

        Units: `patience_s` in seconds, how long it is asked for again and again.
        Errors: those of `Pools.transaction`.
        """
        give_up_at = time.monotonic() + patience_s
        is_held = await self._take(name)
        while not is_held:
            if time.monotonic() >= give_up_at:
                break
            await asyncio.sleep(_BETWEEN_TRIES_S)
            is_held = await self._take(name)
        try:
            yield is_held
        finally:
            if is_held:
                await self._release(name)

    async def close(self) -> None:
        """Let go of everything."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _take(self, name: str) -> bool:
        if name in self._held:
            return False
        self._held.add(name)
        # Whoever is cancelled has to know whether the session has the lock by now.
        asking = asyncio.ensure_future(self._ask(_TAKE, name))
        is_taken = False
        try:
            is_taken = await asyncio.shield(asking)
        except asyncio.CancelledError:
            if await asking:
                await self._ask(_RELEASE, name)
            raise
        finally:
            if not is_taken:
                self._held.discard(name)
        return is_taken

    async def _release(self, name: str) -> None:
        try:
            await asyncio.shield(self._ask(_RELEASE, name))
        finally:
            self._held.discard(name)

    async def _ask(self, query: LiteralString, name: str) -> bool:
        with translated(self._address, self._role.value):
            connection = await self._connected(name)
            cursor = await connection.execute(query, (name,))
            row = await cursor.fetchone()
            return bool(row and row[0])

    async def _connected(self, name: str) -> AsyncConnection:
        known = self._connection
        if known is not None and not known.closed and (known.lock.locked() or not has_news(known)):
            return known
        async with self._opening:
            if self._connection is known:
                if known is not None:
                    await known.close()
                dsn = self._address.dsn(self._role)
                fresh = await AsyncConnection.connect(dsn, autocommit=True)
                # The locks went with the connection; nobody else may have taken them yet.
                for held in self._held - {name}:
                    await fresh.execute(_TAKE, (held,))
                self._connection = fresh
            assert self._connection is not None
            return self._connection
