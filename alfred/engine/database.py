"""The port to PostgreSQL: four roles, one transaction at a time, always on somebody's behalf."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from psycopg import AsyncConnection

Row = dict[str, Any]
Connection = AsyncConnection[Row]


class Role(StrEnum):
    """The logins of ADR 0004; none is a superuser or can bypass row security."""

    OWNER = "alfred_owner"
    """Migrations only."""
    WRITER = "alfred_writer"
    """ActionExecutor and ledger."""
    RUNTIME = "alfred_runtime"
    """Messages, turns, journal, traces, checkpoints."""
    READER = "alfred_reader"
    """Graphs, nodes and every query; cannot write."""


class Database(Protocol):
    """Pooled connections, one pool per role."""

    def transaction(
        self, role: Role, user_id: UUID, *, rollback: bool = False
    ) -> AbstractAsyncContextManager[Connection]:
        """Open a transaction that sees the rows of `user_id`; with `rollback` nothing stays.

        Errors: `StoreFailed`, translated once here from the driver's errors.
        """
        ...
