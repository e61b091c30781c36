"""A lock between processes that work on one database."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import psycopg

from alfred.errors import StoreFailed

POLL_S = 0.1


@contextmanager
def advisory_lock(
    connection: psycopg.Connection[Any], key: int, *, timeout_s: float
) -> Generator[None]:
    """Hold a lock of the database while the block runs; it ends with the connection, too.

    It is asked for again and again instead of waited for: a waiting statement keeps a snapshot
    open, and the holder's CREATE INDEX CONCURRENTLY would wait for that in turn, for ever.
    Errors: `store.busy` if another process holds it for longer than `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    while not _try(connection, key):
        if time.monotonic() > deadline:
            raise StoreFailed(
                "store.busy",
                f"Another process has been setting up the database for {timeout_s:.0f} s.",
                hint="Repeat the command once it is done.",
            )
        time.sleep(POLL_S)
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute("SELECT pg_advisory_unlock(%s)", (key,))


def _try(connection: psycopg.Connection[Any], key: int) -> bool:
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", (key,)).fetchone()
    return bool(row and row[0])
