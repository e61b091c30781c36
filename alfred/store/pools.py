"""The port to PostgreSQL, implemented: one pool of connections per role, opened on first use."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Self
from uuid import UUID

import psycopg
from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from alfred.engine.database import Connection, Role
from alfred.errors import StoreFailed
from alfred.store import lease
from alfred.store.address import Address
from alfred.store.driver_errors import translated
from alfred.store.liveness import PooledConnection, check
from alfred.store.named_locks import NamedLocks

_JSON = json.JSONDecoder()
WRITING = (Role.WRITER, Role.RUNTIME)
SESSION = "SELECT set_config('alfred.user_id', %s, false), set_config('alfred.actor_id', %s, false)"


class Pools:
    """Connections of the four roles to one database, for one event loop.

    Implements `alfred.engine.database.Database`. Every connection returns rows as dicts, and is
    checked when it is handed out, so that a restart of the server costs no failed statement.
    """

    def __init__(
        self, address: Address, *, max_size: int = 8, checkout_timeout_s: float = 15.0
    ) -> None:
        self._address = address
        self._max_size = max_size
        self._checkout_timeout_s = checkout_timeout_s
        self._pools: dict[Role, AsyncConnectionPool[PooledConnection]] = {}
        self._lent = dict.fromkeys(Role, 0)
        self._opening = asyncio.Lock()
        self._locks = NamedLocks(address, Role.RUNTIME)
        self._leased_locks = NamedLocks(address, Role.RUNTIME, leased=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def address(self) -> Address:
        """The database that these connections lead to."""
        return self._address

    async def close(self) -> None:
        """Close every connection. The object can be used again afterwards."""
        async with self._opening:
            pools, self._pools = self._pools, {}
            for pool in pools.values():
                await pool.close()
            await self._locks.close()
            await self._leased_locks.close()

    @asynccontextmanager
    async def transaction(
        self,
        role: Role,
        user_id: UUID,
        *,
        rollback: bool = False,
        actor_id: UUID | None = None,
    ) -> AsyncGenerator[Connection]:
        """Open a transaction that sees the rows of `user_id`; with `rollback` nothing stays.

        `actor_id` is who acts, the user unless given. `connection.transaction()` inside makes a
        savepoint. The driver's unique violations, deadlocks and serialization failures pass
        through, since services act on them. Under a lease nothing is committed once it is lost.

        Errors: `store.unreachable`, `store.authentication`, `store.disk_full`, `store.busy`,
        `store.not_migrated`, `store.privilege`, `store.fenced`.
        """
        with translated(self._address, self._address.login_of(role)):
            pool, connection = await self._borrow(role)
            try:
                await connection.beginning.execute(_begin(user_id, actor_id or user_id))
                yield connection
                await (connection.rollback() if rollback else _commit(role, connection))
            except BaseException:
                await _roll_back(connection)
                raise
            finally:
                await self._give_back(role, pool, connection)

    @asynccontextmanager
    async def autocommit(self, role: Role, user_id: UUID) -> AsyncGenerator[Connection]:
        """Lend a connection without a transaction, as LangGraph's checkpointer needs it.

        Its session acts for `user_id` until it is given back; statements are prepared at once.

        Errors: those of `transaction`.
        """
        async with self._connection(role) as connection:
            threshold = connection.prepare_threshold
            connection.prepare_threshold = 0
            try:
                await connection.execute(SESSION, (str(user_id), str(user_id)))
                yield connection
            finally:
                connection.prepare_threshold = threshold
                await _forget_session(connection)

    def lock(self, name: str, *, patience_s: float) -> AbstractAsyncContextManager[bool]:
        """Hold a lock that every process on this database sees; see `NamedLocks.hold`."""
        locks = self._locks if lease.run_lease.get() is None else self._leased_locks
        return locks.hold(name, patience_s=patience_s)

    @asynccontextmanager
    async def _connection(self, role: Role) -> AsyncGenerator[PooledConnection]:
        with translated(self._address, self._address.login_of(role)):
            pool, connection = await self._borrow(role)
            try:
                yield connection
            finally:
                await self._give_back(role, pool, connection)

    async def _borrow(
        self, role: Role
    ) -> tuple[AsyncConnectionPool[PooledConnection], PooledConnection]:
        pool = await self._pool(role)
        try:
            connection = await pool.getconn(self._checkout_timeout_s)
            self._lent[role] += 1
            return pool, connection
        except PoolTimeout as exc:
            if self._lent[role] >= self._max_size:
                raise StoreFailed(
                    "store.busy",
                    f"All {self._max_size} connections of {role.value} have been in use for "
                    f"{self._checkout_timeout_s:g} s.",
                    hint="Repeat the command in a moment.",
                ) from exc
        # The server was away. A pool that met this waits ever longer between its attempts, and
        # does not say why they fail: a new one does, at once, or finds the server back.
        await self._discard(role, pool)
        pool = await self._pool(role)
        connection = await pool.getconn(self._checkout_timeout_s)
        self._lent[role] += 1
        return pool, connection

    async def _give_back(
        self,
        role: Role,
        pool: AsyncConnectionPool[PooledConnection],
        connection: PooledConnection,
    ) -> None:
        self._lent[role] -= 1
        connection.alive_at = time.monotonic()
        await pool.putconn(connection)

    async def _discard(self, role: Role, pool: AsyncConnectionPool[PooledConnection]) -> None:
        async with self._opening:
            if self._pools.get(role) is pool:
                del self._pools[role]
                await pool.close()

    async def _pool(self, role: Role) -> AsyncConnectionPool[PooledConnection]:
        if pool := self._pools.get(role):
            return pool
        async with self._opening:
            if pool := self._pools.get(role):
                return pool
            # A pool retries in silence; a wrong password should be told at once.
            await self._probe(role)
            pool = AsyncConnectionPool[PooledConnection](
                self._address.dsn(role),
                connection_class=PooledConnection,
                kwargs={"autocommit": True, "row_factory": dict_row},
                min_size=0,
                max_size=self._max_size,
                open=False,
                check=check,
                configure=_read_json,
                name=role.value,
            )
            await pool.open()
            self._pools[role] = pool
            return pool

    async def _probe(self, role: Role) -> None:
        connection = await AsyncConnection.connect(self._address.dsn(role))
        await connection.close()


def _begin(user_id: UUID, actor_id: UUID) -> bytes:
    """Begin and set who acts in one round trip; both settings end with the transaction.

    The ids are written into the text: what is no UUID fails here.
    """
    return (
        f"BEGIN; SELECT set_config('alfred.user_id', '{UUID.__str__(user_id)}', true),"
        f" set_config('alfred.actor_id', '{UUID.__str__(actor_id)}', true)"
    ).encode()


async def _commit(role: Role, connection: PooledConnection) -> None:
    """Commit, if the lease that this task may have still holds.

    The server does both without hearing from this process in between, which may be stopped at any
    moment and wake up when its run has long been done by another.
    """
    held = lease.run_lease.get()
    if held is None or role not in WRITING:
        await connection.commit()
        return
    try:
        await connection.beginning.execute(f"{held.check}; COMMIT".encode())
    except psycopg.Error as exc:
        if exc.sqlstate == lease.LOST:
            raise lease.lost() from exc
        raise


async def _read_json(connection: PooledConnection) -> None:
    """Decode JSON without guessing its encoding, as Python's function for bytes does."""
    set_json_loads(_decode_json, connection)


def _decode_json(text: str | bytes) -> object:
    return _JSON.decode(text if isinstance(text, str) else text.decode())


async def _roll_back(connection: Connection) -> None:
    """Roll back without hiding the error that led here."""
    try:
        await connection.rollback()
    except psycopg.Error:
        await connection.close()


async def _forget_session(connection: Connection) -> None:
    """Let no user's session reach the next borrower; a connection that cannot is closed."""
    try:
        if connection.info.transaction_status != TransactionStatus.IDLE:
            await connection.rollback()
        await connection.execute("RESET ALL")
    except psycopg.Error:
        await connection.close()
