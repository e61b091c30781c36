"""Brings a database's schema to what this Alfred and its domains need."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from alfred.engine.database import Role
from alfred.engine.domain import Domain
from alfred.errors import StoreFailed
from alfred.store.row_security import CURRENT_USER

KERNEL_REVISION = "0001_kernel"
_FOLDER = Path(__file__).parent / "migrations"
_LOCK = 0x616C66726564
CHECKPOINT_TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


def expected_revisions(domains: Sequence[Domain]) -> frozenset[str]:
    """Name the newest revision of the kernel and of each domain."""
    return frozenset({KERNEL_REVISION, *(d.revision for d in domains if d.revision)})


def read_revisions(dsn: str) -> frozenset[str]:
    """Read which revisions a database has; none, where it was never migrated."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        found = connection.execute("SELECT to_regclass('alembic_version')").fetchone()
        if found is None or found[0] is None:
            return frozenset()
        rows = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    return frozenset(row[0] for row in rows)


def migrate(dsn: str, domains: Sequence[Domain]) -> list[str]:
    """Run the missing migrations as the owner; return the revisions that were added.

    Several processes may call it at once: one migrates, the others wait and find it done.
    Errors: `store.not_migrated` if the database has a revision this Alfred does not know.
    """
    with psycopg.connect(dsn, autocommit=True) as guard:
        guard.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        before = read_revisions(dsn)
        expected = expected_revisions(domains)
        if before == expected:
            return []
        _run_alembic(dsn, domains)
        _prepare_checkpoints(dsn)
        return sorted(read_revisions(dsn) - before)


def _run_alembic(dsn: str, domains: Sequence[Domain]) -> None:
    # Alembic costs 0.3 s of CPU to import, and a database that is current never needs it.
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError
    from sqlalchemy import NullPool, create_engine

    folders = [_FOLDER / "kernel", *(d.migrations for d in domains if d.migrations)]
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    locations = os.pathsep.join(map(str, folders))
    config.set_main_option("version_locations", locations.replace("%", "%%"))
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(dsn), poolclass=NullPool
    )
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "heads")
        except CommandError as error:
            raise StoreFailed(
                "store.not_migrated",
                f"The database's schema cannot be brought up to date: {error}.",
                hint="It was probably used by a newer Alfred; install that one again.",
            ) from error
        connection.commit()


def _prepare_checkpoints(dsn: str) -> None:
    """Create LangGraph's tables and let each user reach only the checkpoints of own turns.

    The tables have no user column; a run's thread is its turn, whose row security decides.
    """
    from langgraph.checkpoint.postgres import PostgresSaver  # 1 s of CPU to import

    with psycopg.Connection[DictRow].connect(
        dsn, autocommit=True, row_factory=dict_row
    ) as connection:
        PostgresSaver(connection).setup()
        visible = f"EXISTS (SELECT 1 FROM turn WHERE turn.user_id = {CURRENT_USER}"
        visible += " AND turn.id = thread_id::uuid)"
        for table in CHECKPOINT_TABLES:
            name = sql.Identifier(table)
            connection.execute(
                sql.SQL(
                    "ALTER TABLE {0} ENABLE ROW LEVEL SECURITY;"
                    "ALTER TABLE {0} FORCE ROW LEVEL SECURITY;"
                    "DROP POLICY IF EXISTS own_turn ON {0};"
                    "CREATE POLICY own_turn ON {0} USING ({1}) WITH CHECK ({1});"
                    "GRANT SELECT, INSERT, UPDATE, DELETE ON {0} TO {2}"
                ).format(name, sql.SQL(visible), sql.Identifier(Role.RUNTIME))  # type: ignore[arg-type]
            )
        runtime = sql.Identifier(Role.RUNTIME)
        connection.execute(sql.SQL("GRANT SELECT ON checkpoint_migrations TO {}").format(runtime))
