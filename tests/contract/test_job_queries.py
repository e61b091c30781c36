"""The job domain's reads, over rows that its own actions wrote."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from alfred.engine.action import reference
from alfred.engine.database import Connection, Role
from alfred.errors import ActionRefused
from alfred.services.queries.applications import list_applications
from alfred.services.queries.due import list_due
from alfred.services.queries.experience import list_experience
from alfred.services.queries.history import list_changes, list_documents, tell_company
from alfred.services.queries.jobs import get_posting, list_postings
from alfred.services.queries.matching import find_needs, list_skills, match_posting
from alfred.services.queries.posting_lookup import find_company, find_posting, find_removals
from alfred.services.queries.resume_sources import list_resume_sources
from alfred.store.address import Address
from tests.job_world import (
    NOW,
    World,
    act,
    application_batch,
    document_batch,
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
        due = await list_due(connection, now=NOW, days=25)
    assert (posting["place"], posting["location"]) == ("Hong Kong", "香港")
    assert [r["text"] for r in posting["requirements"]] == ["熟悉 Python"]
    assert posting["application"]["status"] == "interviewing"
    assert [i["round"] for i in posting["interviews"]] == [1]
    assert [r["due_on"] for r in posting["reminders"]] == [date(2026, 3, 22)]
    assert [p["message_id"] for p in posting["provenance"]] == [world.message_id]
    assert [(d["about"], d["posting_id"]) for d in due] == [
        ("round 1", posting["id"]),
        ("Backend Engineer", posting["id"]),
    ]


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
        due = await list_due(connection, now=NOW)
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
    await world.commit(*requirement_batch(), *interview_batch(), *document_batch())
    async with (
        open_job_world(database) as stranger,
        stranger.pools.transaction(Role.READER, stranger.user_id) as connection,
    ):
        assert await list_postings(connection) == []
        assert await list_experience(connection) == []
        assert await list_resume_sources(connection) == []
        assert await list_documents(connection) == await list_changes(connection) == []
        assert await list_due(connection, now=NOW, days=90) == []
        assert await find_needs(connection, "Python") == {}
        for typed in ("1", "kites"):
            with pytest.raises(ActionRefused):
                await find_posting(connection, typed)
            with pytest.raises(ActionRefused):
                await find_company(connection, typed)


@asynccontextmanager
async def reading(world: World) -> AsyncGenerator[Connection]:
    async with world.pools.transaction(Role.READER, world.user_id) as connection:
        yield connection


async def test_a_posting_is_found_by_number_link_id_and_words(world: World) -> None:
    await world.commit(*posting_batch(url="https://lumen-kites.example/jobs/7/"))
    await world.commit(*posting_batch(title="Data Analyst", location="柏林"))
    by_title = {row["title"]: row["id"] for row in await world.rows("job_posting")}
    backend, analyst = by_title["Backend Engineer"], by_title["Data Analyst"]
    for typed, wanted in [
        ("1", analyst),
        (" 2 ", backend),
        ("https://lumen-kites.example/jobs/7", backend),
        (str(backend), backend),
        (str(analyst)[:8].upper(), analyst),
        ("lumen analyst", analyst),
        ("ＡＮＡＬＹＳＴ", analyst),
        ("柏林", analyst),
    ]:
        async with reading(world) as connection:
            assert await find_posting(connection, typed) == wanted, typed


async def test_words_that_fit_several_postings_name_them(world: World) -> None:
    await world.commit(*posting_batch(), *posting_batch(title="Data Analyst")[1:])
    ids = [str(row["id"]) for row in await world.rows("job_posting")]
    # A digit may be the beginning of an id, which would be found by it.
    number = next(n for n in "3456789" if not any(each.startswith(n) for each in ids))
    async with reading(world) as connection:
        with pytest.raises(ActionRefused) as refused:
            await find_posting(connection, "Lumen Kites")
        assert "Data Analyst" in refused.value.message
        assert "Backend Engineer" in refused.value.message
        for typed in ("Kite", "Analys", number, "https://lumen-kites.example"):
            with pytest.raises(ActionRefused, match="No posting"):
                await find_posting(connection, typed)


async def test_an_application_that_goes_with_its_posting_is_deleted_once(world: World) -> None:
    await world.commit(*application_batch())
    (posting,), (application,) = await world.rows("job_posting"), await world.rows("application")
    async with reading(world) as connection:
        alone = await find_removals(connection, [str(application["id"])[:8]])
        both = await find_removals(connection, [str(application["id"]), "1", str(posting["id"])])
    assert alone == [("delete_application", "application", application["id"])]
    assert both == [("delete_job_posting", "posting", posting["id"])]


async def test_a_posting_is_matched_with_what_was_told(world: World) -> None:
    batch = requirement_batch()
    told = act(
        "record_experience",
        summary="Payments",
        organization="Go Bakers",
        raw_text="At Go Bakers I built payments with Python. Later I led a team.",
    )
    nice = act("link_requirement", text="Go", kind="skill", importance="nice", posting=batch[1])
    await world.commit(*batch, nice, told)
    (posting,) = await world.rows("job_posting")
    async with reading(world) as connection:
        match = await match_posting(connection, posting["id"])
    must, other = match["requirements"]
    (quote,) = must["compared"][0]["support"]
    assert (must["text"], must["verdict"], other["verdict"]) == (
        "熟悉 Python",
        "on_record",
        "nothing_on_record",
    )
    assert quote["quote"] == "At Go Bakers I built payments with Python."
    assert quote["id"] == (await world.rows("experience"))[0]["id"]
    assert match["records"] == 1


async def test_postings_that_need_a_skill_are_found_under_any_of_its_names(world: World) -> None:
    batch = posting_batch()
    asks = [
        act("link_requirement", text=text, posting=batch[1])
        for text in ("Five years with Kubernetes", "JavaScript", "懂财务分析")
    ]
    await world.commit(*batch, *asks)
    (posting,) = await world.rows("job_posting")
    async with reading(world) as connection:
        found = {
            words: [
                need["text"]
                for need in (await find_needs(connection, words)).get(posting["id"], [])
            ]
            for words in ("k8s", "java", "js", "财务分析", "Rust")
        }
    assert found == {
        "k8s": ["Five years with Kubernetes"],
        "java": [],
        "js": ["JavaScript"],
        "财务分析": ["懂财务分析"],
        "Rust": [],
    }


async def test_every_name_of_a_skill_leads_to_one_skill(world: World) -> None:
    async with reading(world) as connection:
        skills = await list_skills(connection)
    spelt = [spelling for skill in skills for spelling in skill.spellings]
    assert len(spelt) == len(set(spelt)) > 40
    assert {"java script", "python3"} <= set(spelt)


async def test_what_is_overdue_comes_first_and_each_kind_ends_as_it_should(world: World) -> None:
    batch = interview_batch()  # on 2026-03-20, 02:00 UTC
    await world.commit(*batch, *posting_batch(title="Data Analyst", deadline="2026-03-10")[1:])
    await world.commit(*posting_batch(deadline="2026-03-15")[1:])  # applied already
    await world.commit(act("create_reminder", about="Call Ru", due_on="2026-03-04"))
    zone = ZoneInfo("Asia/Shanghai")
    async with reading(world) as connection:
        soon = await list_due(connection, now=NOW.astimezone(zone), days=30)
        later = await list_due(
            connection, now=datetime(2026, 3, 19, 20, tzinfo=UTC).astimezone(zone), days=14
        )
        past = await list_due(connection, now=datetime(2026, 3, 21, tzinfo=UTC), days=3)
    told = [(d["kind"], d["on"].isoformat(), d["overdue"]) for d in soon]
    assert told == [
        ("reminder", "2026-03-04", False),
        ("deadline", "2026-03-10", False),
        ("interview", "2026-03-20", False),
    ]
    assert soon[2]["at"] == datetime(2026, 3, 20, 10, tzinfo=zone)
    assert [(d["kind"], d["days"]) for d in later] == [
        ("reminder", -16),
        ("deadline", -10),
        ("interview", 0),
    ]
    assert [d["kind"] for d in past] == ["reminder"]


async def test_interviews_of_an_application_that_ended_are_not_due(world: World) -> None:
    await world.commit(*interview_batch())
    (posting,) = await world.rows("job_posting")
    ended = act("record_application", posting=str(posting["id"]), status="withdrawn")
    await world.commit(ended)
    async with reading(world) as connection:
        assert await list_due(connection, now=NOW, days=60) == []


async def test_changes_of_applications_are_read_from_what_happened(world: World) -> None:
    await world.commit(*application_batch("saved"))
    (posting,) = await world.rows("job_posting")
    name = "lumen kites/backend engineer/hong kong"
    for status in ("applied", "interviewing"):
        await world.commit(act("record_application", posting=str(posting["id"]), status=status))
    (application,) = await world.rows("application")
    interview = {"application": str(application["id"]), "starts_at": "2026-03-20T10:00:00Z"}
    await world.commit(act("schedule_interview", **interview))
    await world.commit(act("delete_job_posting", posting=str(posting["id"])))
    async with reading(world) as connection:
        changes = await list_changes(connection)
    assert {change.application for change in changes} == {name}
    assert [c.status for c in changes] == ["saved", "applied", "interviewing", "interviewing", None]


async def test_a_document_is_listed_with_the_company_it_was_written_for(world: World) -> None:
    batch = application_batch()
    told, document = document_batch()
    await world.commit(
        *batch,
        told,
        {**document, "args": {**document["args"], "posting": reference(batch[1]["id"])}},
    )
    other = document_batch()
    other[1]["args"] |= {"title": "Plain", "kind": "cover_letter"}
    await world.commit(*other)
    async with reading(world) as connection:
        company = await find_company(connection, "LUMEN KITES, Ltd")
        documents = await list_documents(connection)
        (for_company,) = await list_documents(connection, company)
    assert [(d["title"], d["company"]) for d in documents] == [
        ("Plain", None),
        ("Resume", "Lumen Kites Ltd."),
    ]
    assert (for_company["version"], for_company["status"]) == (1, "applied")


async def test_everything_known_about_a_company_is_told_by_time(world: World) -> None:
    await world.commit(
        act("upsert_company", name="Lumen Kites", website="https://lumen-kites.example")
    )
    await world.commit(*interview_batch(), now=NOW + timedelta(days=1))
    await world.commit(*posting_batch(title="Data Analyst"), now=NOW + timedelta(days=2))
    await world.commit(
        act("record_experience", summary="Sewed", organization="LUMEN KITES", raw_text="I sewed."),
        act("upsert_company", name="Lumen Kites and Sons"),
    )
    (gone,) = [p for p in await world.rows("job_posting") if p["title"] == "Data Analyst"]
    await world.commit(
        act("delete_job_posting", posting=str(gone["id"])), now=NOW + timedelta(days=3)
    )
    async with reading(world) as connection:
        told = await tell_company(
            connection, await find_company(connection, "lumen kites"), now=NOW
        )
    assert [posting["title"] for posting in told["postings"]] == ["Backend Engineer"]
    assert [row["summary"] for row in told["experience"]] == ["Sewed"]
    assert [each["kind"] for each in told["upcoming"]] == ["interview"]
    assert {fact["predicate"] for fact in told["facts"]} == {"website", "status"}
    kinds = [event["kind"] for event in told["history"]]
    assert kinds[0] == "company.noted"
    assert kinds[-1] == "posting.deleted"
    assert {"posting.captured", "application.recorded", "interview.scheduled"} < set(kinds)
    times = [event["at"] for event in told["history"]]
    assert times == sorted(times)


async def test_a_company_is_found_by_its_name_or_by_words_of_it_and_by_nothing_less(
    world: World,
) -> None:
    await world.commit(
        act("upsert_company", name="青藤科技有限公司"),
        act("upsert_company", name="Lumen Kites"),
        act("upsert_company", name="Lumen Lamps"),
    )
    async with reading(world) as connection:
        assert (await find_company(connection, "青藤科技"))["name"] == "青藤科技有限公司"
        assert (await find_company(connection, "kites"))["name"] == "Lumen Kites"
        with pytest.raises(ActionRefused, match="Lumen Kites, Lumen Lamps"):
            await find_company(connection, "lumen")
        for typed in ("lum", "", "%", "\x00"):
            with pytest.raises(ActionRefused, match="No company"):
                await find_company(connection, typed)
