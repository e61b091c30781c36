"""The only code that runs actions: a dry run is the commit, rolled back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeVar
from uuid import UUID

import psycopg
from pydantic import ValidationError

from alfred.engine.action import (
    Action,
    ActionKind,
    Arguments,
    references,
    replace_references,
)
from alfred.engine.canonical import canonical
from alfred.engine.database import Connection, Database, Role
from alfred.engine.writer import Effect, Writer
from alfred.errors import ActionRefused, StoreFailed

Status = Literal["ready", "incomplete", "blocked", "refused"]
"""
ready       the action ran; its effects are known
incomplete  a required value is empty
blocked     it refers to an action that did not run
refused     the service or the argument model refused it
"""
Result = TypeVar("Result")
_PLACEHOLDER = UUID(int=1)
_TRIES = 5


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Actions to run in this order, on behalf of a user, at the time of their message."""

    user_id: UUID
    now: datetime
    actions: Sequence[Action]
    message_id: UUID | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What running one action did, or why it did not run."""

    status: Status
    effects: list[Effect] = field(default_factory=list[Effect])
    depends_on: list[str] = field(default_factory=list[str])
    problem: str = ""


def parse_arguments(kind: ActionKind, args: Mapping[str, Any]) -> Arguments:
    """Validate arguments as JSON, a reference standing for the id it will become.

    Errors: pydantic's `ValidationError`.
    """
    plain_args = replace_references(args, lambda _: str(_PLACEHOLDER))
    return kind.arguments.model_validate_json(canonical(plain_args))


def takes_reference(kind: ActionKind, name: str, args: Mapping[str, Any]) -> bool:
    """Say whether every reference in an argument stands where the kind takes a row's id."""
    targets: list[str] = []

    def replace_by_no_id(target: str) -> str:
        targets.append(target)
        return "no id"  # fits a text, and fails exactly where an id is wanted

    replaced = {**args, name: replace_references(args[name], replace_by_no_id)}
    wanted = 0
    try:
        parse_arguments(kind, replaced)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        wanted = sum(e["loc"][:1] == (name,) and e["type"] == "uuid_parsing" for e in found)
    return wanted >= len(targets)


def describe(error: ValidationError) -> str:
    """Say in one line which arguments do not fit, and why."""
    parts = (
        f"{'/'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False, include_context=False)
    )
    return "; ".join(parts)


class ActionExecutor:
    """Runs batches through the services' handlers.

    The kinds come from every domain; the executor itself knows no domain's words.
    """

    def __init__(self, database: Database, kinds: Mapping[str, ActionKind]) -> None:
        self._database = database
        self.kinds = kinds

    def kind(self, name: str) -> ActionKind:
        """Return a kind by name.

        Errors: `action.unknown_kind`.
        """
        if name not in self.kinds:
            raise ActionRefused(
                "action.unknown_kind",
                f"No domain registers the action kind {name!r}.",
                hint="Is the package of its domain installed?",
            )
        return self.kinds[name]

    async def dry_run(self, batch: Batch) -> dict[str, Outcome]:
        """Run a batch, read its effects, and leave nothing behind."""

        async def once() -> dict[str, Outcome]:
            async with self._database.transaction(
                Role.WRITER, batch.user_id, rollback=True
            ) as connection:
                return await self.preview(connection, batch)

        return await retry_conflicts(once)

    async def preview(self, connection: Connection, batch: Batch) -> dict[str, Outcome]:
        """Run a batch inside a caller's transaction and roll back to where it began."""
        async with connection.transaction(force_rollback=True):
            outcomes = await self.run(connection, batch)
            # Deferred constraints would fail only at a commit that never comes.
            await connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
            return outcomes

    async def run(self, connection: Connection, batch: Batch) -> dict[str, Outcome]:
        """Run a batch in the caller's transaction, each action in a savepoint of its own.

        An action that cannot run leaves no trace; those that refer to it are blocked.
        """
        await self._lock(connection, batch)
        writer = Writer(connection, batch.user_id, batch.now, batch.message_id)
        rows: dict[str, UUID] = {}
        outcomes: dict[str, Outcome] = {}
        for action in batch.actions:
            outcome, row_id = await self._run_one(writer, action, rows)
            outcomes[action["id"]] = outcome
            if row_id is not None:
                rows[action["id"]] = row_id
        return outcomes

    async def _run_one(
        self, writer: Writer, action: Action, rows: Mapping[str, UUID]
    ) -> tuple[Outcome, UUID | None]:
        targets = references(action["args"])
        depends = sorted(targets)
        if action["missing"]:
            problem = f"still empty: {', '.join(action['missing'])}"
            return Outcome(status="incomplete", depends_on=depends, problem=problem), None
        if unmet := targets - set(rows):
            problem = "waits for an action that cannot run yet"
            return Outcome(
                status="blocked", depends_on=sorted(unmet | targets), problem=problem
            ), None
        kind = self.kind(action["kind"])
        resolved = replace_references(action["args"], lambda target: str(rows[target]))
        # The handler sees a referenced row through its id; the dependency is stated all the same.
        try:
            arguments = parse_arguments(kind, resolved)
            async with writer.acting(action["id"]):
                row = await kind.handler(writer, arguments)
        except ValidationError as error:
            return Outcome(status="refused", depends_on=depends, problem=describe(error)), None
        except ActionRefused as error:
            return Outcome(status="refused", depends_on=depends, problem=error.message), None
        outcome = Outcome(
            status="ready",
            effects=writer.effects,
            depends_on=sorted(targets | writer.depends_on),
        )
        return outcome, row["id"]

    async def _lock(self, connection: Connection, batch: Batch) -> None:
        """Lock what the batch will touch, in sorted order, before anything is read.

        Without it, proposals over the same rows deadlock or convoy for minutes.
        """
        keys: set[str] = set()
        whole_user = False
        for action in batch.actions:
            kind = self.kind(action["kind"])
            if kind.locks is None:
                whole_user = True
                continue
            try:
                keys.update(kind.locks(parse_arguments(kind, action["args"])))
            except ValidationError:
                continue  # it will not run
        mode = "pg_advisory_xact_lock" if whole_user else "pg_advisory_xact_lock_shared"
        await connection.execute(
            f"SELECT {mode}(hashtextextended(%s, 0))",
            (f"{batch.user_id}",),
        )
        if not whole_user and keys:
            await connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(key, 0))"
                " FROM (SELECT unnest(%s::text[]) AS key ORDER BY 1) AS keys",
                ([f"{batch.user_id}/{key}" for key in sorted(keys)],),
            )


def is_same(shown: Sequence[Effect], now: Sequence[Effect], shared_tables: frozenset[str]) -> bool:
    """Say whether effects are those a person saw.

    A vocabulary row that the preview would have created and that stands meanwhile as wanted is no
    difference: another proposal of the same user named the same thing.
    """
    if len(shown) != len(now):
        return False
    return all(
        canonical(was) == canonical(new)
        or (
            was["table"] in shared_tables
            and was["row"] == new["row"]
            and was["operation"] == "create"
            and new["operation"] == "none"
        )
        for was, new in zip(shown, now, strict=True)
    )


async def retry_conflicts(attempt: Callable[[], Awaitable[Result]]) -> Result:
    """Repeat a whole transaction after a deadlock or a serialization failure.

    Errors: `store.busy` if it fails so every time.
    """
    for tried in range(_TRIES):
        try:
            return await attempt()
        except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure) as error:
            if tried == _TRIES - 1:
                raise StoreFailed(
                    "store.busy",
                    f"Other transactions got in the way {_TRIES} times; nothing was written.",
                    hint="Repeat the command in a moment.",
                ) from error
            await asyncio.sleep(0.01 * 2**tried)
    raise AssertionError("unreachable")
