"""Migrations: they make what the tables say, once, whoever calls them and however many."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import NullPool, create_engine
from sqlalchemy.types import UserDefinedType

from alfred.engine.database import Role
from alfred.engine.tables import METADATA
from alfred.errors import StoreFailed
from alfred.installed import load_domains
from alfred.store.address import Address
from alfred.store.migrate import expected_revisions, migrate, read_revisions
from alfred.store.roles import MAINTENANCE_DATABASE, provision
from alfred.store.tables import job, kernel
from tests.postgres import short_home
from tests.world import look

ROOT = Path(__file__).parents[2]
MIGRATE = """
import json, sys
from alfred.installed import load_domains
from alfred.store.address import Address
from alfred.store.migrate import migrate
given = json.loads(sys.stdin.readline())
address = Address(**{**given, "secret": bytes.fromhex(given["secret"])})
domains = load_domains()
print("ready", flush=True)
sys.stdin.readline()
print(json.dumps(migrate(address, domains)), flush=True)
"""
NOT_OURS = {"alembic_version", "schema_part", "checkpoint_migrations", "checkpoints"} | {
    "checkpoint_blobs",
    "checkpoint_writes",
}


@pytest.fixture
def empty(database: Address) -> Generator[Address]:
    """Give a database with roles and nothing else."""
    fresh = database.in_database(f"fresh_{uuid4().hex[:12]}")
    provision(fresh)
    yield fresh
    maintenance = database.in_database(MAINTENANCE_DATABASE)
    with psycopg.connect(maintenance.admin_dsn(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {fresh.dbname} WITH (FORCE)")  # type: ignore[arg-type]


def shape(address: Address) -> list[dict[str, Any]]:
    """Describe every column, constraint and policy."""
    return look(
        address,
        "SELECT attrelid::regclass::text AS of, attname AS name,"
        " format_type(atttypid, atttypmod) || attnotnull AS what FROM pg_attribute"
        " JOIN pg_class c ON c.oid = attrelid WHERE relnamespace = 'public'::regnamespace"
        " AND attnum > 0 AND relkind = 'r' AND NOT attisdropped"
        " UNION ALL SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)"
        " FROM pg_constraint WHERE connamespace = 'public'::regnamespace"
        " UNION ALL SELECT tablename, policyname, coalesce(qual, '') || coalesce(with_check, '')"
        " FROM pg_policies ORDER BY 1, 2, 3",
    )


def test_the_migrated_schema_is_the_one_that_the_tables_declare(database: Address) -> None:
    assert kernel.EVENT.metadata is job.JOB_POSTING.metadata is METADATA
    engine = create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(database.dsn(Role.OWNER)),
        poolclass=NullPool,
    )

    def is_ours(thing: Any, name: str | None, kind: str, _: bool, __: Any) -> bool:
        return not (kind == "table" and name in NOT_OURS)

    def differs(_: Any, __: Any, column: Any, found: Any, declared: Any) -> bool | None:
        if isinstance(declared, UserDefinedType):  # pgvector's, which SQLAlchemy does not know
            query = (
                "SELECT format_type(atttypid, atttypmod) AS type FROM pg_attribute"
                " WHERE attrelid = %s::regclass AND attname = %s"
            )
            (row,) = look(database, query, [column.table.name, column.name])
            return row["type"] != declared.get_col_spec()
        return None

    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "compare_type": differs,
                "compare_server_default": True,
                "include_object": is_ours,
            },
        )
        with pytest.warns(Warning, match="Did not recognize type 'vector'"):
            assert compare_metadata(context, METADATA) == []


def test_migrating_again_adds_nothing_and_changes_nothing(empty: Address) -> None:
    domains = load_domains()
    assert migrate(empty, domains) == sorted(expected_revisions(domains).values())
    before = shape(empty)
    assert migrate(empty, domains) == []
    assert shape(empty) == before
    assert len(before) > 200


def test_a_migration_that_was_cut_off_before_it_was_noted_is_completed(empty: Address) -> None:
    domains = load_domains()
    migrate(empty, domains)
    before = shape(empty)
    with psycopg.connect(empty.admin_dsn()) as outside:
        outside.execute("DROP TABLE schema_part")
        outside.execute("DROP POLICY own_turn ON checkpoints")
        outside.execute("ALTER TABLE checkpoints NO FORCE ROW LEVEL SECURITY")
    assert read_revisions(empty) == {}
    migrate(empty, domains)
    assert shape(empty) == before
    (forced,) = look(
        empty, "SELECT relforcerowsecurity FROM pg_class WHERE relname = 'checkpoints'"
    )
    assert forced["relforcerowsecurity"]


def test_of_processes_that_migrate_at_once_one_does_it_and_the_others_find_it_done(
    empty: Address,
) -> None:
    given = json.dumps({**asdict(empty), "secret": empty.secret.hex()})
    children = [
        subprocess.Popen(
            [sys.executable, "-c", MIGRATE],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for child in children:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(given + "\n")
        child.stdin.flush()
        assert child.stdout.readline() == "ready\n"
    said = [child.communicate("go\n", timeout=120)[0] for child in children]
    assert [child.returncode for child in children] == [0, 0]
    added = sorted(json.loads(text) for text in said)
    assert added == [[], sorted(expected_revisions(load_domains()).values())]


def test_a_database_of_a_newer_alfred_is_refused_with_a_sentence(empty: Address) -> None:
    domains = load_domains()
    migrate(empty, domains)
    with psycopg.connect(empty.admin_dsn()) as outside:
        outside.execute("UPDATE alembic_version SET version_num = version_num || '_later'")
        outside.execute("UPDATE schema_part SET revision = '0099_later'")
    with pytest.raises(StoreFailed) as caught:
        migrate(empty, domains)
    assert caught.value.code == "store.not_migrated"
    assert "newer" in caught.value.hint


def test_a_migration_that_the_server_refuses_ends_with_a_sentence(empty: Address) -> None:
    with psycopg.connect(empty.admin_dsn()) as outside:
        outside.execute("REVOKE CREATE ON SCHEMA public FROM alfred_owner")
    with pytest.raises(StoreFailed) as caught:
        migrate(empty, load_domains())
    assert caught.value.code == "store.privilege"


def test_first_commands_at_once_in_a_new_home_both_succeed() -> None:
    with short_home() as home:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("ALFRED_")}
        first, second = (
            subprocess.Popen(
                [sys.executable, "-m", "alfred", "pending"],
                env={**kept, "ALFRED_HOME": str(home)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        )
        try:
            for process in (first, second):
                out, err = process.communicate(timeout=90)
                assert process.returncode == 0, err
                assert "Nothing waits for you." in out
        finally:
            first.kill()
            second.kill()
