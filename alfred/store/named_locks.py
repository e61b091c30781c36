"""Locks that no two runs hold at once, be they of this process or of another on the database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import LiteralString

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo

from alfred.engine.database import Role
from alfred.store import lease
from alfred.store.address import Address
from alfred.store.driver_errors import translated
from alfred.store.liveness import has_news

_BETWEEN_TRIES_S = 0.1
_EVICTED_WITHIN_S = 2.0
LEASED = "alfred-worker"
"""How the sessions call themselves whose locks belong to runs under a lease."""
_TAKE: LiteralString = "SELECT pg_try_advisory_lock(hashtextextended(%s, 1))"
_RELEASE: LiteralString = "SELECT pg_advisory_unlock(hashtextextended(%s, 1))"
# A bigint's halves stand in classid and objid. Without the lease, the statement fails before any
# session is ended; several runs share the connection, so that there is no transaction around it.
_EVICT: LiteralString = """
    WITH held AS MATERIALIZED (SELECT queue.hold_lease(%s, %s))
    SELECT pg_terminate_backend(pid) FROM held, pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND pid <> pg_backend_pid()
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND classid::bigint << 32 | objid::bigint = hashtextextended(%s, 1)
        AND application_name = %s
"""


class NamedLocks:
    """Locks by name, all held by the session of one connection and gone with it.

    A session may take a lock twice, so that which names this process holds is kept beside it.
    Where they are `leased`, whoever holds the lease on a run takes its lock from a worker that has
    lost it: one that was stopped keeps its session, and would keep the lock with it.
    """

    def __init__(self, address: Address, role: Role, *, leased: bool = False) -> None:
        self._address = address
        self._role = role
        self._leased = leased
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
        if not is_held and self._leased and await self._evict(name):
            give_up_at = max(give_up_at, time.monotonic() + _EVICTED_WITHIN_S)
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

    async def _evict(self, name: str) -> bool:
        """End the session of the worker that holds a lock without the lease on its run.

        Errors: `store.fenced` if it is this worker that has lost the lease.
        """
        held = lease.run_lease.get()
        if held is None or name in self._held:
            return False
        with translated(self._address, self._role.value):
            connection = await self._connected(name)
            try:
                values = (held.run, held.worker, name, LEASED)
                cursor = await connection.execute(_EVICT, values)
                return await cursor.fetchone() is not None
            except psycopg.Error as exc:
                if exc.sqlstate == lease.LOST:
                    raise lease.lost() from exc
                raise

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
                if self._leased:
                    dsn = make_conninfo(dsn, application_name=LEASED)
                fresh = await AsyncConnection.connect(dsn, autocommit=True)
                # The locks went with the connection; nobody else may have taken them yet.
                for held in self._held - {name}:
                    await fresh.execute(_TAKE, (held,))
                self._connection = fresh
            assert self._connection is not None
            return self._connection
