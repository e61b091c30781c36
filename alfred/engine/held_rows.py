"""Rows that are to be inserted and wait for more: one statement takes all of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from psycopg import AsyncCursor
from sqlalchemy import Column, Table

from alfred.engine.database import Row
from alfred.engine.row_statements import bound, insert_text

Stored = Callable[[Row], None]
"""Told of a row's image once the database has it."""


@dataclass(frozen=True)
class _Held:
    row: Row
    """What is known before the database says it; afterwards the row as it was stored."""
    columns: tuple[str, ...]
    stored: Stored


class HeldRows:
    """The inserts of one batch that the database has not been told of yet.

    Whoever has the row sees its columns at once, and after `insert` those that the database set.
    """

    def __init__(self) -> None:
        self._held: dict[str, list[_Held]] = {}

    def hold(self, table: Table, row: Row, stored: Stored) -> None:
        """Keep a row for later; `row` gets every column that the database would leave empty."""
        given = tuple(row)
        empty = _left_empty(table, given)
        row.update(dict.fromkeys(empty))
        held = _Held(row, (*given, *empty), stored)
        self._held.setdefault(table.name, []).append(held)

    def decides(self, table: Table, key: Mapping[str, Any]) -> bool:
        """Say whether comparing in Python tells which of a table's held rows have this key.

        The database may find a row by a value of another type, such as an id given as text.
        """
        return all(
            column in held.row
            and (value is None or isinstance(held.row[column], type(value) | None))
            for held in self._held.get(table.name, ())
            for column, value in key.items()
        )

    def holds(self, table: Table) -> bool:
        """Say whether rows of a table wait."""
        return table.name in self._held

    async def insert(self, cursor: AsyncCursor[Row]) -> None:
        """Insert everything, table by table in the order in which rows first came."""
        waiting, self._held = self._held, {}
        for table, rows in waiting.items():
            for columns in dict.fromkeys(held.columns for held in rows):
                same = [held for held in rows if held.columns == columns]
                values = [bound(held.row[column]) for held in same for column in columns]
                await cursor.execute(insert_text(table, columns, len(same)), values)
                stored = {row["id"]: row for row in await cursor.fetchall()}
                for held in same:
                    held.row.update(stored[held.row["id"]])
                    held.stored(held.row)


@lru_cache(512)
def _left_empty(table: Table, given: tuple[str, ...]) -> tuple[str, ...]:
    empty = (c.name for c in table.columns if c.name not in given and not _is_filled(c))
    return tuple(sorted(empty))


@lru_cache(512)
def is_foreseeable(table: Table, given: tuple[str, ...], ignored: frozenset[str]) -> bool:
    """Say whether a row's columns are known before the database has it, but for ignored ones."""
    return not any(
        _is_filled(column)
        for column in table.columns
        if column.name not in given and column.name not in ignored
    )


def _is_filled(column: Column[Any]) -> bool:
    return any((column.server_default, column.identity, column.computed))
