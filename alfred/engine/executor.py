"""The only code that runs actions: a dry run is the commit, rolled back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, LiteralString, TypeVar
from uuid import UUID

import psycopg
from psycopg import sql
from pydantic import ValidationError

from alfred.engine.action import (
    Action,
    ActionKind,
    Arguments,
    describe,
    references,
    replace_references,
)
from alfred.engine.automatic import require_automatic, require_reviewed
from alfred.engine.canonical import canonical
from alfred.engine.database import Connection, Database, Role
from alfred.engine.writer import Effect, SavepointsNeeded, Writer
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
_SAVEPOINT: LiteralString = "SAVEPOINT alfred_batch"
_ROLL_BACK: LiteralString = "ROLLBACK TO SAVEPOINT alfred_batch; RELEASE SAVEPOINT alfred_batch"
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


def misfit(kinds: Mapping[str, ActionKind], name: str, args: Mapping[str, Any]) -> str:
    """Say why the kinds that are installed now do not take an action; nothing where they do."""
    if name not in kinds:
        return _unknown(name).message
    try:
        parse_arguments(kinds[name], args)
    except ValidationError as error:
        return f"{name} does not take its arguments: {describe(error)}."
    return ""


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


def _unknown(kind: str) -> ActionRefused:
    return ActionRefused(
        "action.unknown_kind",
        f"No domain registers the action kind {kind!r}.",
        hint="Is the package of its domain installed?",
    )


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
            raise _unknown(name)
        return self.kinds[name]

    async def dry_run(self, batch: Batch) -> dict[str, Outcome]:
        """Run a batch, read its effects, and leave nothing behind."""

        async def once() -> dict[str, Outcome]:
            async with self._database.transaction(
                Role.WRITER, batch.user_id, rollback=True
            ) as connection:
                return await self.preview(connection, batch)

        return await retry_conflicts(once)

    async def record(self, batch: Batch) -> dict[str, UUID]:
        """Commit a batch of automatic kinds in one transaction, without a review; all or nothing.

        Shapes: the id of each action's row, by the action's id. A repeat finds what was recorded
        first and changes nothing.
        Errors: `action.not_automatic` for any other kind, `action.unknown_kind`,
        `action.arguments`, `action.append_only`, those of the services; `store.busy`.
        """
        kinds = {action["id"]: self.kind(action["kind"]) for action in batch.actions}
        arguments = {
            action["id"]: require_automatic(kinds[action["id"]], action["args"])
            for action in batch.actions
        }

        async def once() -> dict[str, UUID]:
            async with self._database.transaction(Role.WRITER, batch.user_id) as connection:
                await self._begin(connection, batch, arguments)
                writer = Writer(connection, batch.user_id, batch.now, batch.message_id)
                return {
                    action_id: (await writer.act(action_id, kind, arguments[action_id]))["id"]
                    for action_id, kind in kinds.items()
                }

        return await retry_conflicts(once)

    async def preview(self, connection: Connection, batch: Batch) -> dict[str, Outcome]:
        """Run a batch inside a caller's transaction and roll back to where it began."""
        outcomes = await self.run(connection, batch)
        # Deferred constraints would fail only at a commit that never comes.
        await _roll_back(connection, f"SET CONSTRAINTS ALL IMMEDIATE; {_ROLL_BACK}")
        return outcomes

    async def run(self, connection: Connection, batch: Batch) -> dict[str, Outcome]:
        """Run a batch in the caller's transaction, as if each action had a savepoint of its own.

        An action that cannot run leaves no trace; those that refer to it are blocked. Most batches
        run through: savepoints are made only in a second pass, where the first met a failure that
        something has to be taken back for.
        """
        parsed = self._parse(batch)
        await self._begin(connection, batch, parsed)
        writer = Writer(connection, batch.user_id, batch.now, batch.message_id, careful=False)
        try:
            outcomes = await self._pass(writer, batch, parsed)
            await writer.finish()
        except SavepointsNeeded:
            await _roll_back(connection, _ROLL_BACK)
            await self._begin(connection, batch, parsed)
            writer = Writer(connection, batch.user_id, batch.now, batch.message_id)
            outcomes = await self._pass(writer, batch, parsed)
        return outcomes

    def _parse(self, batch: Batch) -> dict[str, Arguments]:
        """Parse the arguments of each action that will run, placeholders in place of references."""
        parsed: dict[str, Arguments] = {}
        for action in batch.actions:
            if (kind := self.kinds.get(action["kind"])) is None:
                continue
            try:
                parsed[action["id"]] = parse_arguments(kind, action["args"])
            except ValidationError:
                continue
        return parsed

    async def _pass(
        self, writer: Writer, batch: Batch, parsed: Mapping[str, Arguments]
    ) -> dict[str, Outcome]:
        rows: dict[str, UUID] = {}
        outcomes: dict[str, Outcome] = {}
        for action in batch.actions:
            outcome, row_id = await self._run_one(writer, action, rows, parsed)
            outcomes[action["id"]] = outcome
            if row_id is not None:
                rows[action["id"]] = row_id
        return outcomes

    async def _run_one(
        self,
        writer: Writer,
        action: Action,
        rows: Mapping[str, UUID],
        parsed: Mapping[str, Arguments],
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
        try:
            kind = require_reviewed(self.kind(action["kind"]))
            # A referenced row is seen through its id; the dependency is stated all the same.
            arguments = None if targets else parsed.get(action["id"])
            if arguments is None:
                resolved = replace_references(action["args"], lambda target: str(rows[target]))
                arguments = parse_arguments(kind, resolved)
            row = await writer.act(action["id"], kind, arguments)
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

    async def _begin(
        self, connection: Connection, batch: Batch, parsed: Mapping[str, Arguments]
    ) -> None:
        """Make a savepoint and lock what the batch will touch, before anything is read.

        The locks are taken in sorted order: without them, proposals over the same rows deadlock or
        convoy for minutes. All of it travels in one round trip.
        """
        keys: set[str] = set()
        whole_user = False
        for action in batch.actions:
            kind = self.kinds.get(action["kind"])
            if kind is None:
                continue  # it will not run
            if kind.locks is None:
                whole_user = True
            elif (arguments := parsed.get(action["id"])) is not None:
                keys.update(kind.locks(arguments))
        mode = "pg_advisory_xact_lock" if whole_user else "pg_advisory_xact_lock_shared"
        names = [] if whole_user else sorted(f"{batch.user_id}/{key}" for key in keys)
        locks = [sql.SQL("SELECT {}({})").format(sql.SQL(mode), _lock_key(f"{batch.user_id}"))]
        locks += [sql.SQL("SELECT pg_advisory_xact_lock({})").format(_lock_key(n)) for n in names]
        await connection.execute(sql.SQL("; ").join([sql.SQL(_SAVEPOINT), *locks]))


def _lock_key(name: str) -> sql.Composed:
    return sql.SQL("hashtextextended({}, 0)").format(sql.Literal(name))


async def _roll_back(connection: Connection, text: LiteralString) -> None:
    """Roll back to the batch's savepoint, and let prepared statements live.

    The driver forgets all of them at a rollback, as objects that they name may be gone with it; a
    batch makes and drops no objects.
    """
    threshold, connection.prepare_threshold = connection.prepare_threshold, None
    try:
        await connection.execute(text)
    finally:
        connection.prepare_threshold = threshold


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
