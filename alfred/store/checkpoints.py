"""LangGraph's checkpoints, each read and written on behalf of the user whose run it is."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Generator, Iterable, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, copy_checkpoint, get_checkpoint_id
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncCursor, AsyncRawCursor
from psycopg.rows import DictRow, dict_row

from alfred.engine.database import Connection, Database, Role

run_user: ContextVar[UUID] = ContextVar("run_user")
"""The user of the run that this task advances."""
_ONE_ROW = re.compile(rb"VALUES (\((?:%s, )*%s\))")
_INTO = re.compile(rb"\s*INSERT INTO (\w+)")
_Statement = tuple[bytes, list[Sequence[Any]]]


@dataclass
class RunCheckpoints:
    """What a run under its turn's lock has read, and what it writes once it stops.

    Nobody else writes the turn's checkpoints meanwhile, so that one reading serves; and as a run
    writes them only where it stops, they can share the transaction that says how far the turn is.
    A turn that is `new` has none.
    """

    is_new: bool = False
    _read: dict[tuple[str, str], CheckpointTuple | None] = field(
        default_factory=dict[tuple[str, str], "CheckpointTuple | None"]
    )
    _statements: list[_Statement] = field(default_factory=list[_Statement])
    _connection: Connection | None = None

    @contextmanager
    def reading(self, connection: Connection) -> Generator[None]:
        """Let checkpoints be read in the caller's transaction while the block runs."""
        self._connection = connection
        try:
            yield
        finally:
            self._connection = None

    @property
    def connection(self) -> Connection | None:
        """The caller's connection that checkpoints are read through now."""
        return self._connection

    @property
    def waits(self) -> bool:
        """Whether anything is still to be written."""
        return bool(self._statements)

    def keep(self, statement: bytes, rows: list[Sequence[Any]]) -> None:
        """Keep a statement for `write`; what was read before is out of date."""
        self.is_new = False
        self._read.clear()
        if rows:
            self._statements.append((statement, rows))

    def remember(self, key: tuple[str, str], found: CheckpointTuple | None) -> None:
        """Keep what was read."""
        self._read[key] = found

    def recall(self, key: tuple[str, str]) -> tuple[bool, CheckpointTuple | None]:
        """Say whether a checkpoint is known, and which: None for that there is none."""
        if self.is_new:
            return True, None
        found = self._read.get(key)
        if found is not None:
            # LangGraph counts on in the checkpoint it was given.
            found = found._replace(checkpoint=copy_checkpoint(found.checkpoint))
        return key in self._read, found

    async def write(self, connection: Connection) -> None:
        """Write what waits in the caller's transaction."""
        statements, self._statements = self._statements, []
        for group in _groups(statements):
            *earlier, last = (_for_rows(statement, len(rows)) for statement, rows in group)
            parts = b", ".join(b"part%d AS (%s)" % part for part in enumerate(earlier))
            text = b"WITH %s %s" % (parts, last) if parts else last
            values = [value for _, rows in group for row in rows for value in row]
            await AsyncRawCursor(connection).execute(_numbered(text), values)


run_checkpoints: ContextVar[RunCheckpoints | None] = ContextVar("run_checkpoints", default=None)
"""Where this task's run keeps its checkpoints; without it they are written one by one."""


class UserCheckpoints(AsyncPostgresSaver):
    """The library's saver over our pools: every access is a transaction of `run_user`.

    The saver opens its cursors in one place; there the transaction's user is set, so that row
    security covers checkpoints too.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(conn=None)  # type: ignore[arg-type]  # never used: _cursor is replaced
        self._database = database

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read the latest checkpoint once a run, any other as the library does."""
        run = run_checkpoints.get()
        if run is None or get_checkpoint_id(config):
            return await super().aget_tuple(config)
        place = config.get("configurable", {})
        key = (str(place["thread_id"]), str(place.get("checkpoint_ns", "")))
        is_known, found = run.recall(key)
        if not is_known:
            run.remember(key, await super().aget_tuple(config))
            _, found = run.recall(key)
        return found

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncGenerator[AsyncCursor[DictRow]]:
        run = run_checkpoints.get()
        if pipeline and run is not None:
            yield cast("AsyncCursor[DictRow]", _Noting(run))
            return
        if run is not None and run.connection is not None:
            async with run.connection.cursor(binary=True, row_factory=dict_row) as cursor:
                yield cursor
            return
        user_id = run_user.get()
        async with self._database.transaction(Role.RUNTIME, user_id) as connection:
            if run is not None:
                await run.write(connection)
            if pipeline:
                async with (
                    connection.pipeline(),
                    connection.cursor(binary=True, row_factory=dict_row) as cursor,
                ):
                    yield cursor
            else:
                async with connection.cursor(binary=True, row_factory=dict_row) as cursor:
                    yield cursor


class _Noting:
    """Takes the place of the cursor that the saver writes through, and writes later."""

    def __init__(self, run: RunCheckpoints) -> None:
        self._run = run

    async def execute(self, query: str, params: Sequence[Any]) -> None:
        self._run.keep(query.encode(), [params])

    async def executemany(self, query: str, params_seq: Iterable[Sequence[Any]]) -> None:
        self._run.keep(query.encode(), list(params_seq))


def _for_rows(statement: bytes, count: int) -> bytes:
    """Let an INSERT of one row take several."""
    if count == 1:
        return statement.strip(b"; \n")
    text, replaced = _ONE_ROW.subn(
        lambda found: b"VALUES " + b", ".join([found[1]] * count), statement
    )
    assert replaced == 1, "the saver inserts rows by VALUES"
    return text.strip(b"; \n")


@lru_cache(64)
def _numbered(statement: bytes) -> bytes:
    """Number the parameters, as the server wants them: the driver would at every execution."""
    first, *rest = statement.split(b"%s")
    return b"".join([first, *(b"$%d%s" % numbered for numbered in enumerate(rest, start=1))])


def _groups(statements: Iterable[_Statement]) -> list[list[_Statement]]:
    """Take together what can be one statement: no table of it twice."""
    groups: list[list[_Statement]] = []
    tables: set[bytes] = set()
    for statement in statements:
        table = _table(statement[0])
        if not groups or not table or table in tables:
            groups.append([])
            tables.clear()
        groups[-1].append(statement)
        tables.add(table)
    return groups


def _table(statement: bytes) -> bytes:
    found = _INTO.match(statement)
    return found[1] if found else b""
