"""Every kind of the job domain, against a real database: the dry run is what is then stored."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any, get_type_hints
from uuid import UUID, uuid4

import pytest

import alfred.services
from alfred.engine.action import Action, Arguments, reference
from alfred.engine.canonical import canonical, plain
from alfred.engine.database import Role
from alfred.engine.writer import Effect, Writer
from alfred.errors import ActionRefused
from alfred.graphs.diagnosis.domain import DOMAIN as DIAGNOSIS
from alfred.services.application import NEXT_STATES
from alfred.store.address import Address
from alfred.store.tables.job import SKILL
from tests.job_world import (
    KINDS,
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


BATCHES = {
    "upsert_company": lambda: [
        act("upsert_company", name="Lumen Kites", website="https://lumen-kites.example")
    ],
    "upsert_job_posting": lambda: posting_batch(url="https://lumen-kites.example/jobs/7"),
    "link_requirement": requirement_batch,
    "record_experience": lambda: [experience_action()],
    "record_application": application_batch,
    "schedule_interview": interview_batch,
    "create_reminder": reminder_batch,
    "remember": lambda: [act("remember", text="I would rather not move before June.")],
    "create_document_version": document_batch,
    "annotate_message": lambda: [act("annotate_message", text="told on the phone")],
    "delete_job_posting": lambda: deletion_batch("delete_job_posting", "posting"),
    "delete_application": lambda: deletion_batch("delete_application", "application"),
}
REMOVALS = {"delete_job_posting", "delete_application"}


def deletion_batch(kind: str, argument: str) -> list[Action]:
    """Make a posting with an application and delete one of them again."""
    batch = application_batch()
    target = batch[1] if argument == "posting" else batch[2]
    return [*batch, act(kind, **{argument: target})]


def test_the_kinds_are_the_functions_of_the_services() -> None:
    handlers: set[str] = set()
    for module in pkgutil.iter_modules(alfred.services.__path__, "alfred.services."):
        for name, function in inspect.getmembers(
            importlib.import_module(module.name), inspect.iscoroutinefunction
        ):
            hints = [hint for key, hint in get_type_hints(function).items() if key != "return"]
            is_own = function.__module__ == module.name and not name.startswith("_")
            if (
                is_own
                and len(hints) == 2
                and hints[0] is Writer
                and issubclass(hints[1], Arguments)
            ):
                handlers.add(name)
    assert handlers == set(KINDS) | {kind.name for kind in DIAGNOSIS.kinds}
    assert set(KINDS) == set(BATCHES)


@pytest.mark.parametrize("kind", sorted(KINDS))
async def test_a_dry_run_leaves_nothing_and_shows_what_is_then_stored(
    world: World, kind: str
) -> None:
    batch = BATCHES[kind]()
    shown = await world.dry_run(*batch)
    assert [(outcome.status, outcome.problem) for outcome in shown] == [("ready", "")] * len(batch)
    assert shown[-1].effects
    for table in {effect["table"] for outcome in shown for effect in outcome.effects}:
        stored = await world.rows(table)
        assert len(stored) == (1 if table == "chat_message" else 0)
    done = await world.commit(*batch)
    assert canonical([o.effects for o in done]) == canonical([o.effects for o in shown])
    assert [outcome.depends_on for outcome in done] == [outcome.depends_on for outcome in shown]
    for effect in done[-1].effects:
        assert await is_stored(world, effect) == (effect["operation"] != "delete"), effect


async def is_stored(world: World, effect: Effect) -> bool:
    """Say whether a row of the table holds what the effect shows; ids are shown as names."""
    image = effect["before"] if effect["operation"] == "delete" else effect["after"]
    shown = {c: v for c, v in image.items() if not c.endswith("_id")}
    stored = [plain(row) for row in await world.rows(effect["table"])]
    return any(all(row[column] == value for column, value in shown.items()) for row in stored)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - REMOVALS))
async def test_the_same_statement_again_adds_no_row_but_events(world: World, kind: str) -> None:
    await world.commit(*BATCHES[kind]())
    again = await world.commit(*BATCHES[kind]())
    operations = {
        effect["operation"]
        for outcome in again
        for effect in outcome.effects
        if effect["table"] != "event"
    }
    assert operations <= {"none"}
    assert all(outcome.status == "ready" for outcome in again)


async def test_effects_name_rows_by_natural_keys_and_never_by_ids(world: World) -> None:
    shown = await world.dry_run(*interview_batch(), *document_batch())
    text = canonical([outcome.effects for outcome in shown])
    assert "organization:company/lumen kites" in text
    assert "application:lumen kites/backend engineer/hong kong" in text
    assert not any(_is_uuid(word) for word in text.replace('"', " ").split())


def _is_uuid(word: str) -> bool:
    try:
        UUID(word)
    except ValueError:
        return False
    return len(word) == 36


async def test_a_posting_depends_on_the_company_of_its_batch(world: World) -> None:
    company, posting = posting_batch()
    outcomes = await world.dry_run(company, posting)
    assert outcomes[1].depends_on == [company["id"]]


async def test_a_document_depends_on_the_experience_its_lines_refer_to(world: World) -> None:
    told, document = document_batch()
    outcomes = await world.dry_run(told, document)
    assert outcomes[1].depends_on == [told["id"]]
    alone = await world.dry_run(document)
    assert alone[0].status == "blocked"


async def test_a_posting_without_its_company_is_refused(world: World) -> None:
    _, posting = posting_batch()
    (outcome,) = await world.dry_run(posting)
    assert outcome.status == "refused"
    assert "Lumen Kites" in outcome.problem


@pytest.mark.parametrize(
    ("kind", "args"),
    [
        ("link_requirement", {"text": "Rust"}),
        ("record_application", {}),
        ("schedule_interview", {"starts_at": "2026-03-20T10:00:00Z"}),
    ],
)
async def test_what_belongs_to_a_row_is_refused_without_one(
    world: World, kind: str, args: dict[str, Any]
) -> None:
    (outcome,) = await world.dry_run(act(kind, **args))
    assert outcome.status == "refused"
    assert "none is named" in outcome.problem


async def test_a_row_of_another_user_counts_as_missing(world: World) -> None:
    batch = posting_batch()
    await world.commit(*batch)
    posting = (await world.rows("job_posting"))[0]
    stranger = World(world.pools, uuid4(), world.message_id)
    (outcome,) = await stranger.dry_run(act("record_application", posting=str(posting["id"])))
    assert outcome.status == "refused"
    assert "There is no job_posting" in outcome.problem


async def test_hong_kong_in_any_spelling_is_one_posting(world: World) -> None:
    for spelling in ("香港", "HK", "Hong Kong", "香港（Hong Kong）", "Hong Kong SAR"):
        outcomes = await world.commit(*posting_batch(location=spelling))
        assert outcomes[-1].status == "ready"
    (posting,) = await world.rows("job_posting")
    assert posting["fingerprint"] == "lumen kites/backend engineer/hong kong"
    assert posting["location_text"] == "香港"


async def test_two_places_are_not_one_of_them(world: World) -> None:
    for places in ("Berlin", "Berlin / Munich"):
        await world.commit(*posting_batch(location=places))
    assert len(await world.rows("job_posting")) == 2


async def test_a_skill_in_any_spelling_is_one_requirement(world: World) -> None:
    batch = posting_batch()
    linked = [
        act("link_requirement", text=text, kind="skill", posting=batch[-1])
        for text in ("Kubernetes", "k8s", "K8S")
    ]
    await world.commit(*batch, *linked)
    (requirement,) = await world.rows("job_requirement")
    assert (requirement["text"], requirement["importance"]) == ("Kubernetes", "must")
    assert requirement["skill_id"] is not None


async def test_a_company_keeps_its_first_name_and_takes_a_new_website(world: World) -> None:
    await world.commit(act("upsert_company", name="Lumen Kites", website="https://old.example"))
    later = NOW + timedelta(days=1)
    await world.commit(
        act("upsert_company", name="LUMEN KITES LTD", website="https://new.example"), now=later
    )
    (company,) = await world.rows("organization")
    assert (company["name"], company["website"]) == ("Lumen Kites", "https://new.example")
    facts = {fact["object"]: fact for fact in await world.rows("fact")}
    assert facts["https://old.example"]["valid_to"] == later
    assert facts["https://new.example"]["valid_from"] == later
    assert facts["https://new.example"]["valid_to"] is None


async def test_a_fact_approved_last_is_true_even_if_its_message_is_older(world: World) -> None:
    company = {"name": "Lumen Kites"}
    await world.commit(act("upsert_company", **company, website="https://b.example"))
    earlier = NOW - timedelta(days=3)
    await world.commit(act("upsert_company", **company, website="https://a.example"), now=earlier)
    true_now = [fact for fact in await world.rows("fact") if fact["valid_to"] is None]
    assert [fact["object"] for fact in true_now] == ["https://a.example"]
    assert all(
        f["valid_to"] is None or f["valid_to"] >= f["valid_from"] for f in await world.rows("fact")
    )


@pytest.mark.parametrize("known", sorted(NEXT_STATES))
async def test_an_application_changes_only_as_the_state_machine_allows(
    world: World, known: str
) -> None:
    await world.commit(*application_batch(known))
    posting = str((await world.rows("job_posting"))[0]["id"])
    for wanted in NEXT_STATES:
        (outcome,) = await world.dry_run(act("record_application", posting=posting, status=wanted))
        allowed = wanted == known or wanted in NEXT_STATES[known]
        assert (outcome.status == "ready") == allowed
        if not allowed:
            assert all(state in outcome.problem for state in NEXT_STATES[known])


async def test_an_interview_moves_the_application_and_counts_rounds(world: World) -> None:
    batch = application_batch()
    first = act("schedule_interview", application=batch[-1], starts_at="2026-03-20T10:00:00+08:00")
    second = act("schedule_interview", application=batch[-1], starts_at="2026-03-27T10:00:00+08:00")
    moved = act(
        "schedule_interview", application=batch[-1], starts_at="2026-03-28T10:00:00+08:00", round=2
    )
    outcomes = await world.commit(*batch, first, second, moved)
    assert first["id"] in outcomes[-2].depends_on
    (application,) = await world.rows("application")
    assert application["status"] == "interviewing"
    interviews = sorted(await world.rows("interview"), key=lambda row: row["round"])
    assert [(row["round"], row["starts_at"].day) for row in interviews] == [(1, 20), (2, 28)]


async def test_an_interview_needs_an_application_that_was_sent(world: World) -> None:
    batch = application_batch("saved")
    interview = act("schedule_interview", application=batch[-1], starts_at="2026-03-20T10:00:00Z")
    outcomes = await world.dry_run(*batch, interview)
    assert outcomes[-1].status == "refused"
    assert "applied" in outcomes[-1].problem


async def test_a_new_text_is_a_new_version_and_the_old_one_its_parent(world: World) -> None:
    await world.commit(*document_batch())
    changed = document_batch()
    changed[1]["args"]["markdown"] = "# 简历\n\n- 负责支付系统的后端\n"
    await world.commit(*changed)
    versions = {row["version"]: row for row in await world.rows("document_version")}
    assert set(versions) == {1, 2}
    assert versions[2]["parent_id"] == versions[1]["id"]
    assert len(await world.rows("document_line")) == 2


async def test_a_document_line_that_rests_on_nothing_is_refused(world: World) -> None:
    batch = document_batch()
    batch[1]["args"]["markdown"] += "- Saved the company 40 % of costs\n"
    outcomes = await world.dry_run(*batch)
    assert outcomes[1].status == "refused"
    assert "40 %" in outcomes[1].problem


async def test_a_reminder_for_a_day_that_is_over_is_refused(world: World) -> None:
    (outcome,) = await world.dry_run(act("create_reminder", about="Apply", due_on="2026-02-01"))
    assert outcome.status == "refused"
    assert "2026-02-01" in outcome.problem


async def test_a_refused_action_is_nobodys_dependency(world: World) -> None:
    await world.commit(*application_batch("saved"))
    posting = str((await world.rows("job_posting"))[0]["id"])
    refused = act("upsert_job_posting", title="", company_name="Lumen Kites")
    moved = act("record_application", posting=posting, status="applied")
    illegal = act("record_application", posting=posting, status="offer")
    after = act("record_application", posting=posting, status="interviewing")
    outcomes = await world.dry_run(refused, moved, illegal, after)
    assert [outcome.status for outcome in outcomes] == ["refused", "ready", "refused", "ready"]
    assert outcomes[-1].depends_on == [moved["id"]]


async def test_a_note_is_added_to_the_message_and_its_words_stay(world: World) -> None:
    await world.commit(act("annotate_message", text="told on the phone"))
    (message,) = await world.rows("chat_message")
    assert message["text"] == "words"
    assert message["annotations"] == [{"kind": "note", "text": "told on the phone"}]


@pytest.mark.parametrize(
    ("kind", "args", "word"),
    [
        ("upsert_company", {"name": "\ufdfa" * 200}, ""),
        ("upsert_company", {"name": "𠮷" * 200}, ""),
        ("upsert_company", {"name": "x" * 201}, "name"),
        ("upsert_company", {"name": "a\x00b"}, "NUL"),
        ("upsert_company", {"name": "A", "website": "javascript:x"}, "http"),
        ("upsert_company", {"name": 1688}, "name"),
        ("create_reminder", {"about": "a", "due_on": "9999-12-31"}, "year"),
        ("create_reminder", {"about": "a", "due_on": "soon"}, "due_on"),
    ],
)
async def test_odd_values_are_stored_or_refused_with_their_name(
    world: World, kind: str, args: dict[str, Any], word: str
) -> None:
    (outcome,) = await world.dry_run(act(kind, **args))
    assert outcome.status == ("refused" if word else "ready")
    assert word in outcome.problem


async def test_batches_at_once_over_one_company_all_run_and_make_it_once(world: World) -> None:
    batches = [posting_batch(title=f"Engineer {number}") for number in range(8)]
    done = await asyncio.gather(*(world.commit(*batch) for batch in batches))
    assert {outcome.status for outcomes in done for outcome in outcomes} == {"ready"}
    assert len(await world.rows("organization")) == 1
    assert len(await world.rows("job_posting")) == 8


async def stored_posting(world: World) -> list[Action]:
    """Commit a posting with everything that can belong to one; return the batch."""
    batch = interview_batch()
    posting = batch[1]
    told, document = document_batch()
    document["args"]["posting"] = reference(posting["id"])
    due = {"about": "Apply", "due_on": "2026-03-22"}
    await world.commit(
        *batch,
        act("link_requirement", text="Kubernetes", kind="skill", posting=posting),
        act("create_reminder", posting=posting, **due),
        act("create_reminder", **due),
        told,
        document,
    )
    return batch


async def test_deleting_a_posting_shows_each_row_that_goes_and_what_it_held(world: World) -> None:
    await stored_posting(world)
    (posting,) = await world.rows("job_posting")
    delete = act("delete_job_posting", posting=str(posting["id"]))
    (shown,) = await world.dry_run(delete)
    name = "lumen kites/backend engineer/hong kong"
    removed = {e["row"]: e["before"] for e in shown.effects if e["operation"] == "delete"}
    assert set(removed) == {
        f"job_posting:{name}",
        f"application:{name}",
        f"interview:{name}/round 1",
        f"job_requirement:{name}/skill kubernetes",
        f"reminder:2026-03-22 Apply (job_posting:{name})",
    }
    assert removed[f"job_posting:{name}"]["organization_id"] == "organization:company/lumen kites"
    assert removed[f"job_requirement:{name}/skill kubernetes"]["skill_id"] == "skill:kubernetes"
    assert removed[f"application:{name}"]["status"] == "interviewing"
    (version,) = [e for e in shown.effects if e["table"] == "document_version"]
    assert (version["operation"], version["before"], version["after"]) == (
        "update",
        {"job_posting_id": f"job_posting:{name}"},
        {"job_posting_id": None},
    )
    assert len(await world.rows("interview")) == 1
    (done,) = await world.commit(delete)
    assert canonical(done.effects) == canonical(shown.effects)


async def test_what_happened_and_what_was_written_outlive_a_deleted_posting(world: World) -> None:
    await stored_posting(world)
    events = await world.rows("event")
    (posting,) = await world.rows("job_posting")
    await world.commit(act("delete_job_posting", posting=str(posting["id"])))
    for table in ("job_posting", "job_requirement", "application", "interview"):
        assert await world.rows(table) == []
    assert [r["subject"] for r in await world.rows("reminder")] == ["me"]
    (version,) = await world.rows("document_version")
    assert version["job_posting_id"] is None
    assert len(await world.rows("document_line")) == len(await world.rows("experience")) == 1
    assert len(await world.rows("organization")) == 1
    now = await world.rows("event")
    assert [e for e in now if e["kind"] != "posting.deleted"] == events
    true_now = {f["subject"] for f in await world.rows("fact") if f["valid_to"] is None}
    assert true_now == {"me"}


async def test_deleting_an_application_leaves_its_posting(world: World) -> None:
    await stored_posting(world)
    (application,) = await world.rows("application")
    delete = act("delete_application", application=str(application["id"]))
    (shown,) = await world.dry_run(delete)
    removed = [e["table"] for e in shown.effects if e["operation"] == "delete"]
    assert removed == ["application", "interview"]
    await world.commit(delete)
    assert await world.rows("application") == await world.rows("interview") == []
    assert len(await world.rows("job_posting")) == len(await world.rows("job_requirement")) == 1
    assert len(await world.rows("reminder")) == 2


async def test_a_deleted_posting_can_be_captured_again(world: World) -> None:
    await stored_posting(world)
    (posting,) = await world.rows("job_posting")
    await world.commit(act("delete_job_posting", posting=str(posting["id"])))
    outcomes = await world.commit(*application_batch())
    assert {outcome.status for outcome in outcomes} == {"ready"}
    assert [a["status"] for a in await world.rows("application")] == ["applied"]


async def test_a_row_that_went_meanwhile_is_refused_by_a_sentence(world: World) -> None:
    await stored_posting(world)
    (posting,) = await world.rows("job_posting")
    delete = act("delete_job_posting", posting=str(posting["id"]))
    await world.commit(delete)
    (outcome,) = await world.dry_run(act("delete_job_posting", posting=str(posting["id"])))
    assert outcome.status == "refused"
    assert "There is no job_posting" in outcome.problem


async def test_a_row_of_the_shared_vocabulary_is_deleted_by_nobody(world: World) -> None:
    async with world.pools.transaction(Role.WRITER, world.user_id, rollback=True) as connection:
        writer = Writer(connection, world.user_id, NOW)
        skill = await writer.find(SKILL, {"name_key": "kubernetes"})
        assert skill is not None
        with pytest.raises(ActionRefused) as refused:
            await writer.delete(SKILL, skill, name="kubernetes")
    assert refused.value.code == "action.conflict"
    assert "belongs to everybody" in refused.value.message
