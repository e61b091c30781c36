"""Everything of one user, read at one moment, row by row."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from typing import Any, Protocol, cast
from uuid import UUID

from psycopg import AsyncServerCursor, sql
from sqlalchemy import (
    ARRAY,
    JSON,
    Boolean,
    Column,
    Date,
    DateTime,
    Float,
    Integer,
    LargeBinary,
    Numeric,
    Table,
    Text,
    Uuid,
)

from alfred.engine.database import Connection, Role, Row
from alfred.engine.tables import METADATA
from alfred.engine.writer import SHARED_USER

LEFT_OUT = {
    "alfred_user": "told beside the tables",
    "model_call": "what models answered is a cache; no reader may see it",
    "trace_event": "steps of runs, which no reader may see",
    "turn_event": "what runs told while they went on, forgotten soon; no reader may see it",
    **dict.fromkeys(
        ("api_token", "web_session", "sign_in_link"),
        "what lets in here is of no use elsewhere; no reader may see it",
    ),
}
"""Tables that are not part of what a user takes along, each with the reason."""
_TYPES: tuple[tuple[type[Any], str], ...] = (
    (Uuid, "uuid"),
    (Boolean, "boolean"),
    (Integer, "integer"),
    (Float, "number"),
    (Numeric, "decimal"),
    (DateTime, "timestamp"),
    (Date, "date"),
    (JSON, "json"),
    (LargeBinary, "bytes"),
    (ARRAY, "list"),
    (Text, "text"),
)
_ROWS_AT_ONCE, _LARGE_ROWS_AT_ONCE = 500, 4
"""How many rows the server hands over at once; a row with bytes may have many of them."""


class Sessions(Protocol):
    """Database access that lends a connection outside any transaction."""

    def autocommit(self, role: Role, user_id: UUID) -> AbstractAsyncContextManager[Connection]: ...


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A user's rows as they all were at one moment, while others go on writing."""

    connection: Connection
    user_id: UUID

    def tables(self) -> Iterator[Table]:
        """Yield every table of the engine and of the installed domains, parents before children."""
        yield from (
            t for t in METADATA.sorted_tables if "user_id" in t.c and t.name not in LEFT_OUT
        )

    def columns(self, table: Table) -> dict[str, str]:
        """Name a table's columns with their types, in order.

        Shapes: a type is uuid, text, integer, boolean, number, decimal, date, timestamp, json,
        bytes or list; in plain rows ids, decimals and moments are text, bytes are Base64.
        """
        return {column.name: _type_of(column) for column in table.columns}

    async def rows(self, table: Table) -> AsyncIterator[Row]:
        """Yield a table's rows in the order of their making, as plain JSON values.

        Of a shared vocabulary these are the user's own rows and those that a row of the user
        refers to.
        """
        query, values = _query(table, self.user_id)
        has_bytes = any(isinstance(column.type, LargeBinary) for column in table.columns)
        cursor = AsyncServerCursor[Row](
            self.connection, "snapshot", row_factory=self.connection.row_factory
        )
        async with cursor:
            cursor.itersize = _LARGE_ROWS_AT_ONCE if has_bytes else _ROWS_AT_ONCE
            await cursor.execute(query, values)
            async for row in cursor:
                yield {name: _plain(value) for name, value in row.items()}


@asynccontextmanager
async def open_snapshot(sessions: Sessions, user_id: UUID) -> AsyncGenerator[Snapshot]:
    """Hold one moment of a user's rows as the reader, who can change nothing."""
    async with sessions.autocommit(Role.READER, user_id) as connection:
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            yield Snapshot(connection=connection, user_id=user_id)
        finally:
            await connection.rollback()


def _type_of(column: Column[Any]) -> str:
    return next((name for kind, name in _TYPES if isinstance(column.type, kind)), "text")


def _query(table: Table, user_id: UUID) -> tuple[sql.Composed, list[Any]]:
    order = [name for name in ("created_at",) if name in table.c]
    order += [column.name for column in table.primary_key.columns]
    query = sql.SQL("SELECT {} FROM {} AS it WHERE it.user_id = %s {} ORDER BY {}").format(
        sql.SQL(", ").join(sql.SQL("it.{}").format(sql.Identifier(c.name)) for c in table.columns),
        sql.Identifier(table.name),
        _referred(table) if table.info.get("shared") else sql.SQL(""),
        sql.SQL(", ").join(sql.SQL("it.{}").format(sql.Identifier(name)) for name in order),
    )
    return query, [user_id, *([SHARED_USER] if table.info.get("shared") else [])]


def _referred(table: Table) -> sql.Composable:
    """Add everybody's rows that a row of the user refers to."""
    places = [
        (other, [(element.parent.name, element.column.name) for element in key.elements])
        for other in METADATA.sorted_tables
        for key in other.foreign_key_constraints
        if key.referred_table is table and not other.info.get("shared")
    ]
    asked = [
        sql.SQL("EXISTS (SELECT FROM {} AS user_row WHERE {})").format(
            sql.Identifier(other.name),
            sql.SQL(" AND ").join(
                sql.SQL("user_row.{} = it.{}").format(sql.Identifier(here), sql.Identifier(there))
                for here, there in pairs
            ),
        )
        for other, pairs in places
    ]
    wanted = sql.SQL(" OR ").join(asked) if asked else sql.SQL("false")
    return sql.SQL("OR (it.user_id = %s AND ({}))").format(wanted)


def _plain(value: Any) -> Any:
    """Turn a value of a row into what JSON holds without loss."""
    match value:
        case UUID() | Decimal():
            return str(value)
        case date() | time():  # a moment is a date as well
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case list():
            return [_plain(item) for item in cast("list[Any]", value)]
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value


def plain_json(value: Any) -> str:
    """Write a plain value as JSON in one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
