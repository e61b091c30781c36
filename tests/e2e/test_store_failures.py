"""What goes wrong with a database, and which error says so."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from alfred.engine.database import Role
from alfred.errors import StoreFailed
from alfred.settings import Settings
from alfred.store.address import Address, parse_url
from alfred.store.embedded import EmbeddedServer, ServerOptions
from alfred.store.installation import find_installation
from alfred.store.location import locate
from alfred.store.pools import Pools
from alfred.store.roles import provision
from tests.postgres import FAST, short_home, start_test_server

USER = uuid4()


@pytest.fixture(scope="module")
def address() -> Generator[Address]:
    with short_home() as home:
        yield start_test_server(home)


@pytest.fixture
def small_disk() -> Generator[Path]:
    """A home on a disk of 100 MB, of which a new cluster takes 40."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    with short_home() as home:
        mount = ["mount", "-t", "tmpfs", "-o", "size=100m,mode=0711", "tmpfs", str(home)]
        subprocess.run(mount, check=True)
        try:
            yield home
        finally:
            EmbeddedServer(home, options=FAST).stop()
            subprocess.run(["umount", str(home)], check=True)


def as_external(address: Address, login: str, *, dbname: str = "alfred") -> Address:
    """Address the embedded server as somebody who only has a URL; `login` is USER:PASSWORD."""
    host, port = address.parameters["host"], address.parameters["port"]
    return parse_url(f"postgresql://{login}@/{dbname}?host={host}&port={port}", key="k")


def change(address: Address, *statements: str) -> None:
    with psycopg.connect(address.admin_dsn(), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def fill(directory: Path, *, leave_bytes: int) -> Path:
    ballast = directory / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(directory).free - leave_bytes)
    return ballast


def test_url_to_a_port_where_nothing_listens_is_unreachable(tmp_path: Path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        url = f"postgresql://ada:secret@127.0.0.1:{port}/alfred"
        address = locate(Settings(home=tmp_path, database_url=url))
        with pytest.raises(StoreFailed) as caught:
            provision(address)
    assert caught.value.code == "store.unreachable"
    assert f"127.0.0.1:{port}" in caught.value.message
    assert "ALFRED_DATABASE_URL" in caught.value.hint
    assert "secret" not in str(caught.value)


def test_url_to_a_service_that_is_no_postgresql_is_unreachable():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        url = f"postgresql://ada:s@127.0.0.1:{port}/alfred?connect_timeout=2"
        with pytest.raises(StoreFailed) as caught:
            provision(parse_url(url, key=""))
    assert caught.value.code == "store.unreachable"


def test_wrong_password_in_the_url_is_told_as_such(address: Address):
    with pytest.raises(StoreFailed, match="postgres") as caught:
        provision(as_external(address, "postgres:wrong"))
    assert caught.value.code == "store.authentication"
    assert "ALFRED_DATABASE_URL" in caught.value.hint


def test_unknown_user_in_the_url_is_told_as_such(address: Address):
    with pytest.raises(StoreFailed, match="nobody_here") as caught:
        provision(as_external(address, "nobody_here:wrong"))
    assert caught.value.code == "store.authentication"


def test_database_that_does_not_exist_is_named(address: Address):
    wrong = as_external(address, f"postgres:{address.password}", dbname="elsewhere")
    with pytest.raises(StoreFailed, match="no database 'elsewhere'") as caught:
        provision(wrong)
    assert caught.value.code == "store.unreachable"


def test_login_without_createrole_is_told_what_it_lacks(address: Address):
    change(address, "CREATE ROLE plain LOGIN PASSWORD 'plain'")
    with pytest.raises(StoreFailed, match=r"plain may not .* alfred_owner") as caught:
        provision(as_external(address, "plain:plain"))
    assert caught.value.code == "store.privilege"


def test_administrator_without_superuser_may_provision_and_is_told_what_stays_weak(
    address: Address,
):
    change(
        address,
        "CREATE ROLE admin LOGIN CREATEROLE PASSWORD 'admin'",
        "CREATE DATABASE managed OWNER admin",
        *(f"GRANT {role} TO admin WITH ADMIN OPTION" for role in Role),
    )
    change(address.in_database("managed"), "CREATE EXTENSION vector")
    external = as_external(address, "admin:admin", dbname="managed")
    try:
        notes = provision(external)
        assert len(notes) == 1
        assert "lo_create" in notes[0]
        for role in Role:
            with psycopg.connect(external.dsn(role)) as connection:
                assert connection.info.user == role.value
    finally:
        # The passwords of the roles belong to the whole server.
        provision(address)


def test_server_without_pgvector_is_told(address: Address):
    found = find_installation()
    with short_home() as home:
        root = home / "programs" / found.root.parent.name / found.root.name
        for name in ("bin", "lib", "share"):
            shutil.copytree(found.root / name, root / name)
        if found.libraries:
            shutil.copytree(found.libraries, home / "programs" / found.libraries.name)
        (root / "share" / "postgresql" / "extension" / "vector.control").unlink()
        options = ServerOptions(durable=False, installation=replace(found, root=root))
        bare = EmbeddedServer(home, options=options).ensure()
        with pytest.raises(StoreFailed, match="pgvector") as caught:
            provision(bare)
        assert caught.value.code == "store.pgvector"
        # Nothing half-made is left behind.
        with psycopg.connect(bare.admin_dsn()) as connection:
            query = "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'alfred%'"
            assert connection.execute(query).fetchone() == (0,)


def test_database_in_another_encoding_is_told(address: Address):
    statement = "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc"
    change(address, f"{statement} TEMPLATE template0")
    latin = as_external(address, f"postgres:{address.password}", dbname="latin")
    with pytest.raises(StoreFailed, match="LATIN1") as caught:
        provision(latin)
    assert caught.value.code == "store.encoding"


async def test_role_whose_password_changed_is_told_to_migrate_and_then_works(address: Address):
    change(address, "ALTER ROLE alfred_reader PASSWORD 'other'")
    async with Pools(address) as pools:
        with pytest.raises(StoreFailed, match="alfred_reader") as caught:
            async with pools.transaction(Role.READER, USER):
                pytest.fail("the login was accepted")
        assert caught.value.code == "store.authentication"
        assert "alfred db migrate" in caught.value.hint
        provision(address)
        async with pools.transaction(Role.READER, USER) as connection:
            assert connection.info.user == Role.READER


async def test_missing_table_asks_for_migration(address: Address):
    async with Pools(address) as pools:
        with pytest.raises(StoreFailed, match="no_such_table") as caught:
            async with pools.transaction(Role.READER, USER) as connection:
                await connection.execute("SELECT FROM no_such_table")
    assert caught.value.code == "store.not_migrated"


async def test_lock_that_is_held_too_long_is_busy(address: Address):
    async with Pools(address) as pools, pools.transaction(Role.WRITER, USER) as holder:
        await holder.execute("SELECT pg_advisory_xact_lock(4)")
        statement = "SET LOCAL lock_timeout = '50ms'; SELECT pg_advisory_xact_lock(4)"
        with pytest.raises(StoreFailed) as caught:
            async with pools.transaction(Role.WRITER, USER) as waiter:
                await waiter.execute(statement)
    assert caught.value.code == "store.busy"


async def test_pool_without_a_free_connection_is_busy(address: Address):
    pools = Pools(address, max_size=1, checkout_timeout_s=0.2)
    async with pools, pools.transaction(Role.WRITER, USER):
        with pytest.raises(StoreFailed, match="All 1 connections of alfred_writer") as caught:
            async with pools.transaction(Role.WRITER, USER):
                pytest.fail("there was a second connection")
    assert caught.value.code == "store.busy"


async def test_restart_of_the_server_costs_no_failed_transaction(address: Address):
    home = Path(address.parameters["host"]).parent
    async with Pools(address) as pools:
        for _ in range(3):
            async with pools.transaction(Role.READER, USER) as connection:
                await connection.execute("SELECT 1")
            server = EmbeddedServer(home, options=FAST)
            server.stop()
            server.ensure()


async def test_connection_lost_inside_a_transaction_is_unreachable(address: Address):
    async with Pools(address) as pools:
        statement = "SELECT pg_terminate_backend(pg_backend_pid())"
        with pytest.raises(StoreFailed) as caught:
            async with pools.transaction(Role.WRITER, USER) as connection:
                await connection.execute(statement)
        assert caught.value.code == "store.unreachable"
        async with pools.transaction(Role.WRITER, USER) as connection:
            await connection.execute("SELECT 1")


async def test_server_that_is_stopped_is_unreachable_and_found_again(address: Address):
    home = Path(address.parameters["host"]).parent
    server = EmbeddedServer(home, options=FAST)
    async with Pools(address, checkout_timeout_s=1.0) as pools:
        async with pools.transaction(Role.READER, USER) as connection:
            await connection.execute("SELECT 1")
        server.stop()
        with pytest.raises(StoreFailed, match="does not answer") as caught:
            async with pools.transaction(Role.READER, USER):
                pytest.fail("the server was stopped")
        assert caught.value.code == "store.unreachable"
        server.ensure()
        async with pools.transaction(Role.READER, USER) as connection:
            await connection.execute("SELECT 1")


async def test_full_disk_writes_nothing_and_the_same_server_works_once_there_is_room(
    small_disk: Path,
):
    address = start_test_server(small_disk)
    change(address, "CREATE TABLE note (words text)", "GRANT ALL ON note TO alfred_writer")
    ballast = fill(small_disk, leave_bytes=3_000_000)
    statement = "INSERT INTO note SELECT repeat(n::text, 400) FROM generate_series(1, 20000) n"
    async with Pools(address) as pools:
        with pytest.raises(StoreFailed, match="nothing of this transaction") as caught:
            async with pools.transaction(Role.WRITER, USER) as connection:
                await connection.execute(statement)
        assert caught.value.code == "store.disk_full"
        async with pools.transaction(Role.WRITER, USER) as connection:
            cursor = await connection.execute("SELECT count(*) AS n FROM note")
            assert await cursor.fetchone() == {"n": 0}
        ballast.unlink()
        async with pools.transaction(Role.WRITER, USER) as connection:
            await connection.execute("INSERT INTO note VALUES ('room again')")


def test_first_start_on_a_full_disk_is_told_and_works_once_there_is_room(small_disk: Path):
    ballast = fill(small_disk, leave_bytes=20_000_000)
    server = EmbeddedServer(small_disk, options=FAST)
    with pytest.raises(StoreFailed, match="disk is full") as caught:
        server.ensure()
    assert caught.value.code == "store.disk_full"
    assert "ALFRED_HOME" in caught.value.hint
    ballast.unlink()
    provision(server.ensure())


def test_start_on_a_disk_without_one_free_byte_is_told(small_disk: Path):
    server = EmbeddedServer(small_disk, options=FAST)
    server.ensure()
    server.stop()
    ballast = fill(small_disk, leave_bytes=0)
    with pytest.raises(StoreFailed) as caught:
        server.ensure()
    assert caught.value.code == "store.disk_full"
    ballast.unlink()
    server.ensure()


def test_home_on_a_disk_that_was_full_from_the_beginning_is_told(small_disk: Path):
    ballast = fill(small_disk, leave_bytes=0)
    server = EmbeddedServer(small_disk, options=FAST)
    with pytest.raises(StoreFailed) as caught:
        server.ensure()
    assert caught.value.code == "store.disk_full"
    ballast.unlink()
    server.ensure()
