"""LangGraph's checkpoints, each read and written on behalf of the user whose run it is."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from uuid import UUID

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncCursor
from psycopg.rows import DictRow, dict_row

from alfred.engine.database import Database, Role

run_user: ContextVar[UUID] = ContextVar("run_user")
"""The user of the run that this task advances."""


class UserCheckpoints(AsyncPostgresSaver):
    """The library's saver over our pools: every access is a transaction of `run_user`.

    The saver opens its cursors in one place; there the transaction's user is set, so that row
    security covers checkpoints too.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(conn=None)  # type: ignore[arg-type]  # never used: _cursor is replaced
        self._database = database

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncGenerator[AsyncCursor[DictRow]]:
        user_id = run_user.get()
        async with self._database.transaction(Role.RUNTIME, user_id) as connection:
            if pipeline:
                async with (
                    connection.pipeline(),
                    connection.cursor(binary=True, row_factory=dict_row) as cursor,
                ):
                    yield cursor
            else:
                async with connection.cursor(binary=True, row_factory=dict_row) as cursor:
                    yield cursor
