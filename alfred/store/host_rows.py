"""Writing to tables that are somebody else's: no owner column, any primary key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg import sql
from psycopg.types.json import Jsonb
from sqlalchemy import JSON, Table

from alfred.engine.canonical import plain
from alfred.engine.database import Row
from alfred.engine.writer import Operation, Writer
from alfred.errors import ActionRefused

DEFAULT_SCHEMA = "public"
"""Where a table without a schema is looked for; the ledger's schema comes first otherwise."""


class HostRows:
    """What a handler of a gate reads and writes with: each row is recorded before and after.

    Rows are named by their table's `info["label"]` (columns), else by their primary key. Columns
    that the database fills in are no part of what is shown and compared.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    @property
    def now(self) -> datetime:
        """The time of the request, the same in dry run and commit."""
        return self._writer.now

    async def find(self, table: Table, key: Mapping[str, Any]) -> Row | None:
        """Find the row with this key and hold it until the transaction ends.

        Errors: `action.reference` if several rows have it.
        """
        query = sql.SQL("SELECT * FROM {} WHERE {} LIMIT 2 FOR UPDATE").format(
            _place(table), _equal(key, " AND ")
        )
        found = await self._run(query, _bound(table, key))
        if len(found) > 1:
            shown = ", ".join(f"{column} {value}" for column, value in key.items())
            raise ActionRefused("action.reference", f"More than one {table.name} has {shown}.")
        if found:
            self._writer.used(_row_key(table, found[0]))
        return found[0] if found else None

    async def get(self, table: Table, key: Mapping[str, Any]) -> Row:
        """Find a row that has to be there; errors: `action.reference`."""
        row = await self.find(table, key)
        if row is None:
            shown = ", ".join(f"{column} {value}" for column, value in key.items())
            raise ActionRefused("action.reference", f"There is no {table.name} with {shown}.")
        return row

    async def create(self, table: Table, values: Mapping[str, Any]) -> Row:
        """Insert a row and return it with what the database filled in."""
        query = sql.SQL("INSERT INTO {} ({}) VALUES ({}) RETURNING *").format(
            _place(table),
            sql.SQL(", ").join(map(sql.Identifier, values)),
            sql.SQL(", ").join([sql.Placeholder()] * len(values)),
        )
        (row,) = await self._run(query, _bound(table, values))
        given = {column: row[column] for column in values}
        self._record("create", table, row, ({}, given), known=given)
        return row

    async def change(self, table: Table, row: Row, values: Mapping[str, Any]) -> Row:
        """Set columns of a row that was found; return it as it is now."""
        changed = {column: value for column, value in values.items() if row[column] != value}
        if not changed:
            self._record("none", table, row, ({}, {}))
            return row
        key = _primary_key(table, row)
        query = sql.SQL("UPDATE {} SET {} WHERE {} RETURNING *").format(
            _place(table), _equal(changed, ", "), _equal(key, " AND ")
        )
        (new,) = await self._run(query, [*_bound(table, changed), *key.values()])
        before, after = ({column: image[column] for column in changed} for image in (row, new))
        self._record("update", table, row, (before, after))
        return new

    async def delete(self, table: Table, row: Row) -> None:
        """Delete a row that was found; rows that go with it by a foreign key are not shown."""
        key = _primary_key(table, row)
        query = sql.SQL("DELETE FROM {} WHERE {} RETURNING *").format(
            _place(table), _equal(key, " AND ")
        )
        await self._run(query, list(key.values()))
        self._record("delete", table, row, (row, {}))

    async def _run(self, query: sql.Composed, values: Sequence[Any]) -> list[Row]:
        return await self._writer.run(query, values)

    def _record(
        self,
        operation: Operation,
        table: Table,
        row: Row,
        images: tuple[Mapping[str, Any], Mapping[str, Any]],
        *,
        known: Mapping[str, Any] | None = None,
    ) -> None:
        before, after = images
        self._writer.wrote(
            _row_key(table, row),
            {
                "operation": operation,
                "table": table.name,
                "row": f"{table.name}:{_name(table, row if known is None else known)}",
                "before": _shown(before),
                "after": _shown(after),
            },
        )


def _place(table: Table) -> sql.Identifier:
    return sql.Identifier(table.schema or DEFAULT_SCHEMA, table.name)


def _equal(values: Mapping[str, Any], between: LiteralString) -> sql.Composed:
    parts = [sql.SQL("{} = %s").format(sql.Identifier(column)) for column in values]
    return sql.SQL(between).join(parts)


def _bound(table: Table, values: Mapping[str, Any]) -> list[Any]:
    return [
        Jsonb(value) if isinstance(table.c[column].type, JSON) else value
        for column, value in values.items()
    ]


def _primary_key(table: Table, row: Row) -> dict[str, Any]:
    return {column.name: row[column.name] for column in table.primary_key}


def _row_key(table: Table, row: Row) -> str:
    return "/".join(map(str, (table.fullname, *_primary_key(table, row).values())))


def _name(table: Table, known: Mapping[str, Any]) -> str:
    """Name a row by what is known of it; a key that the database draws differs in every run."""
    label: Sequence[str] = table.info.get("label") or [c.name for c in table.primary_key]
    return "/".join(str(known[column]) for column in label if column in known) or "new"


def _shown(values: Mapping[str, Any]) -> dict[str, Any]:
    return plain({c: v.hex() if isinstance(v, bytes) else v for c, v in values.items()})
