"""What a service writes through: a connection that records every row's before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, TypedDict
from uuid import UUID

import psycopg
from psycopg import DataError, IntegrityError, errors, sql
from pydantic import ValidationError
from sqlalchemy import Table

from alfred.engine.action import ActionKind, Arguments
from alfred.engine.canonical import derive_id, plain
from alfred.engine.database import Connection, Row
from alfred.engine.dependents import Dependent, find_dependents
from alfred.engine.held_rows import HeldRows, is_foreseeable
from alfred.engine.row_statements import bound, insert_text, key_shape, select_text, update_text
from alfred.errors import ActionRefused

SHARED_USER = UUID(int=0)
"""Owner of vocabulary rows that everybody sees; they come from migrations and operators."""
_UNSEEN = frozenset({"id", "user_id", "created_at", "updated_at", "message_id"})
"""Columns left out of effects: they follow from the natural key, the run or the message."""


Operation = Literal["create", "update", "none", "append", "delete"]


class Effect(TypedDict):
    """What one action does to one row, named by its natural key, never by id."""

    operation: Operation
    table: str
    row: str
    before: dict[str, Any]
    after: dict[str, Any]


class SavepointsNeeded(Exception):
    """An action failed after others had written: the batch runs again, each in a savepoint."""


@dataclass
class Writer:
    """The only door to the tables for a service; made by the executor, one per batch.

    `now` is the time of the message that led to the batch, the same in dry run and commit;
    `message_id` names that message. A writer that is not `careful` makes no savepoints and lets
    rows wait for more: those that it inserts reach the database with `finish`, or when something
    else needs them there. What it then shows as effects is the same.

    For an automatic kind it finds rows, and appends to the tables which that kind declares; every
    other write is refused with `action.append_only`.
    """

    connection: InitVar[Connection]
    user_id: UUID
    now: datetime
    message_id: UUID | None = None
    careful: bool = True
    action_id: str = ""
    effects: list[Effect] = field(default_factory=list[Effect])
    depends_on: set[str] = field(default_factory=set[str])
    _names: dict[str, str] = field(default_factory=dict[str, str])
    _written_by: dict[str, str] = field(default_factory=dict[str, str])
    kind: str = ""
    _made_by_kind: dict[str, str] = field(default_factory=dict[str, str])
    """Rows that this batch created, with the kind of action that did, if no other changed them."""
    _held: HeldRows = field(default_factory=HeldRows)
    _known: dict[str, dict[UUID, Row]] = field(default_factory=dict[str, dict[UUID, Row]])
    """The user's own rows by table, as this batch locked or wrote them."""
    _new: set[UUID] = field(default_factory=set[UUID])
    """Ids of the rows that this batch created."""
    _has_written: bool = False
    _appends: tuple[Table, ...] = ()
    """The only tables that the current action may write to, by appending; empty for all."""

    def __post_init__(self, connection: Connection) -> None:
        self._connection = connection
        # A cursor of its own for each statement would cost as much as the statement.
        self._cursor = connection.cursor()

    async def act(self, action_id: str, kind: ActionKind, arguments: Arguments) -> Row:
        """Run the next action of the batch in a savepoint; where it fails, nothing of it stays.

        Errors: the service's own; `action.conflict` where a constraint of the database refuses
        the row, `action.arguments` where it cannot hold a value. `SavepointsNeeded` in their place
        where the writer makes none and something was written.
        """
        self.action_id, self.effects, self.depends_on = action_id, [], set()
        self.kind, self._appends = kind.name, kind.appends
        if not self.careful:
            return await self._act_at_once(kind, arguments)
        written = dict(self._written_by)
        self._known.clear()
        try:
            async with self._connection.transaction():
                return await kind.handler(self, arguments)
        except BaseException as error:
            self._written_by = written
            if (refused := _refusal(error)) is not None:
                raise refused from error
            raise

    async def _act_at_once(self, kind: ActionKind, arguments: Arguments) -> Row:
        self._has_written = False
        try:
            return await kind.handler(self, arguments)
        except (ActionRefused, ValidationError) as error:
            if self._has_written:
                raise SavepointsNeeded from error
            raise
        except psycopg.Error as error:
            if _refusal(error) is None:
                raise
            raise SavepointsNeeded from error

    async def finish(self) -> None:
        """Insert the rows that wait; errors: `SavepointsNeeded` where the database refuses one."""
        try:
            await self._held.insert(self._cursor)
        except psycopg.Error as error:
            if _refusal(error) is None:
                raise
            raise SavepointsNeeded from error

    def _require_allowed(self, operation: Operation, table: Table) -> None:
        """Let an automatic kind do no more than it declares; errors: `action.append_only`."""
        if not self._appends or (operation == "append" and table in self._appends):
            return
        declared = ", ".join(each.name for each in self._appends)
        raise ActionRefused(
            "action.append_only",
            f"{self.kind} is automatic and only appends to {declared}; it tried to {operation}"
            f" {table.name}.",
        )

    def used(self, row: str) -> None:
        """Note that the action rests on a row that it found otherwise; `row` names it."""
        earlier = self._written_by.get(row)
        if earlier is not None and earlier != self.action_id:
            self.depends_on.add(earlier)

    def wrote(self, row: str, effect: Effect) -> None:
        """Note what the action did otherwise to a row; `row` names it."""
        self._has_written = True
        self._written_by[row] = self.action_id
        self.effects.append(effect)

    async def run(self, query: sql.Composed, values: Sequence[Any]) -> list[Row]:
        """Run a statement of an adapter for tables that the writer does not know.

        The adapter notes by `wrote` what it did. Errors: `action.append_only` for an automatic
        kind, which runs none.
        """
        if self._appends:
            raise ActionRefused(
                "action.append_only",
                f"{self.kind} is automatic and only appends; it tried to run a statement.",
            )
        return await (await self._connection.execute(query, values)).fetchall()

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
        known = self._known.get(table.name, {}).values()
        found = next((row for row in known if _has_key(row, key)), None)
        if found is not None:
            self._claim(found, key)
            return self._use(table, found, name)
        if not self.careful and self._refers_to_new(table, key):
            return None
        if not self._held.decides(table, key):
            await self.finish()
        rows = await self._select(table, key)
        rows.sort(key=lambda row: row["user_id"] == SHARED_USER)
        if rows:
            self._claim(rows[0], key)
        return self._use(table, rows[0], name) if rows else None

    async def find_last(self, table: Table, key: Mapping[str, Any], by: str) -> Row | None:
        """Find the row with the highest value of the column `by`."""
        if self._held.holds(table):
            await self.finish()
        rows = await self._select(table, key, last_by=by)
        return self._use(table, rows[0], None) if rows else None

    async def _select(self, table: Table, key: Mapping[str, Any], last_by: str = "") -> list[Row]:
        owners = [self.user_id, SHARED_USER] if table.info.get("shared") else [self.user_id]
        # Shared and append-only rows may be read but not locked: the writer cannot change them.
        lockable = not (table.info.get("shared") or table.info.get("append_only"))
        text = select_text(
            table.name, key_shape(key), owners=len(owners), last_by=last_by, lock=lockable
        )
        values = [value for value in key.values() if value is not None]
        await self._cursor.execute(text, (*owners, *values))
        rows = await self._cursor.fetchall()
        for row in rows:
            self._know(table, row)
        return rows

    def _refers_to_new(self, table: Table, key: Mapping[str, Any]) -> bool:
        """Say whether a key names a row that this batch made and nobody else can refer to yet.

        What the batch itself has written about it is known: the database need not be asked.
        """
        return bool(self._new) and any(
            key.get(column) in self._new for column in _referring_columns(table)
        )

    def _know(self, table: Table, row: Row) -> None:
        if row["user_id"] == self.user_id:
            self._known.setdefault(table.name, {})[row["id"]] = row

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
        self,
        table: Table,
        key: Mapping[str, Any],
        values: Mapping[str, Any],
        *,
        name: str | None = None,
    ) -> Row:
        """Create the row with this natural key, or change what differs; None leaves as it is.

        Without a `name` the row is called by its table's label, here and in what follows.
        """
        called = name or _label(table, {**values, **key})
        row = await self.find(table, key, name=called)
        if row is None:
            return await self.create(table, {**key, **values}, name=called)
        return await self.change(table, row, values, name=called)

    async def create(
        self,
        table: Table,
        values: Mapping[str, Any],
        *,
        name: str | None = None,
        distinct: str = "",
    ) -> Row:
        """Create a row that was looked for and not found; None leaves a column empty.

        Its id follows from `name`, and from `distinct` where rows may share a name.
        """
        called = name or _label(table, values)
        return await self._insert(table, values, "create", (called, distinct))

    async def append(
        self, table: Table, values: Mapping[str, Any], *, name: str, distinct: str = ""
    ) -> Row:
        """Add a row to an append-only table; ids as in `create`, or as `values` give one.

        A repeat of the name or of the id finds the first row, unless `distinct` says that it is
        another.
        """
        found = None
        if not distinct:
            row_id = values.get("id") or self._row_id(table, name, "")
            found = await self.find(table, {"id": row_id}, name=name)
        return found or await self._insert(table, values, "append", (name, distinct))

    async def change(
        self, table: Table, row: Row, values: Mapping[str, Any], *, name: str | None = None
    ) -> Row:
        """Set columns of a row that was found before; None leaves as it is.

        A shared row stays as it is: what a user adds is theirs alone.
        """
        changed = {c: v for c, v in values.items() if v is not None and row[c] != v}
        if row["user_id"] == SHARED_USER:
            changed = {}
        return await self._update(table, row, changed, name=name or _label(table, row))

    async def delete(self, table: Table, row: Row, *, name: str) -> Row:
        """Remove a row that was found before, and what the database's keys remove with it.

        Every row that goes has an effect with all that it held; so has a row that stays and loses
        its link. Errors: `action.conflict` for a shared row, or one that other rows hold in place.
        """
        self._require_allowed("delete", table)
        if row["user_id"] == SHARED_USER:
            raise ActionRefused("action.conflict", f"{table.name} {name} belongs to everybody.")
        await self._begin_change()
        self.call(table, row, name)
        removed = Dependent(table=table, row=row, name=name)
        affected = [removed, *await find_dependents(self._connection, table, row, name)]
        for each in affected:
            self._use(each.table, each.row, each.name)
            await self._name_references(each.table, each.row)
        query = sql.SQL("DELETE FROM {} WHERE user_id = %s AND id = %s")
        await self._connection.execute(
            query.format(sql.Identifier(table.name)), (self.user_id, row["id"])
        )
        for each in affected:
            self._written_by[str(each.row["id"])] = self.action_id
            self._made_by_kind.pop(str(each.row["id"]), None)
            self._record_removal(each)
        # What was known of other rows may have gone with it, or lost its link.
        self._known.clear()
        self._new.clear()
        return row

    async def _name_references(self, table: Table, row: Row) -> None:
        """Learn the natural keys of the rows that a row refers to, as its image shows them."""
        for key in table.foreign_key_constraints:
            target, label = key.referred_table, key.referred_table.info.get("label")
            columns = {element.column.name: row[element.parent.name] for element in key.elements}
            if not label or columns.get("id") is None or str(columns["id"]) in self._names:
                continue
            query = sql.SQL("SELECT * FROM {} WHERE user_id = %s AND id = %s").format(
                sql.Identifier(target.name)
            )
            cursor = await self._connection.execute(query, (columns["user_id"], columns["id"]))
            if (found := await cursor.fetchone()) is not None:
                self.call(target, found, "/".join(str(found[column]) for column in label))

    def _record_removal(self, removed: Dependent) -> None:
        table, row = removed.table, removed.row
        if removed.cleared:
            before = {column: row[column] for column in removed.cleared}
            self._record("update", table, removed.name, before, dict.fromkeys(removed.cleared))
            return
        held = {c: v for c, v in row.items() if c not in _UNSEEN and v is not None}
        # An id that has no name says nothing to a person, nor whether the row is the one shown.
        shown = {c: v for c, v in held.items() if not isinstance(v, UUID) or str(v) in self._names}
        self._record("delete", table, removed.name, shown, {})

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
        self._require_allowed(operation, table)
        given = {column: value for column, value in values.items() if value is not None}
        row: Row = {
            "id": self._row_id(table, name, distinct),
            "user_id": self.user_id,
            **given,
        }
        self._has_written = True
        self._new.add(row["id"])
        self._written_by[str(row["id"])] = self.action_id
        self._made_by_kind[str(row["id"])] = self.kind
        self.call(table, row, name)
        effect = self._record(operation, table, name, {}, {})
        # What a row refers to is called as it is called now, however late the row is inserted.
        ids = (str(value) for value in given.values() if isinstance(value, UUID | str))
        names = {row_id: self._names[row_id] for row_id in ids if row_id in self._names}

        def show(stored: Row) -> None:
            after = {c: v for c, v in stored.items() if c not in _UNSEEN and v is not None}
            effect["after"] = _named(after, names)

        if not self.careful and is_foreseeable(table, tuple(row), _UNSEEN):
            self._held.hold(table, row, show)
        else:
            await self.finish()
            text = insert_text(table.name, tuple(row), 1)
            await self._cursor.execute(text, [bound(v) for v in row.values()])
            stored = await self._cursor.fetchone()
            assert stored is not None
            row = stored
            show(row)
        self._know(table, row)
        return row

    async def _update(
        self, table: Table, row: Row, changed: Mapping[str, Any], *, name: str
    ) -> Row:
        self._require_allowed("update", table)
        if not changed:
            self._record("none", table, name, {}, {})
            return row
        await self._begin_change()
        text = update_text(table.name, tuple(changed))
        values = [bound(value) for value in changed.values()]
        await self._cursor.execute(text, (*values, self.user_id, row["id"]))
        new = await self._cursor.fetchone()
        if new is None:
            raise ActionRefused(
                "action.conflict", f"{table.name} {name} is gone or belongs to another."
            )
        self._know(table, new)
        self._written_by[str(row["id"])] = self.action_id
        if self._made_by_kind.get(str(row["id"])) != self.kind:
            self._made_by_kind.pop(str(row["id"]), None)
        shown = [column for column in changed if column not in _UNSEEN]
        self._record("update", table, name, {c: row[c] for c in shown}, {c: new[c] for c in shown})
        return new

    async def _begin_change(self) -> None:
        """Let the database have what waits, before a row is changed that may be among it."""
        self._has_written = True
        await self.finish()

    def _record(
        self,
        operation: Operation,
        table: Table,
        name: str,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
    ) -> Effect:
        effect: Effect = {
            "operation": operation,
            "table": table.name,
            "row": f"{table.name}:{name}",
            "before": _named(before, self._names),
            "after": _named(after, self._names),
        }
        self.effects.append(effect)
        return effect

    def _claim(self, row: Row, key: Mapping[str, Any]) -> None:
        """Let an action own a row that an earlier one of its kind made in this batch.

        Found by its natural key, the row would have been made by this action as well: it does not
        depend on the other, and what comes after depends on this one.
        """
        row_id = str(row["id"])
        if self.kind and "id" not in key and self._made_by_kind.get(row_id) == self.kind:
            self._written_by[row_id] = self.action_id

    def _use(self, table: Table, row: Row, name: str | None) -> Row:
        row_id = str(row["id"])
        label: tuple[str, ...] = table.info.get("label", ())
        shown = name or "/".join(str(row[column]) for column in label) or row_id
        self._names.setdefault(row_id, f"{table.name}:{shown}")
        writer = self._written_by.get(row_id)
        if writer is not None and writer != self.action_id:
            self.depends_on.add(writer)
        return row


def _named(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Replace ids by natural keys; owners of referenced rows say nothing more."""
    kept = {c: v for c, v in values.items() if not c.endswith("_user_id")}
    shown = {column: plain(value) for column, value in kept.items()}
    return {c: names.get(v, v) if isinstance(v, str) else v for c, v in shown.items()}


@lru_cache(512)
def _referring_columns(table: Table) -> tuple[str, ...]:
    """Name the columns that hold ids of rows of other tables, as the database makes sure."""
    elements = (each for key in table.foreign_key_constraints for each in key.elements)
    return tuple(each.parent.name for each in elements if each.column.name == "id")


def _has_key(row: Row, key: Mapping[str, Any]) -> bool:
    return all(column in row and row[column] == value for column, value in key.items())


def _label(table: Table, values: Mapping[str, Any]) -> str:
    """Call a row by its table's label; errors: ValueError for a table that has none."""
    label: tuple[str, ...] = table.info.get("label", ())
    if not label:
        raise ValueError(f"name the row of {table.name}, or give the table a label")
    return "/".join(str(values[column]) for column in label)


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
