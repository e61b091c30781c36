"""What a service writes through: a connection that records every row's before and after."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypedDict
from uuid import UUID

from psycopg import DataError, IntegrityError, errors, sql
from psycopg.types.json import Jsonb
from sqlalchemy import Table

from alfred.engine.canonical import derive_id, plain
from alfred.engine.database import Connection, Row
from alfred.errors import ActionRefused

SHARED_USER = UUID(int=0)
"""Owner of vocabulary rows that everybody sees; they come from migrations and operators."""
_UNSEEN = frozenset({"id", "user_id", "created_at", "updated_at", "message_id"})
"""Columns left out of effects: they follow from the natural key, the run or the message."""


class Effect(TypedDict):
    """What one action does to one row, named by its natural key, never by id."""

    operation: Literal["create", "update", "none", "append"]
    table: str
    row: str
    before: dict[str, Any]
    after: dict[str, Any]


@dataclass
class Writer:
    """The only door to the tables for a service; made by the executor, one per batch.

    `now` is the time of the message that led to the batch, the same in dry run and commit;
    `message_id` names that message.
    """

    connection: Connection
    user_id: UUID
    now: datetime
    message_id: UUID | None = None
    action_id: str = ""
    effects: list[Effect] = field(default_factory=list[Effect])
    depends_on: set[str] = field(default_factory=set[str])
    _names: dict[str, str] = field(default_factory=dict[str, str])
    _written_by: dict[str, str] = field(default_factory=dict[str, str])

    @asynccontextmanager
    async def acting(self, action_id: str) -> AsyncGenerator[None]:
        """Run the next action of the batch in a savepoint; where it fails, nothing of it stays.

        Errors: the service's own; `action.conflict` where a constraint of the database refuses
        the row, `action.arguments` where it cannot hold a value.
        """
        self.action_id, self.effects, self.depends_on = action_id, [], set()
        written = dict(self._written_by)
        try:
            async with self.connection.transaction():
                yield
        except BaseException as error:
            self._written_by = written
            if (refused := _refusal(error)) is not None:
                raise refused from error
            raise

    def derive(self, *parts: object) -> UUID:
        """Derive the id of a row of this user from its natural key."""
        return derive_id(self.user_id, *parts)

    def call(self, table: Table, row: Row, name: str) -> None:
        """Name a row that was found by id and whose natural key lies in another row."""
        self._names[str(row["id"])] = f"{table.name}:{name}"

    async def find(
        self, table: Table, key: Mapping[str, Any], *, name: str | None = None
    ) -> Row | None:
        """Find the user's own row, or else the shared one; it is locked and counts as used.

        Without a `name` the row is called by its table's label.
        """
        rows = await self._select(table, key, sql.SQL(""))
        rows.sort(key=lambda row: row["user_id"] == SHARED_USER)
        return self._use(table, rows[0], name) if rows else None

    async def find_last(self, table: Table, key: Mapping[str, Any], by: str) -> Row | None:
        """Find the row with the highest value of the column `by`."""
        order = sql.SQL("ORDER BY {} DESC LIMIT 1").format(sql.Identifier(by))
        rows = await self._select(table, key, order)
        return self._use(table, rows[0], None) if rows else None

    async def _select(
        self, table: Table, key: Mapping[str, Any], order: sql.Composable
    ) -> list[Row]:
        owners = [self.user_id, SHARED_USER] if table.info.get("shared") else [self.user_id]
        # Shared and append-only rows may be read but not locked: the writer cannot change them.
        lockable = not (table.info.get("shared") or table.info.get("append_only"))
        conditions = [
            sql.SQL("{} IS NULL" if value is None else "{} = %s").format(sql.Identifier(column))
            for column, value in key.items()
        ]
        query = sql.SQL("SELECT * FROM {} WHERE user_id = ANY(%s) AND {} {} {}").format(
            sql.Identifier(table.name),
            sql.SQL(" AND ").join(conditions),
            order,
            sql.SQL("FOR UPDATE" if lockable else ""),
        )
        values = [value for value in key.values() if value is not None]
        return await (await self.connection.execute(query, (owners, *values))).fetchall()

    async def get(self, table: Table, row_id: UUID) -> Row:
        """Fetch a row by the id an argument gave.

        Errors: `action.reference` if the user has no such row.
        """
        row = await self.find(table, {"id": row_id})
        if row is None:
            raise ActionRefused(
                "action.reference",
                f"There is no {table.name} {row_id}.",
                hint="It may have been deleted, or belongs to somebody else.",
            )
        return row

    async def ensure(
        self, table: Table, key: Mapping[str, Any], values: Mapping[str, Any], *, name: str
    ) -> Row:
        """Create the row with this natural key, or change what differs; None leaves as it is."""
        row = await self.find(table, key, name=name)
        if row is None:
            return await self.create(table, {**key, **values}, name=name)
        return await self.change(table, row, values, name=name)

    async def create(
        self, table: Table, values: Mapping[str, Any], *, name: str, distinct: str = ""
    ) -> Row:
        """Create a row that was looked for and not found; None leaves a column empty.

        Its id follows from `name`, and from `distinct` where rows may share a name.
        """
        return await self._insert(table, values, "create", (name, distinct))

    async def append(
        self, table: Table, values: Mapping[str, Any], *, name: str, distinct: str = ""
    ) -> Row:
        """Add a row to an append-only table; ids as in `create`.

        A repeat of the name finds the first row, unless `distinct` says that it is another.
        """
        found = None
        if not distinct:
            found = await self.find(table, {"id": self._row_id(table, name, "")}, name=name)
        return found or await self._insert(table, values, "append", (name, distinct))

    async def change(self, table: Table, row: Row, values: Mapping[str, Any], *, name: str) -> Row:
        """Set columns of a row that was found before; None leaves as it is.

        A shared row stays as it is: what a user adds is theirs alone.
        """
        changed = {c: v for c, v in values.items() if v is not None and row[c] != v}
        if row["user_id"] == SHARED_USER:
            changed = {}
        return await self._update(table, row, changed, name=name)

    def _row_id(self, table: Table, name: str, distinct: str) -> UUID:
        return self.derive(table.name, name, *([distinct] if distinct else []))

    async def _insert(
        self,
        table: Table,
        values: Mapping[str, Any],
        operation: Literal["create", "append"],
        called: tuple[str, str],
    ) -> Row:
        name, distinct = called
        given = {column: value for column, value in values.items() if value is not None}
        full = {"id": self._row_id(table, name, distinct), "user_id": self.user_id, **given}
        query = sql.SQL("INSERT INTO {} ({}) VALUES ({}) RETURNING *").format(
            sql.Identifier(table.name),
            sql.SQL(", ").join(map(sql.Identifier, full)),
            sql.SQL(", ").join([sql.Placeholder()] * len(full)),
        )
        cursor = await self.connection.execute(query, [_bind(value) for value in full.values()])
        row = await cursor.fetchone()
        assert row is not None
        self.call(table, row, name)
        self._written_by[str(row["id"])] = self.action_id
        after = {c: v for c, v in row.items() if c not in _UNSEEN and v is not None}
        self._record(operation, table, name, {}, after)
        return row

    async def _update(
        self, table: Table, row: Row, changed: Mapping[str, Any], *, name: str
    ) -> Row:
        if not changed:
            self._record("none", table, name, {}, {})
            return row
        query = sql.SQL("UPDATE {} SET {} WHERE user_id = %s AND id = %s RETURNING *").format(
            sql.Identifier(table.name),
            sql.SQL(", ").join(sql.SQL("{} = %s").format(sql.Identifier(c)) for c in changed),
        )
        bound = [_bind(value) for value in changed.values()]
        cursor = await self.connection.execute(query, (*bound, self.user_id, row["id"]))
        new = await cursor.fetchone()
        if new is None:
            raise ActionRefused(
                "action.conflict", f"{table.name} {name} is gone or belongs to another."
            )
        self._written_by[str(row["id"])] = self.action_id
        shown = [column for column in changed if column not in _UNSEEN]
        self._record("update", table, name, {c: row[c] for c in shown}, {c: new[c] for c in shown})
        return new

    def _record(
        self,
        operation: Literal["create", "update", "none", "append"],
        table: Table,
        name: str,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
    ) -> None:
        self.effects.append(
            {
                "operation": operation,
                "table": table.name,
                "row": f"{table.name}:{name}",
                "before": self._named(before),
                "after": self._named(after),
            }
        )

    def _named(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Replace ids by natural keys; owners of referenced rows say nothing more."""
        kept = {c: v for c, v in values.items() if not c.endswith("_user_id")}
        return {c: self._names.get(str(v), v) for c, v in plain(kept).items()}

    def _use(self, table: Table, row: Row, name: str | None) -> Row:
        row_id = str(row["id"])
        label: tuple[str, ...] = table.info.get("label", ())
        shown = name or "/".join(str(row[column]) for column in label) or row_id
        self._names.setdefault(row_id, f"{table.name}:{shown}")
        writer = self._written_by.get(row_id)
        if writer is not None and writer != self.action_id:
            self.depends_on.add(writer)
        return row


def _refusal(error: BaseException) -> ActionRefused | None:
    """Translate what the database says against one row; its sentence would quote the row."""
    match error:
        case IntegrityError():
            table, rule = error.diag.table_name, error.diag.constraint_name
            text = f"A row of {table} breaks the rule {rule}; another row may stand in its place."
            return ActionRefused("action.conflict", text)
        case DataError() | errors.ProgramLimitExceeded():
            return ActionRefused("action.arguments", "A value is one that no row can hold.")
        case _:
            return None


def _bind(value: Any) -> Any:
    return Jsonb(value) if isinstance(value, dict | list) else value
