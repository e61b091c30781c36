"""Transactions on somebody's behalf: what they see, what stays, what passes through."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from uuid import UUID, uuid4

import psycopg
import pytest

from alfred.engine.database import Connection, Database, Role
from alfred.errors import StoreFailed
from alfred.store.address import Address
from alfred.store.pools import Pools
from tests.postgres import short_home, start_test_server

ADA, BEN = uuid4(), uuid4()
SETTINGS = """
    SELECT current_setting('alfred.user_id', true) AS user_id,
        current_setting('alfred.actor_id', true) AS actor_id
"""
CURRENT_USER = "NULLIF(current_setting('alfred.user_id', true), '')::uuid"


@pytest.fixture(scope="module")
def address() -> Generator[Address]:
    with short_home() as home:
        address = start_test_server(home)
        with psycopg.connect(address.dsn(Role.OWNER)) as owner:
            owner.execute("CREATE TABLE note (user_id uuid, words text, UNIQUE (user_id, words))")
            owner.execute("ALTER TABLE note ENABLE ROW LEVEL SECURITY")
            owner.execute("ALTER TABLE note FORCE ROW LEVEL SECURITY")
            owner.execute(f"CREATE POLICY own ON note USING (user_id = {CURRENT_USER})")
            owner.execute("GRANT SELECT, INSERT, DELETE ON note TO alfred_writer")
            owner.execute("GRANT SELECT ON note TO alfred_reader")
        yield address


@pytest.fixture
async def pools(address: Address) -> AsyncGenerator[Pools]:
    async with Pools(address, max_size=4) as pools:
        yield pools
    with psycopg.connect(address.admin_dsn()) as admin:
        admin.execute("DELETE FROM note")


async def write(connection: Connection, user_id: UUID, words: str) -> None:
    await connection.execute("INSERT INTO note VALUES (%s, %s)", (user_id, words))


async def read(database: Database, user_id: UUID) -> list[str]:
    async with database.transaction(Role.READER, user_id) as connection:
        cursor = await connection.execute("SELECT words FROM note ORDER BY words")
        return [row["words"] for row in await cursor.fetchall()]


async def test_transaction_sees_only_rows_of_its_user(pools: Pools):
    for user_id, words in ((ADA, "of Ada"), (BEN, "of Ben")):
        async with pools.transaction(Role.WRITER, user_id) as connection:
            await write(connection, user_id, words)
    assert await read(pools, ADA) == ["of Ada"]
    assert await read(pools, BEN) == ["of Ben"]


async def test_transaction_cannot_write_rows_of_another_user(pools: Pools):
    with pytest.raises(StoreFailed, match="row-level security") as caught:
        async with pools.transaction(Role.WRITER, ADA) as connection:
            await write(connection, BEN, "forged")
    assert caught.value.code == "store.privilege"
    assert await read(pools, BEN) == []


async def test_reader_cannot_write(pools: Pools):
    with pytest.raises(StoreFailed) as caught:
        async with pools.transaction(Role.READER, ADA) as connection:
            await write(connection, ADA, "written")
    assert caught.value.code == "store.privilege"


async def test_user_and_actor_are_two_settings_that_end_with_the_transaction(address: Address):
    async with Pools(address, max_size=1) as pools:
        async with pools.transaction(Role.WRITER, ADA, actor_id=BEN) as connection:
            backend = connection.info.backend_pid
            row = await (await connection.execute(SETTINGS)).fetchone()
            assert row == {"user_id": str(ADA), "actor_id": str(BEN)}
        async with pools.transaction(Role.WRITER, BEN) as connection:
            assert connection.info.backend_pid == backend
            row = await (await connection.execute(SETTINGS)).fetchone()
            assert row == {"user_id": str(BEN), "actor_id": str(BEN)}
            await connection.rollback()
            row = await (await connection.execute(SETTINGS)).fetchone()
            assert row == {"user_id": "", "actor_id": ""}


async def test_rollback_lets_the_block_see_its_writes_and_keeps_none(pools: Pools):
    async with pools.transaction(Role.WRITER, ADA, rollback=True) as connection:
        await write(connection, ADA, "tried")
        cursor = await connection.execute("SELECT words FROM note")
        assert await cursor.fetchall() == [{"words": "tried"}]
    assert await read(pools, ADA) == []


async def test_error_in_the_block_rolls_back_and_reaches_the_caller(pools: Pools):
    async def write_and_fail(connection: Connection) -> None:
        await write(connection, ADA, "lost")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async with pools.transaction(Role.WRITER, ADA) as connection:
            await write_and_fail(connection)
    assert await read(pools, ADA) == []


async def test_cancelled_block_rolls_back_and_frees_its_connection(address: Address):
    async with Pools(address, max_size=1, checkout_timeout_s=5) as pools:
        entered = asyncio.Event()

        async def sleep_in_transaction() -> None:
            async with pools.transaction(Role.WRITER, ADA) as connection:
                await write(connection, ADA, "cancelled")
                entered.set()
                await connection.execute("SELECT pg_sleep(60)")

        task = asyncio.create_task(sleep_in_transaction())
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with pools.transaction(Role.WRITER, ADA) as connection:
            cursor = await connection.execute("SELECT count(*) AS n FROM note")
            assert await cursor.fetchone() == {"n": 0}


async def test_savepoint_inside_a_transaction_takes_back_its_part_only(pools: Pools):
    async with pools.transaction(Role.WRITER, ADA) as connection:
        await write(connection, ADA, "first")
        async with connection.transaction(force_rollback=True):
            await write(connection, ADA, "tried")
        async with connection.transaction():
            await write(connection, ADA, "second")
    assert await read(pools, ADA) == ["first", "second"]


async def test_unique_violation_passes_through_for_services_to_act_on(pools: Pools):
    async with pools.transaction(Role.WRITER, ADA) as connection:
        await write(connection, ADA, "once")
    with pytest.raises(psycopg.errors.UniqueViolation):
        async with pools.transaction(Role.WRITER, ADA) as connection:
            await write(connection, ADA, "once")


async def test_deadlock_passes_through_for_a_retry_and_one_side_wins(pools: Pools):
    both_hold = asyncio.Barrier(2)

    async def lock(first: int, second: int) -> None:
        async with pools.transaction(Role.WRITER, ADA) as connection:
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (first,))
            await both_hold.wait()
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (second,))

    outcomes = await asyncio.gather(lock(1, 2), lock(2, 1), return_exceptions=True)
    assert sorted(type(o).__name__ for o in outcomes) == ["DeadlockDetected", "NoneType"]


async def test_autocommit_session_acts_for_one_user_and_is_forgotten(address: Address):
    async with Pools(address, max_size=1) as pools:
        async with pools.autocommit(Role.WRITER, ADA) as connection:
            assert connection.autocommit
            assert connection.prepare_threshold == 0
            await write(connection, ADA, "at once")
            assert await read(pools, ADA) == ["at once"]
            await connection.execute("DELETE FROM note")
        async with pools.transaction(Role.WRITER, BEN) as connection:
            assert connection.prepare_threshold == 5
            await connection.rollback()
            row = await (await connection.execute(SETTINGS)).fetchone()
            assert row == {"user_id": "", "actor_id": ""}


async def test_closed_pools_leave_no_connection_and_open_again(address: Address):
    pools = Pools(address)
    async with pools.transaction(Role.RUNTIME, ADA):
        pass
    await pools.close()
    query = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'alfred_runtime'"
    with psycopg.connect(address.admin_dsn(), autocommit=True) as admin:
        for _ in range(100):
            row = admin.execute(query).fetchone()
            if row == (0,):
                break
            await asyncio.sleep(0.02)
        assert row == (0,)
    async with pools.transaction(Role.RUNTIME, ADA):
        pass
    await pools.close()
