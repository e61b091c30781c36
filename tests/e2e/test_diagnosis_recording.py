"""Records of a diagnosis under kills and races: whole or not at all, and once."""

from __future__ import annotations

import asyncio
import io
import json
import signal
from collections.abc import AsyncGenerator
from uuid import UUID

import pytest

from alfred.engine.database import Role
from alfred.errors import ActionRefused
from alfred.services.queries.diagnosis import is_cancelled, list_runs, load_end
from alfred.store.address import Address
from alfred.store.export_file import write_json
from alfred.store.snapshot import open_snapshot
from tests.diagnosis_records import (
    DiagnosisWorld,
    alert,
    begun,
    called,
    ended,
    note_args,
    open_diagnosis_world,
    whole_run,
)
from tests.e2e.test_survival import child, hear, plain, tell
from tests.job_world import act
from tests.world import look

STEP = 3
"""Of the waits of a batch every third is one to die at; beside each other they are alike."""
TABLES = (
    *("diagnosis_run", "diagnosis_call", "diagnosis_fact", "diagnosis_event"),
    *("diagnosis_end", "diagnosis_cancel"),
)


@pytest.fixture
async def world(database: Address) -> AsyncGenerator[DiagnosisWorld]:
    async with open_diagnosis_world(database) as opened:
        yield opened


def rows_of(database: Address, run: UUID) -> list[int]:
    """Count a run's rows in each table, from outside."""
    counts: list[int] = []
    for table in TABLES:
        column = "id" if table == "diagnosis_run" else "run_id"
        query = f"SELECT count(*) AS n FROM {table} WHERE {column} = %s"
        counts.append(look(database, query, [run])[0]["n"])
    return counts


async def test_a_kill_at_any_wait_leaves_a_batch_whole_or_absent_and_a_repeat_completes_it(
    world: DiagnosisWorld, database: Address
) -> None:
    whole, none = [1] * len(TABLES), [0] * len(TABLES)
    seen: list[list[int]] = []
    with child(plain(database), "tests.recording_process") as lives:

        async def end_at(last: int) -> tuple[UUID, str]:
            run = await world.add_turn()
            life = {"run": str(run), "user": str(world.user_id), "last": last}
            tell(lives, json.dumps(life))
            return run, hear(lives)

        _, told = await end_at(0)
        waits = int(told.removeprefix("waits "))
        assert hear(lives) == "ended 0"
        assert waits > 20
        for last in range(1, waits + 1, STEP):
            run, told = await end_at(last)
            assert told == f"ended {-signal.SIGKILL}"
            seen.append(rows_of(database, run))
            assert seen[-1] in (whole, none)
            await world.record(*whole_run(run))
            assert rows_of(database, run) == whole
    assert none in seen


async def test_of_many_that_record_the_same_at_once_all_succeed_and_one_row_stands(
    world: DiagnosisWorld, database: Address
) -> None:
    run = world.turn_id
    batches = [[*whole_run(run), alert(run)] for _ in range(8)]
    told = await asyncio.gather(*(world.record(*batch) for batch in batches))
    assert all(each == told[0] for each in told)
    assert rows_of(database, run) == [1] * len(TABLES)
    assert len(await world.rows("alert_intake")) == 1


async def test_of_two_that_take_the_same_alert_at_once_one_gives_it_its_run(
    world: DiagnosisWorld,
) -> None:
    first, second = world.turn_id, await world.add_turn()
    await asyncio.gather(world.record(alert(first)), world.record(alert(second)))
    (row,) = await world.rows("alert_intake")
    assert row["run_id"] in (first, second)


async def test_an_end_and_a_crash_that_race_leave_one_terminal_reason(
    world: DiagnosisWorld, database: Address
) -> None:
    run = world.turn_id
    await world.record(begun(run))
    crashed = ended(run, terminal_reason="CRASHED", finding=None, verdict=None, answer={})
    await asyncio.gather(world.record(ended(run)), world.record(crashed))
    (row,) = await world.rows("diagnosis_end")
    assert row["terminal_reason"] in ("ANSWER_COMPOSED", "CRASHED")


async def test_one_user_sees_nothing_of_anothers_diagnoses_and_records_nothing_into_them(
    world: DiagnosisWorld, database: Address
) -> None:
    run = world.turn_id
    await world.record(*whole_run(run))
    async with open_diagnosis_world(database) as other:
        async with other.pools.transaction(Role.READER, other.user_id) as connection:
            assert await list_runs(connection) == []
            assert await load_end(connection, run) is None
            assert not await is_cancelled(connection, run)
        with pytest.raises(ActionRefused, match="There is no diagnosis_run"):
            await other.record(called(run, 2))
        own = await other.record(*whole_run(other.turn_id))
        assert rows_of(database, other.turn_id) == [1] * len(TABLES)
        assert set(own.values()).isdisjoint(row["id"] for row in await world.rows("diagnosis_end"))


async def test_an_export_holds_what_was_recorded_and_approved(world: DiagnosisWorld) -> None:
    run = world.turn_id
    await world.record(*whole_run(run), alert(run))
    await world.commit(act("record_incident_note", **note_args(run)))
    out = io.StringIO()
    async with open_snapshot(world.pools, world.user_id) as snapshot:
        counts = await write_json(snapshot, {}, out)
    wanted = dict.fromkeys((*TABLES, "alert_intake", "incident_note"), 1)
    assert {table: counts[table] for table in wanted} == wanted
    (call,) = json.loads(out.getvalue())["tables"]["diagnosis_call"]["rows"]
    assert call["run_id"] == str(run)
    assert call["lines"] == ["  latency_p99 0.21 s at 09:00", "延迟 2.4 s at 09:12 "]
