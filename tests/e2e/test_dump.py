"""Dump and restore: a copy is complete, private, and never half-made."""

from __future__ import annotations

import stat
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import psycopg
import pytest

from alfred.engine.database import Role
from alfred.errors import StoreFailed
from alfred.store.address import Address, parse_url
from alfred.store.dump import dump, restore
from tests.postgres import short_home, start_test_server


@pytest.fixture(scope="module")
def address() -> Generator[Address]:
    with short_home() as home:
        address = start_test_server(home)
        fill(address, "first")
        yield address


def fill(address: Address, words: str) -> None:
    with psycopg.connect(address.dsn(Role.OWNER)) as owner:
        owner.execute("DROP TABLE IF EXISTS note")
        owner.execute("CREATE TABLE note (words text, meaning vector(2))")
        owner.execute("ALTER TABLE note ENABLE ROW LEVEL SECURITY")
        owner.execute("CREATE POLICY everybody ON note USING (true)")
        owner.execute("GRANT SELECT ON note TO alfred_reader")
        owner.execute("INSERT INTO note VALUES (%s, '[1,2]')", (words,))
        owner.execute("ALTER TABLE note FORCE ROW LEVEL SECURITY")


def read(address: Address) -> list[str]:
    with psycopg.connect(address.dsn(Role.READER)) as reader:
        return [words for (words,) in reader.execute("SELECT words FROM note").fetchall()]


def databases(address: Address) -> set[str]:
    with psycopg.connect(address.admin_dsn()) as admin:
        return {name for (name,) in admin.execute("SELECT datname FROM pg_database").fetchall()}


def test_dump_restores_rows_owner_privileges_and_row_security(address: Address, tmp_path: Path):
    path = tmp_path / "alfred.dump"
    assert dump(address, path) == path.stat().st_size > 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]
    copy = address.in_database("copy")
    restore(copy, path)
    assert read(copy) == read(address) == ["first"]
    with psycopg.connect(copy.admin_dsn()) as admin:
        query = "SELECT relowner::regrole::text, relforcerowsecurity FROM pg_class"
        row = admin.execute(f"{query} WHERE relname = 'note'").fetchone()
        assert row == ("alfred_owner", True)
    with psycopg.connect(copy.dsn(Role.READER), autocommit=True) as reader:
        reader.execute("SET default_transaction_read_only = off")
        for statement in ("DELETE FROM note", "CREATE TEMP TABLE t (n int)", "SELECT lo_create(0)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute(statement)


def test_restore_into_a_database_with_tables_is_refused_until_confirmed(
    address: Address, tmp_path: Path
):
    path = tmp_path / "alfred.dump"
    target = address.in_database("target")
    dump(address, path)
    restore(target, path)
    fill(target, "newer")
    before = databases(address)
    with pytest.raises(StoreFailed, match="not empty: it has 1 tables") as caught:
        restore(target, path)
    assert caught.value.code == "store.dump"
    assert read(target) == ["newer"]
    idle = psycopg.connect(target.dsn(Role.READER))
    restore(target, path, replace=True)
    with pytest.raises(psycopg.OperationalError):
        idle.execute("SELECT 1")
    idle.close()
    assert read(target) == ["first"]
    assert databases(address) == before


def test_failed_restore_changes_nothing_and_leaves_no_database(address: Address, tmp_path: Path):
    path = tmp_path / "alfred.dump"
    target = address.in_database("kept")
    dump(address, path)
    restore(target, path)
    fill(target, "mine")
    before = databases(address)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 200])
    with pytest.raises(StoreFailed) as caught:
        restore(target, path, replace=True)
    assert caught.value.code == "store.dump"
    assert read(target) == ["mine"]
    assert databases(address) == before


@pytest.mark.parametrize("content", [b"", b"no archive", None])
def test_file_that_is_no_dump_is_told_before_anything_happens(
    address: Address, tmp_path: Path, content: bytes | None
):
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StoreFailed) as caught:
        restore(address.in_database("never"), path)
    assert caught.value.code == "store.dump"
    assert "never" not in databases(address)


def test_dump_that_cannot_be_written_leaves_the_older_file(address: Address, tmp_path: Path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreFailed, match="cannot be written") as caught:
        dump(address, tmp_path / "folder")
    assert caught.value.code == "store.dump"
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]
    with pytest.raises(StoreFailed, match="cannot be written"):
        dump(address, tmp_path / "missing" / "alfred.dump")


def test_password_stands_not_on_the_command_line_of_a_dump(address: Address, tmp_path: Path):
    assert address.password is not None
    path = tmp_path / "alfred.dump"
    seen: list[str] = []
    with ThreadPoolExecutor() as threads:
        with psycopg.connect(address.dsn(Role.OWNER)) as owner:
            # The dump waits for this lock, so that it can be looked at.
            owner.execute("LOCK TABLE note IN ACCESS EXCLUSIVE MODE")
            dumping = threads.submit(dump, address, path)
            while not seen:
                children = psutil.Process().children()
                seen = [" ".join(c.cmdline()) for c in children if c.name() == "pg_dump"]
        assert dumping.result(timeout=30) > 0
    assert "--format=custom" in seen[0]
    assert address.password not in seen[0]


def test_external_database_is_dumped_but_never_replaced(address: Address, tmp_path: Path):
    path = tmp_path / "alfred.dump"
    host = address.parameters["host"]
    url = f"postgresql://postgres:{address.password}@/alfred?host={host}"
    external = parse_url(url, key="")
    assert external.secret == address.secret
    dump(external, path)
    with pytest.raises(StoreFailed, match="only its own embedded") as caught:
        restore(external, path, replace=True)
    assert caught.value.code == "store.embedded_only"
    assert read(address) == ["first"]
