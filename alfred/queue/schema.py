"""The queue's schema: Procrastinate's tables, and functions that run as their owner."""

from __future__ import annotations

from importlib import resources
from typing import LiteralString, cast

import psycopg
from psycopg import sql

from alfred.engine.database import Role

SCHEMA = "queue"
REVISION = "procrastinate-3.10.0"
"""The library's release whose tables these are."""
_EVERY_RUN: tuple[LiteralString, ...] = (
    *("enqueue_turn", "waiting", "forgotten", "enrol", "members", "is_news"),
    *("finish", "hand_back", "beat"),
    *("procrastinate_fetch_job_v2", "procrastinate_defer_periodic_job_v2"),
    *("procrastinate_register_worker_v1", "procrastinate_unregister_worker_v1"),
    *("procrastinate_prune_stalled_workers_v1", "procrastinate_update_heartbeat_v1"),
)
"""What the runtime login calls; the other functions are called by these."""


def prepare_queue(dsn: str) -> None:
    """Create the queue's tables where they are missing, and write its functions anew.

    `dsn` is the owner's. No login has a privilege on the tables but to read which jobs are to be
    aborted; what a job is made of stands in functions that run as the owner.
    """
    from procrastinate.schema import SchemaManager  # 0.3 s of CPU to import

    with psycopg.connect(dsn) as connection:
        connection.execute(_sql("CREATE SCHEMA IF NOT EXISTS {0}"))
        connection.execute(_sql("SET LOCAL search_path = {0}, public"))
        found = connection.execute("SELECT to_regclass('queue.procrastinate_jobs')").fetchone()
        if found == (None,):
            connection.execute(SchemaManager.get_schema())
        connection.execute(_functions())
        for (function,) in connection.execute(_OWN_FUNCTIONS).fetchall():
            _secure(connection, function)
        connection.execute(_sql("GRANT USAGE ON SCHEMA {0} TO {1}, {2}"))
        connection.execute(_sql("GRANT SELECT ON {0}.procrastinate_jobs TO {1}"))
        for name in _EVERY_RUN:
            connection.execute(_sql("GRANT EXECUTE ON ROUTINE {0}.") + sql.SQL(name) + _TO_RUNTIME)
        connection.execute(_sql("GRANT EXECUTE ON ROUTINE {0}.hold_lease TO {1}, {2}"))


_TO_RUNTIME = sql.SQL(" TO {}").format(sql.Identifier(Role.RUNTIME))
_OWN_FUNCTIONS: LiteralString = (
    "SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'queue'::regnamespace"
)


def _secure(connection: psycopg.Connection, function: LiteralString) -> None:
    """Let a function run as the owner, for those who are named; names are looked up here only."""
    # The name comes from the catalogue, in the form that SQL reads back.
    name = sql.SQL(function)
    for statement in (
        sql.SQL("ALTER FUNCTION {} SECURITY DEFINER SET search_path = queue, pg_temp"),
        sql.SQL("REVOKE ALL ON FUNCTION {} FROM PUBLIC"),
    ):
        connection.execute(statement.format(name))


def _sql(text: LiteralString) -> sql.Composed:
    names = (SCHEMA, Role.RUNTIME.value, Role.WRITER.value)
    return sql.SQL(text).format(*map(sql.Identifier, names))


def _functions() -> LiteralString:
    text = (resources.files("alfred.queue") / "functions.sql").read_text(encoding="utf-8")
    return cast(LiteralString, text)
