"""Rows that go, or lose a link, when the row that they refer to is removed."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from psycopg import sql
from sqlalchemy import ForeignKeyConstraint, Table, UniqueConstraint

from alfred.engine.database import Connection, Row

_COLUMNS = re.compile(r"\((.+)\)")


@dataclass(frozen=True, kw_only=True)
class Dependent:
    """A row that refers to one that is removed; `cleared` names the columns that become empty.

    Without cleared columns the row goes too.
    """

    table: Table
    row: Row
    name: str
    cleared: tuple[str, ...] = field(default=())


async def find_dependents(
    connection: Connection, table: Table, row: Row, name: str
) -> list[Dependent]:
    """Find all that the database's foreign keys remove or clear together with a row.

    They are locked where the table can be changed at all. Each is named after the row it belongs
    to, by its unique key. The keys are those that the tables of `table.metadata` declare.
    """
    found: dict[tuple[str, UUID], Dependent] = {}
    waiting = [(table, row, name)]
    while waiting:
        parent, removed, called = waiting.pop(0)
        async for each in _children(connection, parent, removed, called):
            key = (each.table.name, each.row["id"])
            if key in found and (each.cleared or not found[key].cleared):
                continue
            found[key] = each
            if not each.cleared:
                waiting.append((each.table, each.row, each.name))
    return list(found.values())


async def _children(
    connection: Connection, table: Table, row: Row, name: str
) -> AsyncIterator[Dependent]:
    for child in sorted(table.metadata.tables.values(), key=lambda each: each.name):
        for key in sorted(child.foreign_key_constraints, key=lambda each: list(each.column_keys)):
            if key.referred_table is not table:
                continue
            rule = (key.ondelete or "").upper()
            if not rule.startswith(("CASCADE", "SET NULL")):
                continue  # the database itself refuses to remove what such a row names
            for found in await _referring(connection, child, key, row):
                yield Dependent(
                    table=child,
                    row=found,
                    name="/".join((name, *_own_name(child, key, found))),
                    cleared=tuple(_cleared(key)) if rule.startswith("SET NULL") else (),
                )


async def _referring(
    connection: Connection, child: Table, key: ForeignKeyConstraint, row: Row
) -> list[Row]:
    pairs = [(element.parent.name, row[element.column.name]) for element in key.elements]
    conditions = [sql.SQL("{} = %s").format(sql.Identifier(column)) for column, _ in pairs]
    # An append-only row may be read but not locked: the writer cannot change it.
    query = sql.SQL("SELECT * FROM {} WHERE {} ORDER BY id {}").format(
        sql.Identifier(child.name),
        sql.SQL(" AND ").join(conditions),
        sql.SQL("" if child.info.get("append_only") else "FOR UPDATE"),
    )
    return await (await connection.execute(query, [value for _, value in pairs])).fetchall()


def _own_name(table: Table, key: ForeignKeyConstraint, row: Row) -> Iterator[str]:
    """Say what tells a row from the others of its parent: the rest of their unique key."""
    parent = set(key.column_keys)
    for constraint in sorted(table.constraints, key=lambda each: str(each.name)):
        if isinstance(constraint, UniqueConstraint) and parent <= set(constraint.columns.keys()):
            rest = [column.name for column in constraint.columns if column.name not in parent]
            yield from _parts(rest, row)
            return
    yield from _parts(table.info.get("label", ()), row)


def _parts(columns: list[str] | tuple[str, ...], row: Mapping[str, Any]) -> Iterator[str]:
    for column in columns:
        value = row[column]
        if isinstance(value, int):
            yield f"{column} {value}"
        elif value is not None and not isinstance(value, UUID):
            yield str(value)


def _cleared(key: ForeignKeyConstraint) -> list[str]:
    """Name the columns that the key's rule empties: those it lists, or all of its own."""
    listed = _COLUMNS.search(key.ondelete or "")
    return [part.strip() for part in listed[1].split(",")] if listed else list(key.column_keys)
