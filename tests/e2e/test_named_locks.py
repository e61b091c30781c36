"""Locks by name: one holder at a time, among tasks of a process and among processes."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from alfred.engine.database import Role
from alfred.store.address import Address
from alfred.store.named_locks import NamedLocks

TRY = "SELECT pg_try_advisory_lock(hashtextextended(%s, 1))"


def is_free(address: Address, name: str) -> bool:
    """Ask from outside, in a session that ends at once and lets go of what it got."""
    with psycopg.connect(address.admin_dsn(), autocommit=True) as outside:
        row = outside.execute(TRY, (name,)).fetchone()
        assert row is not None
        return row[0]


async def test_of_two_tasks_one_holds_a_lock_and_the_other_is_told(database: Address) -> None:
    locks = NamedLocks(database, Role.RUNTIME)
    async with locks.hold("turn/a", patience_s=0) as first:
        async with locks.hold("turn/a", patience_s=0) as second:
            assert (first, second) == (True, False)
        assert not is_free(database, "turn/a")
    assert is_free(database, "turn/a")
    await locks.close()


async def test_who_waits_gets_the_lock_once_it_is_free(database: Address) -> None:
    locks = NamedLocks(database, Role.RUNTIME)
    order: list[str] = []

    async def wait() -> None:
        async with locks.hold("turn/b", patience_s=30) as is_held:
            order.append("second" if is_held else "gave up")

    async with locks.hold("turn/b", patience_s=0):
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        order.append("first")
    await waiting
    assert order == ["first", "second"]
    await locks.close()


async def test_two_holders_with_connections_of_their_own_exclude_each_other(
    database: Address,
) -> None:
    ours, theirs = NamedLocks(database, Role.RUNTIME), NamedLocks(database, Role.RUNTIME)
    async with (
        ours.hold("turn/c", patience_s=0) as held,
        theirs.hold("turn/c", patience_s=0) as refused,
        theirs.hold("turn/d", patience_s=0) as other,
    ):
        assert (held, refused, other) == (True, False, True)
    await ours.close()
    await theirs.close()


async def test_a_lost_connection_is_replaced_and_its_locks_are_taken_again(
    database: Address,
) -> None:
    locks = NamedLocks(database, Role.RUNTIME)
    async with locks.hold("turn/e", patience_s=0):
        with psycopg.connect(database.admin_dsn(), autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks"
                " WHERE locktype = 'advisory' AND pid <> pg_backend_pid() AND objsubid = 1"
                " AND (classid::bigint << 32 | objid::bigint) = hashtextextended('turn/e', 1)"
            )
        assert is_free(database, "turn/e")
        async with locks.hold("turn/f", patience_s=0) as is_held:
            assert is_held
        assert not is_free(database, "turn/e")
    assert is_free(database, "turn/e")
    await locks.close()


async def test_a_cancelled_holder_lets_go(database: Address) -> None:
    locks = NamedLocks(database, Role.RUNTIME)
    holds = asyncio.Event()

    async def hold() -> None:
        async with locks.hold("turn/g", patience_s=0):
            holds.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    await holds.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert is_free(database, "turn/g")
    await locks.close()
