"""Brings a database's schema to what this Alfred and its domains need."""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from alfred.engine.database import Role
from alfred.engine.domain import Domain
from alfred.errors import StoreFailed
from alfred.queue import schema as queue
from alfred.store.address import Address
from alfred.store.advisory_lock import advisory_lock
from alfred.store.driver_errors import translated
from alfred.store.row_security import CURRENT_USER

KERNEL_REVISION = "0004_kernel_events"
_FOLDER = Path(__file__).parent / "migrations"
_LOCK = 0x616C66726564
_PATIENCE_S = 300.0
CHECKPOINT_TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


def expected_revisions(domains: Sequence[Domain]) -> dict[str, str]:
    """Name the newest revision of the kernel, of the queue and of each domain."""
    own = {"kernel": KERNEL_REVISION, queue.SCHEMA: queue.REVISION}
    return own | {d.name: d.revision for d in domains if d.revision}


def read_revisions(address: Address) -> dict[str, str]:
    """Read which revision each part of a database has; none, where it was never migrated.

    Alembic's own table leaves out what another revision depends on, and knowing what that implies
    would take the slow import of its scripts; so the parts are written down beside it.
    Errors: `StoreFailed`; `store.authentication` also where the roles were never made.
    """
    with _as_owner(address) as connection:
        found = connection.execute("SELECT to_regclass('schema_part')").fetchone()
        if found is None or found[0] is None:
            return {}
        return dict(connection.execute("SELECT part, revision FROM schema_part").fetchall())


def migrate(address: Address, domains: Sequence[Domain]) -> list[str]:
    """Run the missing migrations as the owner; return the revisions that were added.

    Several processes may call it at once: one migrates, the others wait and find it done.
    Errors: `store.not_migrated` if the database has a revision this Alfred does not know.
    """
    dsn = address.dsn(Role.OWNER)
    with _as_owner(address) as guard, advisory_lock(guard, _LOCK, timeout_s=_PATIENCE_S):
        before = read_revisions(address)
        expected = expected_revisions(domains)
        if is_current(before, expected):
            return []
        with _stand_ins({r for part, r in before.items() if part not in expected}) as absent:
            folders = [_FOLDER / "kernel", *(d.migrations for d in domains if d.migrations), absent]
            _run_alembic(dsn, folders)
        _prepare_checkpoints(dsn)
        queue.prepare_queue(dsn)
        guard.execute(
            "CREATE TABLE IF NOT EXISTS schema_part (part text PRIMARY KEY, revision text NOT NULL)"
        )
        guard.cursor().executemany(
            "INSERT INTO schema_part VALUES (%s, %s)"
            " ON CONFLICT (part) DO UPDATE SET revision = excluded.revision",
            list(expected.items()),
        )
        return sorted(r for part, r in expected.items() if before.get(part) != r)


@contextmanager
def _as_owner(address: Address) -> Generator[psycopg.Connection]:
    dsn = address.dsn(Role.OWNER)
    with translated(address, Role.OWNER), psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def is_current(found: Mapping[str, str], expected: Mapping[str, str]) -> bool:
    """Say whether every installed part is at its revision; parts of other packages may be there."""
    return all(found.get(part) == revision for part, revision in expected.items())


@contextmanager
def _stand_ins(revisions: Collection[str]) -> Generator[Path]:
    """Write a revision that does nothing for each of a domain that is not installed any more.

    Alembic refuses a database with a revision that it does not know; its tables stay as they are.
    """
    with TemporaryDirectory(prefix="alfred-migrations-") as folder:
        for number, revision in enumerate(sorted(revisions)):
            text = f"revision, down_revision = {revision!r}, None\n\n\ndef upgrade(): ...\n"
            Path(folder, f"absent_{number}.py").write_text(text, encoding="utf-8")
        yield Path(folder)


def _run_alembic(dsn: str, folders: Sequence[Path]) -> None:
    # Alembic costs 0.3 s of CPU to import, and a database that is current never needs it.
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError
    from sqlalchemy import NullPool, create_engine
    from sqlalchemy.exc import DBAPIError

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
        except DBAPIError as error:
            # SQLAlchemy wraps the driver's error, which our adapter knows by its class.
            raise (error.orig or error) from error
        connection.commit()


def _prepare_checkpoints(dsn: str) -> None:
    """Create LangGraph's tables and let each user reach only the checkpoints of own turns.

    The tables have no user column; a run's thread is its turn, whose row security decides;
    behind a slash stands the name of a graph that runs inside the turn with a thread of its own.
    """
    from langgraph.checkpoint.postgres import PostgresSaver  # 1 s of CPU to import

    with psycopg.Connection[DictRow].connect(
        dsn, autocommit=True, row_factory=dict_row
    ) as connection:
        PostgresSaver(connection).setup()
        visible = (
            f"EXISTS (SELECT 1 FROM turn WHERE turn.user_id = {CURRENT_USER}"  # noqa: S608 - constants
            " AND turn.id = split_part(thread_id, '/', 1)::uuid)"
        )
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
