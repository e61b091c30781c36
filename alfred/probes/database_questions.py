"""The questions that may be put to PostgreSQL's statistics views; no other statement is sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from alfred.probes.said import say_count, say_number, say_text

Row = Mapping[str, Any]
MAX_ROWS = 25
EXTENSION = "pg_stat_statements"
_QUERY_CHARS = 120
_LITERAL = re.compile(r"'(?:[^']|'')*(?:'|$)")


@dataclass(frozen=True)
class DatabaseQuestion:
    """One statement and how its rows are told; `searched` says what none of them means."""

    searched: str
    statement: str
    tell: Callable[[Row], str]


def _activity(row: Row) -> str:
    waits = f", waits for {row['waits_for']}" if row["waits_for"] else ""
    statement = _statement(row["query"])
    since = f"{_seconds(row['state_s'])}, transaction open {_seconds(row['xact_s'])}"
    who = f"pid {row['pid']} {row['usename']}@{row['datname']}"
    return f"{who} {row['state'] or 'in a hidden state'} for {since}{waits}: {statement}"


def _locks(row: Row) -> str:
    return (
        f"pid {row['pid']} waits {_seconds(row['waits_s'])} for {row['mode']} on"
        f" {_relation(row['relation']) or row['locktype']}, held up by pid {row['blockers']}"
        f" ({row['blocker_state'] or 'in a hidden state'} for {_seconds(row['blocker_s'])}):"
        f" {_statement(row['query'])}; the other:"
        f" {_statement(row['blocker_query'])}"
    )


def _slow_statements(row: Row) -> str:
    return (
        f"mean {_milliseconds(row['mean_exec_time'])}, max {_milliseconds(row['max_exec_time'])},"
        f" {say_count(row['calls'], 'call')}, total {_milliseconds(row['total_exec_time'])}:"
        f" {_statement(row['query'])}"
    )


def _database(row: Row) -> str:
    return (
        f"{row['datname']}: {say_count(row['numbackends'], 'connection')},"
        f" {row['xact_commit']} commits, {row['xact_rollback']} rollbacks,"
        f" {row['deadlocks']} deadlocks, {row['temp_files']} temporary files,"
        f" cache hits {_percent(row['hit_share'])}, size {row['bytes']} bytes"
    )


def _tables(row: Row) -> str:
    relation = _relation(row["relation"])
    vacuumed = f"{row['vacuumed']:%Y-%m-%dT%H:%M:%SZ}" if row["vacuumed"] else "never"
    return (
        f"{relation}: {row['seq_scan']} sequential scans reading {row['seq_tup_read']} rows,"
        f" {row['idx_scan'] or 0} index scans, {row['n_live_tup']} live and {row['n_dead_tup']}"
        f" dead rows, last vacuum {vacuumed}"
    )


def _replication(row: Row) -> str:
    return (
        f"{row['application_name'] or row['client_addr']}: {row['state']}, {row['sync_state']},"
        f" {row['lag_bytes']} bytes behind, replay lag {_seconds(row['replay_s'])}"
    )


def _connections(row: Row) -> str:
    return (
        f"{say_count(row['n'], 'connection')} {row['state'] or 'in a hidden state'} of"
        f" {row['usename'] or 'nobody'}; {row['total']} of max_connections {row['allowed']} in use"
    )


def _settings(row: Row) -> str:
    source = "" if row["source"] == "default" else f" (from {row['source']})"
    restart = ", a restart is pending" if row["pending_restart"] else ""
    return f"{row['name']} = {row['setting']}{source}{restart}"


def _statement(text: str | None) -> str:
    """Shorten a statement; its literals may be anybody's, and say nothing about load."""
    return say_text(_LITERAL.sub("'…'", text or "none"), _QUERY_CHARS)


def _relation(name: str | None) -> str:
    """Write a relation as its owner knows it; the statements run where no schema is searched."""
    return (name or "").removeprefix("public.")


def _seconds(value: float | None) -> str:
    return "unknown" if value is None else f"{say_number(f'{value:.1f}')} s"


def _milliseconds(value: float) -> str:
    return f"{say_number(f'{value:.1f}')} ms"


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{value * 100:.1f} %"


QUESTIONS: Mapping[str, DatabaseQuestion] = {
    "activity": DatabaseQuestion(
        "sessions that run a statement or hold a transaction open",
        """
        SELECT pid, usename, datname, state, query,
               extract(epoch FROM clock_timestamp() - state_change)::float8 AS state_s,
               extract(epoch FROM clock_timestamp() - xact_start)::float8 AS xact_s,
               wait_event_type || '/' || wait_event AS waits_for
        FROM pg_stat_activity
        WHERE coalesce(backend_type, 'client backend') = 'client backend'
          AND usename IS NOT NULL AND pid <> pg_backend_pid()
          AND coalesce(state, '') <> 'idle'
        ORDER BY xact_start NULLS LAST, pid
        """,
        _activity,
    ),
    "locks": DatabaseQuestion(
        "sessions that wait for a lock of another",
        """
        SELECT waiting.pid, waiting.query, lock.mode, lock.locktype,
               lock.relation::regclass::text AS relation,
               extract(epoch FROM clock_timestamp() - lock.waitstart)::float8 AS waits_s,
               blocker.pid AS blockers, blocker.state AS blocker_state,
               blocker.query AS blocker_query,
               extract(epoch FROM clock_timestamp() - blocker.state_change)::float8 AS blocker_s
        FROM pg_stat_activity AS waiting
        JOIN pg_locks AS lock ON lock.pid = waiting.pid AND NOT lock.granted
        CROSS JOIN LATERAL unnest(pg_blocking_pids(waiting.pid)) AS held(pid)
        LEFT JOIN pg_stat_activity AS blocker ON blocker.pid = held.pid
        ORDER BY lock.waitstart NULLS LAST, waiting.pid, blocker.pid
        """,
        _locks,
    ),
    "slow_statements": DatabaseQuestion(
        "statements by total time, since the statistics were reset",
        """
        SELECT query, calls, mean_exec_time, max_exec_time, total_exec_time
        FROM pg_stat_statements
        WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
        ORDER BY total_exec_time DESC
        """,
        _slow_statements,
    ),
    "database": DatabaseQuestion(
        "the databases of the server, since their statistics were reset",
        """
        SELECT datname, numbackends, xact_commit, xact_rollback, deadlocks, temp_files,
               blks_hit::float8 / nullif(blks_hit + blks_read, 0) AS hit_share,
               CASE WHEN has_database_privilege(datid, 'CONNECT')
                    THEN pg_database_size(datid) END AS bytes
        FROM pg_stat_database
        WHERE datname IS NOT NULL AND datname NOT LIKE 'template_'
        ORDER BY datname = current_database() DESC, xact_commit DESC
        """,
        _database,
    ),
    "tables": DatabaseQuestion(
        "tables of the database by rows read in sequential scans",
        """
        SELECT relid::regclass::text AS relation, seq_scan, seq_tup_read, idx_scan, n_live_tup,
               n_dead_tup, greatest(last_vacuum, last_autovacuum) AT TIME ZONE 'UTC' AS vacuumed
        FROM pg_stat_user_tables
        ORDER BY seq_tup_read DESC NULLS LAST, n_dead_tup DESC, relation
        """,
        _tables,
    ),
    "replication": DatabaseQuestion(
        "replicas that are connected",
        """
        SELECT application_name, client_addr::text, state, sync_state,
               pg_wal_lsn_diff(sent_lsn, replay_lsn) AS lag_bytes,
               extract(epoch FROM replay_lag)::float8 AS replay_s
        FROM pg_stat_replication
        ORDER BY application_name, client_addr
        """,
        _replication,
    ),
    "connections": DatabaseQuestion(
        "connections by user and state",
        """
        SELECT usename, state, count(*) AS n,
               max(query) FILTER (WHERE state IS NULL) AS query,
               (sum(count(*)) OVER ())::bigint AS total,
               current_setting('max_connections') AS allowed
        FROM pg_stat_activity
        WHERE coalesce(backend_type, 'client backend') = 'client backend'
          AND usename IS NOT NULL AND pid <> pg_backend_pid()
        GROUP BY usename, state
        ORDER BY n DESC, usename, state
        """,
        _connections,
    ),
    "settings": DatabaseQuestion(
        "settings that decide about load and waiting",
        """
        SELECT name, current_setting(name) AS setting, source, pending_restart
        FROM pg_settings
        WHERE name IN ('max_connections', 'shared_buffers', 'work_mem', 'effective_cache_size',
                       'statement_timeout', 'lock_timeout', 'deadlock_timeout', 'autovacuum',
                       'idle_in_transaction_session_timeout', 'max_worker_processes',
                       'max_parallel_workers', 'max_wal_size', 'checkpoint_timeout',
                       'synchronous_commit', 'random_page_cost', 'effective_io_concurrency')
           OR pending_restart
        ORDER BY name
        """,
        _settings,
    ),
}
