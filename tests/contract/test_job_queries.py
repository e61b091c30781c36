"""The job domain's reads, over rows that its own actions wrote."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import date

import pytest

from alfred.engine.database import Role
from alfred.errors import ActionRefused
from alfred.services.queries.applications import list_applications
from alfred.services.queries.experience import list_experience
from alfred.services.queries.jobs import get_posting, list_postings
from alfred.services.queries.reminders import list_due
from alfred.services.queries.resume_sources import list_resume_sources
from alfred.store.address import Address
from tests.job_world import (
    NOW,
    World,
    act,
    experience_action,
    interview_batch,
    open_job_world,
    posting_batch,
    reminder_batch,
    requirement_batch,
)


@pytest.fixture
async def world(database: Address) -> AsyncGenerator[World]:
    async with open_job_world(database) as opened:
        yield opened


async def test_the_list_shows_each_posting_with_company_status_and_count(world: World) -> None:
    await world.commit(*requirement_batch())
    await world.commit(*interview_batch())
    await world.commit(*posting_batch(title="Data Analyst", location="柏林", deadline="2026-04-01"))
    async with world.pools.transaction(Role.READER, world.user_id) as connection:
        listed = await list_postings(connection)
        applications = await list_applications(connection, status="interviewing")
    assert [(p["title"], p["requirements"], p["status"]) for p in listed] == [
        ("Data Analyst", 0, None),
        ("Backend Engineer", 1, "interviewing"),
    ]
    assert {p["company"] for p in listed} == {"Lumen Kites Ltd."}
    assert listed[0]["deadline"] == date(2026, 4, 1)
    assert [a["title"] for a in applications] == ["Backend Engineer"]


async def test_one_posting_is_found_by_the_beginning_of_its_id_with_all_that_is_known(
    world: World,
) -> None:
    await world.commit(*requirement_batch())
    await world.commit(*interview_batch())
    await world.commit(*reminder_batch())
    async with world.pools.transaction(Role.READER, world.user_id) as connection:
        (listed,) = await list_postings(connection)
        posting = await get_posting(connection, str(listed["id"])[:6].upper())
        due = await list_due(connection, today=NOW.date(), days=30)
    assert (posting["place"], posting["location"]) == ("Hong Kong", "香港")
    assert [r["text"] for r in posting["requirements"]] == ["熟悉 Python"]
    assert posting["application"]["status"] == "interviewing"
    assert [i["round"] for i in posting["interviews"]] == [1]
    assert [r["due_on"] for r in posting["reminders"]] == [date(2026, 3, 22)]
    assert [p["message_id"] for p in posting["provenance"]] == [world.message_id]
    assert [(d["about"], d["posting_id"]) for d in due] == [("Backend Engineer", posting["id"])]


async def test_a_beginning_that_fits_no_posting_or_many_is_refused_with_a_sentence(
    world: World,
) -> None:
    await world.commit(*posting_batch(), *posting_batch(title="Data Analyst")[1:])
    async with world.pools.transaction(Role.READER, world.user_id) as connection:
        for typed in ("", "%", "zz", "\x00", "_" * 36):
            with pytest.raises(ActionRefused, match="No posting"):
                await get_posting(connection, typed)


async def test_reminders_that_are_not_due_yet_are_left_out(world: World) -> None:
    await world.commit(act("create_reminder", about="Far away", due_on="2026-09-01"))
    await world.commit(act("create_reminder", about="Soon", due_on="2026-03-05"))
    async with world.pools.transaction(Role.READER, world.user_id) as connection:
        due = await list_due(connection, today=NOW.date())
    assert [(d["about"], d["posting_id"]) for d in due] == [("Soon", None)]


async def test_resume_sources_are_experience_and_nothing_twice(world: World) -> None:
    await world.commit(experience_action())
    async with world.pools.transaction(Role.READER, world.user_id) as connection:
        (source,) = await list_resume_sources(connection)
        (told,) = await list_experience(connection)
    assert source["table"] == "experience"
    assert source["id"] == str(told["id"])
    assert source["text"] == "青藤科技 | 后端工程师 | 2021 年至今 | 在青藤科技负责支付系统"


async def test_one_user_reads_nothing_of_another(world: World, database: Address) -> None:
    await world.commit(*requirement_batch(), experience_action())
    async with (
        open_job_world(database) as stranger,
        stranger.pools.transaction(Role.READER, stranger.user_id) as connection,
    ):
        assert await list_postings(connection) == []
        assert await list_experience(connection) == []
        assert await list_resume_sources(connection) == []
