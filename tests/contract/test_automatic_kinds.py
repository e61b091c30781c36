"""Automatic kinds can only add to append-only tables: the check, the writer, the database."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors, sql

from alfred.engine.action import Action, ActionKind, Arguments, RowId
from alfred.engine.automatic import automatic_action, check_kinds, kind_problems, require_automatic
from alfred.engine.database import Role, Row
from alfred.engine.domain import all_kinds
from alfred.engine.executor import ActionExecutor
from alfred.engine.manifest_file import load_manifest
from alfred.engine.writer import Writer
from alfred.errors import ActionRefused, ManifestInvalid
from alfred.installed import load_domains
from alfred.store.address import Address
from alfred.store.tables.diagnosis import (
    DIAGNOSIS_CANCEL,
    DIAGNOSIS_END,
    DIAGNOSIS_RUN,
    INCIDENT_NOTE,
)
from tests.diagnosis_records import (
    KINDS,
    DiagnosisWorld,
    begun,
    cancelled,
    ended,
    note_args,
    open_diagnosis_world,
)
from tests.job_world import act
from tests.world import count, look


class Named(Arguments):
    """A run that a bad kind is to be tried on."""

    run: RowId


Try = Callable[[Writer, Row], Awaitable[Row]]


def trying(work: Try, *, appends: Any = (DIAGNOSIS_CANCEL,)) -> ActionKind:
    """Make a kind that declares to append to one table and does something else."""

    async def try_more(writer: Writer, args: Named) -> Row:
        return await work(writer, await writer.get(DIAGNOSIS_RUN, args.run))

    return ActionKind(arguments=Named, handler=try_more, appends=appends)


async def change(writer: Writer, run: Row) -> Row:
    return await writer.change(DIAGNOSIS_RUN, run, {"question": "Was it ever slow?"}, name="run")


async def change_nothing(writer: Writer, run: Row) -> Row:
    return await writer.change(DIAGNOSIS_RUN, run, {}, name="run")


async def delete(writer: Writer, run: Row) -> Row:
    return await writer.delete(DIAGNOSIS_RUN, run, name="run")


async def create(writer: Writer, run: Row) -> Row:
    values = {"run_id": run["id"], "requested_at": writer.now}
    return await writer.create(DIAGNOSIS_CANCEL, values, name="cancel")


async def append_elsewhere(writer: Writer, run: Row) -> Row:
    values = {"run_id": run["id"], "terminal_reason": "MADE_UP", "ended_at": writer.now}
    return await writer.append(DIAGNOSIS_END, values, name="end")


async def ensure_a_note(writer: Writer, run: Row) -> Row:
    values = {"title": "No one approved this", "finding": "cause"}
    return await writer.ensure(INCIDENT_NOTE, {"run_id": run["id"]}, values, name="note")


@pytest.fixture
async def world(database: Address) -> AsyncGenerator[DiagnosisWorld]:
    async with open_diagnosis_world(database) as opened:
        yield opened


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (change, "tried to update diagnosis_run"),
        (change_nothing, "tried to update diagnosis_run"),
        (delete, "tried to delete diagnosis_run"),
        (create, "tried to create diagnosis_cancel"),
        (append_elsewhere, "tried to append diagnosis_end"),
        (ensure_a_note, "tried to create incident_note"),
    ],
)
async def test_the_writer_lets_an_automatic_kind_do_nothing_but_append_where_it_declares(
    world: DiagnosisWorld, database: Address, work: Try, told: str
) -> None:
    await world.record(begun(world.turn_id))
    before = await world.rows("diagnosis_run")
    kind = trying(work)
    world.executor = ActionExecutor(world.pools, {**KINDS, kind.name: kind})
    bad = automatic_action(kind.name, {"run": str(world.turn_id)})
    with pytest.raises(ActionRefused, match=told) as caught:
        await world.record(cancelled(world.turn_id), bad)
    assert caught.value.code == "action.append_only"
    assert await world.rows("diagnosis_run") == before
    for table in ("diagnosis_cancel", "diagnosis_end", "incident_note"):
        assert count(database, table, world.user_id) == 0


async def test_a_kind_that_declares_a_changeable_table_fails_the_check_and_is_not_run(
    world: DiagnosisWorld, database: Address
) -> None:
    kind = trying(append_elsewhere, appends=(DIAGNOSIS_END, INCIDENT_NOTE))
    told = "try_more is automatic and appends to incident_note, whose rows can change"
    assert check_kinds([*KINDS.values(), kind]) == [told]
    await world.record(begun(world.turn_id))
    world.executor = ActionExecutor(world.pools, {**KINDS, kind.name: kind})
    with pytest.raises(ActionRefused, match=told) as caught:
        await world.record(automatic_action(kind.name, {"run": str(world.turn_id)}))
    assert caught.value.code == "action.append_only"
    assert count(database, "diagnosis_end", world.user_id) == 0


def test_a_kind_that_binds_to_a_proposals_actions_is_no_automatic_one() -> None:
    kind = ActionKind(
        arguments=Named,
        handler=trying(create).handler,
        appends=(DIAGNOSIS_CANCEL,),
        binds={"run": "begin_diagnosis"},
    )
    assert kind_problems(kind) == [
        "try_more is automatic and refers to actions of a proposal",
    ]
    with pytest.raises(ActionRefused) as caught:
        require_automatic(kind, {})
    assert caught.value.code == "action.append_only"


def test_every_installed_automatic_kind_passes_the_check() -> None:
    kinds = all_kinds(load_domains()).values()
    assert check_kinds(kinds) == []
    assert {kind.name for kind in kinds if kind.is_automatic} >= {
        *("begin_diagnosis", "record_tool_call", "record_fact", "record_diagnosis_event"),
        *("end_diagnosis", "request_cancel", "receive_alert"),
    }


def test_the_database_lets_the_writer_add_to_the_tables_of_automatic_kinds_and_nothing_else(
    database: Address,
) -> None:
    tables = {table.name for kind in KINDS.values() for table in kind.appends}
    assert len(tables) == 7
    for table in tables:
        held = look(
            database,
            "SELECT privilege_type AS may FROM information_schema.role_table_grants"
            " WHERE grantee = %s AND table_name = %s",
            [Role.WRITER.value, table],
        )
        assert {row["may"] for row in held} == {"SELECT", "INSERT"}
        for text in ("UPDATE {} SET created_at = now()", "DELETE FROM {}", "TRUNCATE {}"):
            with (
                psycopg.connect(database.dsn(Role.WRITER)) as connection,
                pytest.raises(errors.InsufficientPrivilege),
            ):
                connection.execute(sql.SQL(text).format(sql.Identifier(table)))  # type: ignore[arg-type]


async def test_a_proposal_with_an_automatic_action_can_never_be_approved(
    world: DiagnosisWorld, database: Address
) -> None:
    run = world.turn_id
    await world.record(begun(run))
    proposed: list[Action] = [
        {**ended(run), "node": "test"},
        act("record_incident_note", **note_args(run)),
    ]
    for outcomes in (await world.dry_run(*proposed), await world.commit(*proposed)):
        automatic, reviewed = outcomes
        assert automatic.status == "refused"
        assert automatic.problem == "end_diagnosis is recorded automatically and never proposed."
        assert reviewed.status == "ready"
    assert count(database, "diagnosis_end", world.user_id) == 0
    assert count(database, "incident_note", world.user_id) == 1


NODE = """
name: end_it
domain: diagnosis
version: 1
description: Ends a diagnosis
prompt: { system: s, user: "{{ input.text }}" }
output_schema: { type: object, properties: { why: { type: string, maxLength: 20 } } }
actions:
  - kind: request_cancel
    args: { run: "{{ out.why }}" }
"""


def test_a_node_that_names_an_automatic_kind_is_refused_at_load(tmp_path: Path) -> None:
    folder = tmp_path / "end_it"
    folder.mkdir()
    (folder / "node.yaml").write_text(NODE)
    with pytest.raises(ManifestInvalid) as caught:
        load_manifest(folder, KINDS)
    (problem,) = caught.value.details["problems"]
    assert "actions[0].kind" in str(problem)
    assert "'request_cancel' is recorded automatically and never proposed" in str(caught.value)
    assert caught.value.code == "manifest.action"
