"""What review and commit must survive: one test a row, named by what has to come out."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from alfred.app import App
from alfred.engine.amendment import Edit
from alfred.engine.canonical import derive_id
from alfred.engine.decision_rules import Verdict
from alfred.engine.ledger import Actor
from alfred.engine.proposal import Proposal
from alfred.errors import AlfredError, ReviewRefused, StoreFailed
from alfred.models.scripted import ScriptedModel
from alfred.settings import Settings
from alfred.store.address import Address
from alfred.store.checkpoints import run_user
from tests.world import Clock, capture, count, look, open_world, settings_for

POSTING = "招聘：青禾数据（Qinghe Data）诚聘数据工程师，工作地点杭州。要求：熟悉 Python；了解 SQL。"
ANSWER = {
    "company": "青禾数据",
    "title": "数据工程师",
    "location": "杭州",
    "deadline": None,
    "user_intent": None,
    "requirements": [
        {"kind": "skill", "text": "熟悉 Python", "importance": "must"},
        {"kind": "skill", "text": "了解 SQL", "importance": "must"},
    ],
}


def answers(**changed: Any) -> ScriptedModel:
    """Make a model that gives one posting's answer, as often as it is asked."""
    return ScriptedModel([json.dumps({**ANSWER, **changed}, ensure_ascii=False)] * 8)


@pytest.fixture
async def app(database: Address, settings: Settings) -> AsyncGenerator[App]:
    async with open_world(database, settings, answers()) as opened:
        yield opened


def everything(proposal: Proposal, verdict: Verdict = "approve") -> dict[UUID, Verdict]:
    return {action.id: verdict for action in proposal.actions}


async def approve(app: App, proposal: Proposal) -> list[UUID]:
    await app.approvals.decide(
        proposal.id, everything(proposal), seen=proposal.digest, actor=app.actor
    )
    return await app.approvals.commit(app.user_id, proposal.id)


def of_kind(proposal: Proposal, kind: str) -> list[UUID]:
    return [action.id for action in proposal.actions if action.kind == kind]


async def refusal(work: Any) -> AlfredError:
    with pytest.raises(AlfredError) as caught:
        await work
    return caught.value


async def test_the_same_approval_twice_commits_once_and_returns_the_first_receipts(
    app: App, database: Address
) -> None:
    proposal = await capture(app, POSTING)
    first = await approve(app, proposal)
    second = await approve(app, proposal)
    assert first == second == sorted(first)
    assert len(first) == len(proposal.actions)
    assert count(database, "job_posting", app.user_id) == 1
    assert count(database, "receipt", app.user_id) == len(first)
    assert count(database, "job_requirement", app.user_id) == 2


async def test_unknown_finished_and_expired_proposals_are_named_and_write_nothing(
    database: Address, settings: Settings
) -> None:
    clock = Clock()
    async with open_world(database, settings, answers(), clock=clock) as app:
        unknown = app.approvals.decide(uuid4(), {}, seen="", actor=app.actor)
        assert (await refusal(unknown)).code == "review.unknown"

        done = await capture(app, POSTING)
        await approve(app, done)
        again = app.approvals.amend(
            done.id,
            {done.actions[0].id: Edit(args={"name": "x"})},
            seen=done.digest,
            actor=app.actor,
        )
        assert (await refusal(again)).code == "review.closed"

        late = await capture(app, POSTING.replace("杭州", "苏州"))
        clock.now += timedelta(days=15)
        click = app.approvals.decide(late.id, everything(late), seen=late.digest, actor=app.actor)
        assert (await refusal(click)).code == "review.expired"
        assert (await app.approvals.load(app.user_id, late.id)).state == "expired"
        assert count(database, "job_posting", app.user_id) == 1


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        (5, "/title"),
        (True, "/title"),
        (None, "/title"),
        (["a"], "/title"),
        (2**70, "/title"),
        (float("nan"), "/title"),
        (1e999, "/title"),
        ("x" * 201, "/title"),
        ("a\x00b", "/title"),
        ("a\ud800b", "/title"),
        ("   ", "/title"),
    ],
)
async def test_an_edit_that_does_not_fit_is_refused_with_its_pointer_and_stays_pending(
    app: App, value: Any, pointer: str
) -> None:
    proposal = await capture(app, POSTING)
    (posting,) = of_kind(proposal, "upsert_job_posting")
    work = app.approvals.amend(
        proposal.id, {posting: Edit(args={"title": value})}, seen=proposal.digest, actor=app.actor
    )
    error = await refusal(work)
    assert error.code == "review.edit"
    assert list(error.details["pointers"]) == [pointer]
    after = await app.approvals.load(app.user_id, proposal.id)
    assert (after.state, after.revision, after.digest) == ("pending", 0, proposal.digest)


async def test_an_edit_of_a_field_that_does_not_exist_is_refused(app: App) -> None:
    proposal = await capture(app, POSTING)
    edit = {proposal.actions[0].id: Edit(args={"salary": "1"})}
    error = await refusal(
        app.approvals.amend(proposal.id, edit, seen=proposal.digest, actor=app.actor)
    )
    assert error.code == "review.edit"
    assert list(error.details["pointers"]) == ["/salary"]


async def test_an_edit_cannot_change_the_kind(app: App) -> None:
    proposal = await capture(app, POSTING)
    edit = {proposal.actions[0].id: Edit(kind="create_reminder")}
    error = await refusal(
        app.approvals.amend(proposal.id, edit, seen=proposal.digest, actor=app.actor)
    )
    assert error.code == "review.kind"


async def test_an_invented_action_is_refused(app: App, database: Address) -> None:
    proposal = await capture(app, POSTING)
    verdicts: dict[UUID, Verdict] = {**everything(proposal), uuid4(): "approve"}
    work = app.approvals.decide(proposal.id, verdicts, seen=proposal.digest, actor=app.actor)
    assert (await refusal(work)).code == "review.unknown_action"
    assert count(database, "job_posting", app.user_id) == 0


async def test_a_decision_must_name_the_digest_it_saw(app: App, database: Address) -> None:
    proposal = await capture(app, POSTING)
    (posting,) = of_kind(proposal, "upsert_job_posting")
    revised = await app.approvals.amend(
        proposal.id,
        {posting: Edit(args={"title": "数据平台工程师"})},
        seen=proposal.digest,
        actor=app.actor,
    )
    assert revised.digest != proposal.digest
    blind = app.approvals.decide(
        proposal.id, everything(proposal), seen=proposal.digest, actor=app.actor
    )
    assert (await refusal(blind)).code == "review.changed"
    assert count(database, "job_posting", app.user_id) == 0
    await approve(app, revised)
    rows = look(database, "SELECT title FROM job_posting WHERE user_id = %s", [app.user_id])
    assert [row["title"] for row in rows] == ["数据平台工程师"]


async def test_correcting_the_company_in_one_action_corrects_it_in_all(
    app: App, database: Address
) -> None:
    proposal = await capture(app, POSTING)
    (company,) = of_kind(proposal, "upsert_company")
    revised = await app.approvals.amend(
        proposal.id,
        {company: Edit(args={"name": "1688"})},
        seen=proposal.digest,
        actor=app.actor,
    )
    (posting,) = of_kind(revised, "upsert_job_posting")
    found = revised.action(posting)
    assert found is not None
    assert found.args["company_name"] == "1688"
    await approve(app, revised)
    rows = look(database, "SELECT name FROM organization WHERE user_id = %s", [app.user_id])
    assert [row["name"] for row in rows] == ["1688"]


async def test_a_row_that_changed_since_the_preview_makes_the_commit_stale_and_writes_nothing(
    app: App, database: Address
) -> None:
    await approve(app, await capture(app, POSTING))
    proposal = await capture(app, POSTING)
    (posting,) = of_kind(proposal, "upsert_job_posting")
    edited = await app.approvals.amend(
        proposal.id,
        {posting: Edit(args={"url": "https://qinghe.example/jobs/7"})},
        seen=proposal.digest,
        actor=app.actor,
    )
    await app.approvals.decide(edited.id, everything(edited), seen=edited.digest, actor=app.actor)
    with psycopg.connect(database.admin_dsn()) as outside:
        outside.execute(
            "UPDATE job_posting SET url = 'https://qinghe.example/other' WHERE user_id = %s",
            (app.user_id,),
        )
    error = await refusal(app.approvals.commit(app.user_id, edited.id))
    assert error.code == "review.stale"
    fresh: Proposal = error.details["proposal"]
    assert fresh.state == "pending"
    assert fresh.digest != edited.digest
    effects = [e for a in fresh.actions for e in a.effects if e["table"] == "job_posting"]
    assert {"url": "https://qinghe.example/other"} in [effect["before"] for effect in effects]
    rows = look(database, "SELECT url FROM job_posting WHERE user_id = %s", [app.user_id])
    assert [row["url"] for row in rows] == ["https://qinghe.example/other"]
    await approve(app, fresh)
    rows = look(database, "SELECT url FROM job_posting WHERE user_id = %s", [app.user_id])
    assert [row["url"] for row in rows] == ["https://qinghe.example/jobs/7"]


async def test_a_company_that_another_proposal_created_meanwhile_makes_nothing_stale(
    database: Address, settings: Settings
) -> None:
    other = {**ANSWER, "title": "数据分析师"}
    model = ScriptedModel([json.dumps(answer, ensure_ascii=False) for answer in (ANSWER, other)])
    async with open_world(database, settings, model) as app:
        first = await capture(app, POSTING)
        second = await capture(app, POSTING.replace("数据工程师", "数据分析师"))
        assert [e["operation"] for e in second.actions[0].effects][:1] == ["create"]
        await approve(app, first)
        assert await approve(app, second)
        assert count(database, "organization", app.user_id) == 1
        assert count(database, "job_posting", app.user_id) == 2


@pytest.mark.parametrize("seed", range(6))
async def test_decisions_in_any_order_and_in_parts_are_kept_by_action(
    app: App, database: Address, seed: int
) -> None:
    proposal = await capture(app, POSTING)
    order = list(proposal.actions)
    random.Random(seed).shuffle(order)
    requirement = of_kind(proposal, "link_requirement")[0]
    for action in order:
        undecided = app.approvals.commit(app.user_id, proposal.id)
        assert (await refusal(undecided)).code == "review.undecided"
        verdict: Verdict = "reject" if action.id == requirement else "approve"
        await app.approvals.decide(
            proposal.id, {action.id: verdict}, seen=proposal.digest, actor=app.actor
        )
    written = await app.approvals.commit(app.user_id, proposal.id)
    assert requirement not in written
    assert len(written) == len(proposal.actions) - 1
    assert count(database, "job_requirement", app.user_id) == 1


async def test_a_rejected_posting_takes_its_requirements_with_it_as_the_preview_said(
    app: App, database: Address
) -> None:
    proposal = await capture(app, POSTING)
    (posting,) = of_kind(proposal, "upsert_job_posting")
    requirements = set(of_kind(proposal, "link_requirement"))
    assert proposal.dependents([posting]) >= requirements
    verdicts = {**everything(proposal), posting: "reject"}
    await app.approvals.decide(proposal.id, verdicts, seen=proposal.digest, actor=app.actor)
    written = await app.approvals.commit(app.user_id, proposal.id)
    assert not requirements & set(written)
    assert count(database, "job_posting", app.user_id) == 0
    (message,) = look(
        database, "SELECT text, annotations FROM chat_message WHERE user_id = %s", [app.user_id]
    )
    (note,) = message["annotations"]
    assert set(note["actions"]) == {str(posting), *map(str, requirements)}
    assert note["text"] == "已丢弃，原始内容保留"
    assert message["text"] == POSTING


async def test_a_proposal_rejected_as_a_whole_commits_its_annotation(
    app: App, database: Address
) -> None:
    proposal = await capture(app, "Hiring: Alder Labs seeks a Data Engineer in Leeds. 青禾数据")
    await app.approvals.decide(
        proposal.id, everything(proposal, "reject"), seen=proposal.digest, actor=app.actor
    )
    standing = await app.settle(proposal.id)
    assert standing.outcome == "rejected"
    (message,) = look(
        database, "SELECT annotations FROM chat_message WHERE user_id = %s", [app.user_id]
    )
    assert message["annotations"][0]["text"] == "Discarded; the original text is kept."
    assert count(database, "organization", app.user_id) == 0


async def test_a_different_answer_to_a_decided_action_is_a_conflict(app: App) -> None:
    proposal = await capture(app, POSTING)
    first = proposal.actions[0].id
    await app.approvals.decide(
        proposal.id, {first: "approve"}, seen=proposal.digest, actor=app.actor
    )
    other = app.approvals.decide(
        proposal.id, {first: "reject"}, seen=proposal.digest, actor=app.actor
    )
    assert (await refusal(other)).code == "review.conflict"


async def test_a_commit_that_loses_its_connection_keeps_the_decision_and_the_retry_commits_once(
    app: App, database: Address
) -> None:
    proposal = await capture(app, POSTING)
    await app.approvals.decide(
        proposal.id, everything(proposal), seen=proposal.digest, actor=app.actor
    )
    with psycopg.connect(database.admin_dsn(), autocommit=True) as outside:
        # The writer is stopped in the middle: its rows are locked, then its backend is ended.
        outside.execute("BEGIN")
        outside.execute("LOCK TABLE receipt IN EXCLUSIVE MODE")
        commit = asyncio.create_task(app.approvals.commit(app.user_id, proposal.id))
        for _ in range(200):
            await asyncio.sleep(0.02)
            waiting = look(
                database,
                "SELECT pid FROM pg_stat_activity WHERE usename = 'alfred_writer'"
                " AND wait_event_type = 'Lock'",
            )
            if waiting:
                break
        assert waiting
        look(database, "SELECT pg_terminate_backend(%s)", [waiting[0]["pid"]])
        outside.execute("ROLLBACK")
        with pytest.raises((StoreFailed, psycopg.OperationalError)):
            await commit
    kept = await app.approvals.load(app.user_id, proposal.id)
    assert kept.state == "approved"
    assert count(database, "job_posting", app.user_id) == 0
    written = await app.approvals.commit(app.user_id, proposal.id)
    assert len(written) == len(proposal.actions)
    assert count(database, "job_posting", app.user_id) == 1
    assert await app.approvals.commit(app.user_id, proposal.id) == written


async def test_a_run_resumed_from_a_checkpoint_before_the_commit_commits_nothing_again(
    app: App, database: Address
) -> None:
    proposal = await capture(app, POSTING)
    await app.approvals.decide(
        proposal.id, everything(proposal), seen=proposal.digest, actor=app.actor
    )
    standing = await app.settle(proposal.id)
    assert standing.outcome == "committed"
    receipts = count(database, "receipt", app.user_id)
    token = run_user.set(app.user_id)
    try:
        graph = app.runs.graph
        config = {"configurable": {"thread_id": str(proposal.turn_id)}}
        history = [s async for s in graph.aget_state_history(config)]
        paused = next(s for s in history if s.interrupts)
        turn = await app.load_turn(proposal.turn_id)
        outcome = await graph.ainvoke(
            None, {**paused.config, "recursion_limit": 32}, context=app.context_of(turn)
        )
    finally:
        run_user.reset(token)
    assert outcome["outcome"] == "committed"
    assert count(database, "receipt", app.user_id) == receipts
    assert count(database, "job_posting", app.user_id) == 1


async def test_a_second_user_cannot_read_or_answer_a_proposal_and_the_database_says_so(
    app: App, database: Address, settings: Settings
) -> None:
    proposal = await capture(app, POSTING)
    async with open_world(database, settings_for(settings.home), answers()) as stranger:
        reading = stranger.approvals.load(stranger.user_id, proposal.id)
        assert (await refusal(reading)).code == "review.unknown"
        answering = stranger.approvals.decide(
            proposal.id, everything(proposal), seen=proposal.digest, actor=stranger.actor
        )
        assert (await refusal(answering)).code == "review.unknown"
        with pytest.raises(ReviewRefused):
            await stranger.load_turn(proposal.turn_id)
    assert (await app.approvals.load(app.user_id, proposal.id)).state == "pending"


async def test_an_entry_says_who_when_from_where_and_what_was_before_and_after(
    app: App, database: Address
) -> None:
    proposal = await capture(app, POSTING)
    (posting,) = of_kind(proposal, "upsert_job_posting")
    actor = Actor(user_id=app.user_id, origin="cli")
    await app.approvals.amend(
        proposal.id, {posting: Edit(args={"title": "工程师"})}, seen=proposal.digest, actor=actor
    )
    entries = look(
        database,
        "SELECT kind, actor_id, origin, at, body FROM ledger_entry LEFT JOIN ledger_payload"
        " USING (user_id, seq) WHERE user_id = %s ORDER BY seq",
        [app.user_id],
    )
    assert [entry["kind"] for entry in entries] == ["proposed", "amended"]
    amended = entries[1]
    assert (amended["actor_id"], amended["origin"]) == (app.user_id, "cli")
    assert amended["body"] == {
        "before": {"title": "数据工程师"},
        "after": {"title": "工程师"},
    }


async def test_a_repeated_run_of_a_turn_finds_its_proposal(app: App, database: Address) -> None:
    proposal = await capture(app, POSTING)
    again = await app.advance(proposal.turn_id)
    assert again.proposal is not None
    assert again.proposal.id == proposal.id == derive_id("proposal", proposal.turn_id, 0)
    assert count(database, "proposal", app.user_id) == 1
