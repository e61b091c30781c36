"""What a diagnosis records, against a real database: added once, never changed, read as written."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from alfred.engine.database import Role
from alfred.errors import ActionRefused
from alfred.probes.tool_call import is_sealed
from alfred.services.queries.diagnosis import (
    alert_run,
    find_open_runs,
    is_cancelled,
    latest_run,
    list_runs,
    load_calls,
    load_end,
    load_events,
    load_facts,
    load_run,
)
from alfred.services.queries.incidents import list_incidents, past_incidents
from alfred.store.address import Address
from tests.diagnosis_records import (
    AUTOMATIC,
    DiagnosisWorld,
    alert,
    begun,
    call,
    called,
    ended,
    fact,
    note_args,
    open_diagnosis_world,
    stepped,
    whole_run,
)
from tests.job_world import NOW, act
from tests.world import count

TABLES = {
    "begin_diagnosis": "diagnosis_run",
    "record_tool_call": "diagnosis_call",
    "record_fact": "diagnosis_fact",
    "record_diagnosis_event": "diagnosis_event",
    "end_diagnosis": "diagnosis_end",
    "request_cancel": "diagnosis_cancel",
    "receive_alert": "alert_intake",
}


@pytest.fixture
async def world(database: Address) -> AsyncGenerator[DiagnosisWorld]:
    async with open_diagnosis_world(database) as opened:
        yield opened


def test_every_automatic_kind_has_its_table() -> None:
    assert set(TABLES) == AUTOMATIC


async def test_a_run_is_recorded_whole_and_read_as_it_was_written(world: DiagnosisWorld) -> None:
    run = world.turn_id
    recorded = await world.record(*whole_run(run), alert(run))
    assert len(recorded) == 7
    async with world.pools.transaction(Role.READER, world.user_id) as connection:
        told = await load_run(connection, run)
        assert told is not None
        assert (told["question"], told["scope"]) == (
            "Why is checkout slow since 09:00?",
            {"service": "checkout"},
        )
        assert (told["began_at"], told["is_cancelled"], told["finding"]) == (NOW, True, "cause")
        assert await load_calls(connection, run) == [call()]
        assert all(map(is_sealed, await load_calls(connection, run)))
        (only,) = await load_facts(connection, run)
        assert (only["id"], only["round"], only["evidence"], only["unsupported"]) == (
            *("F1", 1, ["E1"]),
            [],
        )
        assert await load_events(connection, run) == [
            {
                "node": "planner",
                "outcome": "COMPLETED",
                "reason_code": "PLAN_READY",
                "attempt": 1,
            }
        ]
        end = await load_end(connection, run)
        assert end is not None
        assert end["terminal_reason"] == "ANSWER_COMPOSED"
        assert end["answer"] == {"headline": "The deploy at 09:10 doubled the pool's wait."}
        assert await is_cancelled(connection, run)
        assert (
            await alert_run(
                connection, "c0ffee12", datetime.fromisoformat("2026-03-02T17:12:00+08:00")
            )
            == run
        )


async def test_a_repeat_changes_nothing_and_the_first_record_stays(world: DiagnosisWorld) -> None:
    run, other = world.turn_id, await world.add_turn()
    first = await world.record(*whole_run(run), alert(run))
    before = {table: await world.rows(table) for table in TABLES.values()}
    assert await world.record(*whole_run(run), alert(run)) == first
    changed = [
        begun(run, question="Something else?"),
        called(run, lines=["nothing of the kind"]),
        fact(run, verification="contradicted"),
        stepped(run, outcome="FAILED"),
        ended(run, terminal_reason="CRASHED", finding=None, answer={}),
        alert(other, status="resolved"),
        alert(other, starts_at="2026-03-02T10:12:00+01:00"),
    ]
    again = await world.record(*changed)
    assert set(again.values()) <= set(first.values())
    assert {table: await world.rows(table) for table in TABLES.values()} == before
    assert {table: len(found) for table, found in before.items()} == dict.fromkeys(
        TABLES.values(), 1
    )


async def test_one_that_does_not_fit_takes_the_whole_batch_with_it(
    world: DiagnosisWorld, database: Address
) -> None:
    run = world.turn_id
    bad: list[Any] = [
        (called(uuid4()), "action.reference"),
        (stepped(run, ordinal=0), "action.arguments"),
        (fact(run, role="guess"), "action.arguments"),
        (called(run, 2, lines=["a NUL \x00 in a log"]), "action.arguments"),
        (fact(run, 2, unsupported=["half of one: \ud83d"]), "action.arguments"),
        (called(run, 2, lines=["x" * 100_000]), "action.arguments"),
        (begun(uuid4()), "action.conflict"),
        (begun(run, previous=str(uuid4())), "action.reference"),
        (act("record_incident_note", **note_args(run)), "action.not_automatic"),
        (act("no_such_kind"), "action.unknown_kind"),
    ]
    for action, code in bad:
        with pytest.raises(ActionRefused) as caught:
            await world.record(begun(run), action)
        assert caught.value.code == code, action
        for table in TABLES.values():
            assert count(database, table, world.user_id) == 0


async def test_runs_are_listed_newest_first_and_open_ones_are_found(world: DiagnosisWorld) -> None:
    first, second, third = world.turn_id, await world.add_turn(), await world.add_turn()
    early, late = NOW - timedelta(hours=3), NOW - timedelta(hours=1)
    await world.record(begun(first), ended(first), now=early)
    await world.record(begun(second, origin="follow_up", previous=str(first)), now=late)
    await world.record(begun(third, question="三点以后结账为什么变慢？", language="zh"))
    async with world.pools.transaction(Role.READER, world.user_id) as connection:
        listed = await list_runs(connection)
        assert [run["id"] for run in listed] == [third, second, first]
        assert [run["finding"] for run in listed] == [None, None, "cause"]
        assert [run["id"] for run in await list_runs(connection, limit=1)] == [third]
        opened = await find_open_runs(connection)
        assert [(run["id"], run["previous_id"]) for run in opened] == [
            (second, first),
            (third, None),
        ]
        newest = await latest_run(connection, now=NOW, hours=2)
        assert newest is not None
        assert newest["id"] == third
        before = await latest_run(connection, now=late, hours=1)
        assert before is not None
        assert before["id"] == second
        assert await latest_run(connection, now=early - timedelta(minutes=1), hours=24) is None
        assert await load_run(connection, uuid4()) is None
        assert await load_end(connection, second) is None
        assert not await is_cancelled(connection, second)
        assert await alert_run(connection, "unheard", NOW) is None


async def test_calls_facts_and_events_come_back_in_their_order(world: DiagnosisWorld) -> None:
    run = world.turn_id
    await world.record(begun(run))
    numbers = [10, 2, 1, 11]
    await world.record(*(called(run, number) for number in numbers))
    await world.record(*(fact(run, number) for number in numbers), fact(run, 1, round=2))
    await world.record(*(stepped(run, number, attempt=number) for number in numbers))
    async with world.pools.transaction(Role.READER, world.user_id) as connection:
        assert [c["id"] for c in await load_calls(connection, run)] == ["E1", "E2", "E10", "E11"]
        found = await load_facts(connection, run)
        assert [(f["round"], f["id"]) for f in found] == [
            *((1, "F1"), (1, "F2"), (1, "F10"), (1, "F11")),
            (2, "F1"),
        ]
        assert [e["attempt"] for e in await load_events(connection, run)] == [1, 2, 10, 11]


async def test_a_notes_dry_run_is_what_is_then_stored_and_a_second_one_changes_it(
    world: DiagnosisWorld,
) -> None:
    run = world.turn_id
    await world.record(begun(run))
    note = act("record_incident_note", **note_args(run))
    (shown,) = await world.dry_run(note)
    assert await world.rows("incident_note") == []
    (done,) = await world.commit(note)
    assert (shown.status, shown.effects) == ("ready", done.effects)
    image = shown.effects[0]
    assert (image["operation"], image["row"]) == (
        "create",
        "incident_note:Checkout waited for its connection pool",
    )
    assert image["after"]["run_id"] == "diagnosis_run:Why is checkout slow since 09:00?"
    again = act("record_incident_note", **note_args(run, title="Checkout ran out of connections"))
    (changed,) = await world.commit(again)
    assert changed.effects[0]["after"] == {"title": "Checkout ran out of connections"}
    (row,) = await world.rows("incident_note")
    assert (row["run_id"], row["title"]) == (run, "Checkout ran out of connections")
    (lost,) = await world.dry_run(act("record_incident_note", **note_args(uuid4())))
    assert (lost.status, "There is no diagnosis_run" in lost.problem) == ("refused", True)


async def test_two_runs_may_have_notes_of_one_title(world: DiagnosisWorld) -> None:
    runs = [world.turn_id, await world.add_turn()]
    for run in runs:
        await world.record(begun(run))
        await world.commit(act("record_incident_note", **note_args(run)))
    assert {row["run_id"] for row in await world.rows("incident_note")} == set(runs)


async def test_past_incidents_guide_by_service_first_then_by_words(world: DiagnosisWorld) -> None:
    notes = [
        {"title": "Checkout waited for its connection pool"},
        {
            "title": "Search answered slowly.",
            "services": ["search"],
            "cause": "The connection pool was exhausted",
        },
        {"title": "订单队列积压", "services": [], "cause": None, "finding": "hypotheses"},
        {"title": "A certificate ran out", "services": ["mail"], "cause": "Nobody renewed it"},
    ]
    for given in notes:
        run = await world.add_turn()
        await world.record(begun(run))
        await world.commit(act("record_incident_note", **note_args(run, **given)))
    async with world.pools.transaction(Role.READER, world.user_id) as connection:
        question = "Is the connection pool to blame?"
        told = await past_incidents(connection, {"service": "Checkout"}, question)
        assert told == [
            "Past incident of 2026-03-02 (checkout): Checkout waited for its connection pool."
            " Its cause was: The deploy at 09:10 halved the pool to 5 connections.",
            "Past incident of 2026-03-02 (search): Search answered slowly."
            " Its cause was: The connection pool was exhausted.",
        ]
        assert (await past_incidents(connection, {}, question, limit=1)) == [told[1]]
        chinese = await past_incidents(connection, {}, "订单为什么变慢？", language="zh")
        assert chinese == ["过去的事故 2026-03-02（未写明服务）：订单队列积压。"]
        assert await past_incidents(connection, {"service": "billing"}, "Why?") == []
        assert len(await list_incidents(connection)) == 4
