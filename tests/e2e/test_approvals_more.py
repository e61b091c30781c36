"""Review under pressure: crossings of edit, decision, expiry and crash, and hostile edits."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from alfred.app import App, user_id_of
from alfred.engine.action import Action, ActionKind, Arguments, action_id, reference
from alfred.engine.amendment import Edit
from alfred.engine.canonical import derive_id
from alfred.engine.database import Row
from alfred.engine.decision_rules import Verdict
from alfred.engine.evidence import Evidence
from alfred.engine.executor import ActionExecutor, retry_conflicts
from alfred.engine.proposal import Proposal, ProposedAction
from alfred.engine.state import AlfredState, group
from alfred.engine.submission import Submission
from alfred.engine.turn import NewMessage, finish_turn, store_message, turns_due
from alfred.engine.writer import Writer
from alfred.errors import AlfredError, ReviewRefused, StoreFailed
from alfred.models.scripted import ScriptedModel
from alfred.nodes.generate_resume.node import find_sources
from alfred.settings import Settings
from alfred.store.address import Address
from alfred.store.tables.job import APPLICATION, JOB_POSTING
from tests.job_world import act, open_job_world, posting_batch
from tests.shell import Shell
from tests.world import NOON, Clock, capture, count, look, open_world

POSTING = (
    "Hiring: Marram Ferries seeks a Harbour Planner in Aberdeen. You know tide tables."
    " You speak Scots."
)
ANSWER = {
    "company": "Marram Ferries",
    "title": "Harbour Planner",
    "location": "Aberdeen",
    "deadline": None,
    "user_intent": None,
    "requirements": [
        {"kind": "skill", "text": "tide tables", "importance": "must"},
        {"kind": "skill", "text": "speak Scots", "importance": "must"},
    ],
}


def model() -> ScriptedModel:
    return ScriptedModel([json.dumps(ANSWER)] * 20)


@pytest.fixture
async def app(database: Address, settings: Settings) -> AsyncGenerator[App]:
    async with open_world(database, settings, model()) as opened:
        yield opened


def the(proposal: Proposal, kind: str) -> ProposedAction:
    return next(action for action in proposal.actions if action.kind == kind)


def everything(proposal: Proposal, verdict: Verdict = "approve") -> dict[UUID, Verdict]:
    return {action.id: verdict for action in proposal.actions}


async def decide(app: App, proposal: Proposal, verdicts: dict[UUID, Verdict]) -> Proposal:
    return await app.approvals.decide(proposal.id, verdicts, seen=proposal.digest, actor=app.actor)


async def edit(app: App, proposal: Proposal, action: ProposedAction, **args: Any) -> Proposal:
    edits = {action.id: Edit(args=args)}
    return await app.approvals.amend(proposal.id, edits, seen=proposal.digest, actor=app.actor)


async def refusal(work: Any) -> AlfredError:
    with pytest.raises(AlfredError) as caught:
        await work
    return caught.value


def states(proposal: Proposal) -> dict[str, str]:
    return {f"{action.ordinal} {action.kind}": action.state for action in proposal.actions}


def forget_checkpoints(database: Address, turn_id: UUID) -> None:
    """Leave a turn as a process does that was killed before its first pause."""
    with psycopg.connect(database.admin_dsn()) as outside:
        for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
            outside.execute(f"DELETE FROM {table} WHERE thread_id = %s", (str(turn_id),))  # type: ignore[arg-type]


async def test_an_edit_takes_back_the_approval_of_an_action_whose_effects_it_changes(
    app: App,
) -> None:
    proposal = await capture(app, POSTING)
    requirement, company = the(proposal, "link_requirement"), the(proposal, "upsert_company")
    await decide(app, proposal, {requirement.id: "approve", company.id: "approve"})
    current = await app.approvals.load(app.user_id, proposal.id)
    revised = await edit(app, current, the(current, "upsert_job_posting"), title="Pier Planner")
    after = {action.id: action.state for action in revised.actions}
    assert after[requirement.id] == "pending"
    assert after[company.id] == "approved"


async def test_an_approved_action_that_an_edit_breaks_is_never_committed_unwritten(
    app: App, database: Address
) -> None:
    proposal = await capture(app, POSTING)
    posting = the(proposal, "upsert_job_posting")
    await decide(app, proposal, {posting.id: "approve"})
    current = await app.approvals.load(app.user_id, proposal.id)
    revised = await edit(app, current, the(current, "upsert_company"), name="Gannet Lines")
    broken = the(revised, "upsert_job_posting")
    assert (broken.state, broken.status) == ("pending", "refused")
    error = await refusal(decide(app, revised, everything(revised)))
    assert error.code == "review.incomplete"
    assert count(database, "receipt", app.user_id) == 0


async def test_a_partly_decided_proposal_that_a_later_attempt_supersedes_closes_as_a_whole(
    app: App, database: Address
) -> None:
    proposal = await capture(app, POSTING)
    await decide(app, proposal, {the(proposal, "upsert_company").id: "approve"})
    again: list[Action] = [
        {**the(proposal, "upsert_company").as_action(), "id": action_id(uuid4(), "n", 1, 0)}
    ]
    await app.approvals.propose(
        Submission(
            user_id=app.user_id,
            turn_id=proposal.turn_id,
            message_id=proposal.message_id,
            attempt=1,
            stated_at=NOON,
            manifests={},
            notices=[],
            actions=again,
        )
    )
    earlier = await app.approvals.load(app.user_id, proposal.id)
    assert earlier.state == "superseded"
    assert earlier.closed_at is not None
    assert set(states(earlier).values()) == {"superseded"}
    late = decide(app, earlier, {the(earlier, "upsert_job_posting").id: "approve"})
    assert (await refusal(late)).code == "review.closed"
    kinds = look(database, "SELECT kind FROM ledger_entry WHERE proposal_id = %s", [proposal.id])
    assert "superseded" in {entry["kind"] for entry in kinds}


async def test_a_turn_that_is_decided_while_its_run_is_written_down_stays_due(app: App) -> None:
    proposal = await capture(app, POSTING)
    turn = await app.load_turn(proposal.turn_id)
    await decide(app, proposal, everything(proposal))
    # The process that captured is slow: only now does it write down that the turn waits.
    await finish_turn(app.database, turn, state="waiting", domain="job", outcome=None, problem=None)
    assert await turns_due(app.database, app.user_id) == [turn.id]
    (standing,) = await app.drain()
    assert standing.outcome == "committed"
    assert await turns_due(app.database, app.user_id) == []


async def test_a_waiting_turn_is_not_due(app: App) -> None:
    await capture(app, POSTING)
    assert await turns_due(app.database, app.user_id) == []


async def test_a_proposal_decided_before_its_run_paused_is_committed_by_the_next_run(
    app: App, database: Address
) -> None:
    proposal = await capture(app, POSTING)
    forget_checkpoints(database, proposal.turn_id)
    await decide(app, proposal, everything(proposal))
    (standing,) = await app.drain()
    assert (standing.state, standing.outcome) == ("done", "committed")
    assert count(database, "job_posting", app.user_id) == 1
    assert count(database, "receipt", app.user_id) == len(proposal.actions)


async def test_a_due_commit_that_went_stale_waits_again_and_stops_no_other_turn(
    app: App, database: Address
) -> None:
    first = await capture(app, POSTING)
    await decide(app, first, everything(first))
    await app.settle(first.id)
    second = await capture(app, POSTING)
    posting = the(second, "upsert_job_posting")
    second = await edit(app, second, posting, url="https://marram.example/7")
    third = await capture(app, POSTING)
    with psycopg.connect(database.admin_dsn()) as outside:
        await decide(app, second, everything(second))
        outside.execute(
            "UPDATE job_posting SET url = 'https://marram.example/8' WHERE user_id = %s",
            (app.user_id,),
        )
    forget_checkpoints(database, second.turn_id)
    await decide(app, third, everything(third))
    standings = {standing.turn_id: standing for standing in await app.drain()}
    assert standings[second.turn_id].state == "waiting"
    assert standings[third.turn_id].outcome == "committed"
    fresh = await app.approvals.load(app.user_id, second.id)
    assert fresh.state == "pending"
    assert set(states(fresh).values()) == {"pending"}
    assert await app.drain() == []


async def test_a_due_turn_that_cannot_be_read_is_written_down_and_stops_no_other(
    app: App, database: Address
) -> None:
    await capture(app, POSTING)
    due: list[UUID] = []
    for text in ("🛟", POSTING):
        due.append(uuid4())
        await store_message(
            app.database,
            NewMessage(
                user_id=app.user_id,
                thread_id=derive_id("thread", app.user_id),
                turn_id=due[-1],
                message_id=derive_id("message", due[-1]),
                text=text,
                original=None,
                source=None,
                modality="text",
                language="en",
                received_at=NOON,
                timezone="UTC",
                manifests={},
            ),
        )
    (standing,) = await app.drain()
    assert standing.turn_id == due[1]
    unread = await app.load_turn(due[0])
    assert (unread.state, unread.outcome, unread.resume_due) == ("failed", "refused", False)
    assert "input.no_words" in (unread.problem or "")
    assert await app.drain() == []


async def test_a_turn_that_another_process_runs_is_waited_for_and_skipped_by_a_drain(
    app: App, database: Address
) -> None:
    proposal = await capture(app, POSTING)
    await decide(app, proposal, everything(proposal))
    lock = (f"turn/{proposal.turn_id}",)
    with psycopg.connect(database.admin_dsn(), autocommit=True) as outside:
        outside.execute("SELECT pg_advisory_lock(hashtextextended(%s, 1))", lock)
        assert await app.drain() == []
        assert await turns_due(app.database, app.user_id) == [proposal.turn_id]
        hurried = app.runs.advance(app.user_id, proposal.turn_id, patience_s=0.2)
        assert (await refusal(hurried)).code == "store.busy"
        waiting = asyncio.create_task(app.advance(proposal.turn_id))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        outside.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 1))", lock)
    assert (await waiting).outcome == "committed"


@pytest.mark.parametrize(
    ("kind", "name", "to", "said"),
    [
        ("upsert_job_posting", "title", "upsert_company", "is no place for a reference"),
        ("upsert_company", "name", "upsert_company", "refers to no earlier action"),
        ("upsert_job_posting", "title", "link_requirement", "refers to no earlier action"),
        ("link_requirement", "posting", "link_requirement", "refers to no earlier action"),
        ("link_requirement", "posting", "elsewhere", "refers to no earlier action"),
    ],
)
async def test_an_edit_may_refer_only_to_an_earlier_action_and_only_for_a_row(
    app: App, kind: str, name: str, to: str, said: str
) -> None:
    proposal = await capture(app, POSTING)
    target = uuid4() if to == "elsewhere" else the(proposal, to).id
    error = await refusal(
        edit(app, proposal, the(proposal, kind), **{name: reference(str(target))})
    )
    assert error.code == "review.edit"
    assert said in error.details["pointers"][f"/{name}"]
    after = await app.approvals.load(app.user_id, proposal.id)
    assert after.digest == proposal.digest


@pytest.mark.parametrize(
    "value",
    [
        {"$ref": "no id"},
        {"$ref": {"$ref": str(uuid4())}},
        {"$ref": 5},
        {"a": {"\ud800": 1}},
        json.loads("[" * 500 + "]" * 500),
        ["x" * 1_000_000] * 3,
        [0] * 100_000,
    ],
    ids=["word", "nested", "number", "surrogate name", "deep", "large", "many"],
)
async def test_a_hostile_edit_is_refused_with_its_place(app: App, value: Any) -> None:
    proposal = await capture(app, POSTING)
    requirement = the(proposal, "link_requirement")
    for name in ("posting", "text"):
        error = await refusal(edit(app, proposal, requirement, **{name: value}))
        assert error.code == "review.edit"
        assert all(pointer.startswith(f"/{name}") for pointer in error.details["pointers"])
        assert len(str(error)) < 1000


async def test_an_edit_that_refers_to_a_row_of_the_wrong_kind_is_shown_as_refused(
    app: App, database: Address
) -> None:
    proposal = await capture(app, POSTING)
    company = the(proposal, "upsert_company")
    requirement = the(proposal, "link_requirement")
    revised = await edit(app, proposal, requirement, posting=reference(str(company.id)))
    changed = revised.action(requirement.id)
    assert changed is not None
    assert changed.status == "refused"
    error = await refusal(decide(app, revised, {requirement.id: "approve"}))
    assert error.code == "review.incomplete"
    assert count(database, "job_requirement", app.user_id) == 0


class Shelve(Arguments):
    """Arguments of a kind whose service forgets what the database forbids."""

    status: str


async def shelve(writer: Writer, args: Shelve) -> Row:
    posting = await writer.find_last(JOB_POSTING, {"url": None}, "created_at")
    assert posting is not None
    values = {"job_posting_id": posting["id"], "status": args.status}
    return await writer.create(APPLICATION, values, name=args.status)


async def test_what_a_constraint_refuses_is_a_refused_action_and_no_crash(
    database: Address,
) -> None:
    async with open_job_world(database) as world:
        await world.commit(*posting_batch())
        kind = ActionKind(arguments=Shelve, handler=shelve)
        world.executor = ActionExecutor(world.pools, {"shelve": kind})
        outcomes = await world.dry_run(
            act("shelve", status="nonsense"), act("shelve", status="saved")
        )
        assert [o.status for o in outcomes] == ["refused", "ready"]
        assert "application" in outcomes[0].problem


@pytest.mark.parametrize("seed", range(4))
async def test_edits_decisions_commits_and_expiries_at_once_leave_one_consistent_end(
    database: Address, settings: Settings, seed: int
) -> None:
    clock = Clock()
    chance = random.Random(seed)
    async with open_world(database, settings, model(), clock=clock) as app:
        proposal = await capture(app, POSTING)
        posting = the(proposal, "upsert_job_posting")
        if seed % 2:
            await decide(app, proposal, {the(proposal, "upsert_company").id: "approve"})
        work = [
            decide(app, proposal, everything(proposal)),
            decide(app, proposal, everything(proposal, "reject")),
            edit(app, proposal, posting, title="Pier Planner"),
            app.approvals.commit(app.user_id, proposal.id),
            decide(app, proposal, {posting.id: "reject"}),
            app.approvals.commit(app.user_id, proposal.id),
        ]
        chance.shuffle(work)
        if seed % 2:
            clock.now += timedelta(days=20)
            work.insert(chance.randrange(6), app.approvals.expire_due(app.user_id))
        ended = await asyncio.gather(*work, return_exceptions=True)
        assert all(isinstance(e, ReviewRefused) for e in ended if isinstance(e, BaseException))
        await app.drain()
        final = await app.approvals.load(app.user_id, proposal.id)
        held = set(states(final).values())
        if final.state == "pending":
            assert "pending" in held
            assert final.closed_at is None
        else:
            assert held <= {"committed", "rejected"} or held == {"expired"}
            assert final.closed_at is not None
        committed = len(final.in_state("committed"))
        assert count(database, "receipt", app.user_id) == committed
        written = [a for a in final.in_state("committed") if a.kind == "upsert_job_posting"]
        assert count(database, "job_posting", app.user_id) == len(written)


async def test_what_loses_to_other_transactions_every_time_ends_with_a_sentence() -> None:
    tries: list[int] = []

    async def lose() -> None:
        tries.append(1)
        raise psycopg.errors.DeadlockDetected("deadlock detected")

    error = await refusal(retry_conflicts(lose))
    assert isinstance(error, StoreFailed)
    assert error.code == "store.busy"
    assert len(tries) == 5


async def test_a_resume_rests_on_no_word_that_the_user_never_said(database: Address) -> None:
    told = act("record_experience", summary="kept the tide tables", organization="Gannet Lines")
    none: Evidence = {"support": "ungrounded", "spans": [], "quote": ""}
    told["evidence"] = {"organization": none}
    state: AlfredState = {"pending_actions": group("capture_experience", 0, 1, [told])}
    async with open_job_world(database) as world:
        found = await find_sources(state, await world.begin_turn(ScriptedModel([])))
    assert isinstance(found, dict)
    assert found["listing"] == "1. kept the tide tables"


async def test_the_next_command_finishes_what_a_killed_one_had_decided(
    database: Address, settings: Settings, shell_with: Callable[..., Shell]
) -> None:
    line = shell_with(ANSWER)
    async with open_world(database, replace(settings, user=line.user), model()) as app:
        proposal = await capture(app, POSTING)
        await decide(app, proposal, everything(proposal))
        assert count(database, "job_posting", app.user_id) == 0
        line.run("capture", "🛟", code=4)
        assert count(database, "job_posting", app.user_id) == 1
        assert (await app.load_turn(proposal.turn_id)).outcome == "committed"


def test_an_answer_given_before_an_edit_does_not_hold_for_what_the_edit_changed(
    database: Address, shell_with: Callable[..., Shell]
) -> None:
    line = shell_with(ANSWER)
    line.run("capture", POSTING, "--no-review", code=3)
    typed = b"y\ne\ncompany_name\nGannet Lines\nq\n"
    line.run("review", words=typed, code=3)
    states_now = look(
        database,
        "SELECT state, args FROM action JOIN action_payload USING (user_id, id)"
        " WHERE user_id = %s AND kind = 'upsert_company'",
        [user_id_of(line.user)],
    )
    assert states_now == [{"state": "pending", "args": {"name": "Gannet Lines"}}]


def test_no_argument_ends_in_a_traceback(shell_with: Callable[..., Shell]) -> None:
    line = shell_with(ANSWER)
    line.run("capture", POSTING, "--no-review", code=3)
    for arguments in (
        ("review", "\udcff"),
        ("review", "%"),
        ("trace", "\udcff"),
        ("job", "show", "\udcff"),
        ("job", "show", "_"),
        ("review", "--set", "1.name=\udcff"),
        ("review", "--set", "3.posting=" + "9" * 5000),
        ("review", "--set", "3.posting=" + "[" * 50_000),
        ("review", "--set", '3.posting={"$ref": "x"}'),
        ("review", "--approve", "\udcff"),
    ):
        assert line.run(*arguments, code=7).stderr
    contradiction = line.run("review", "--approve", "1", "--reject", "1", code=2)
    assert "at once" in contradiction.stderr


def test_a_file_with_a_broken_name_is_captured_and_a_user_with_one_is_refused(
    shell_with: Callable[..., Shell], tmp_path: Path
) -> None:
    line = shell_with(ANSWER)
    file = tmp_path / "caf\udce9.txt"
    file.write_text(POSTING)
    line.run("capture", str(file), "--no-review", code=3)
    broken = Shell({**line.environment, "ALFRED_USER": "caf\udce9"})
    assert "settings.invalid" in broken.run("pending", code=2).stderr


def test_a_full_disk_behind_the_output_is_named(shell_with: Callable[..., Shell]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "alfred", "check", "--no-graphs"],
            env=shell_with(ANSWER).environment,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert done.returncode == 1
    assert done.stderr.decode().startswith("alfred: ")
    assert b"Traceback" not in done.stderr


def test_no_text_of_a_posting_steers_the_terminal(
    shell_with: Callable[..., Shell],
) -> None:
    company = "Marram\x1b[2J\x1b]0;owned\x07 Ferries\u202e"
    line = shell_with({**ANSWER, "company": company})
    text = POSTING.replace("Marram Ferries", company)
    said = [line.run("capture", "-", "--no-review", code=3, words=text.encode())]
    said += [line.run("pending"), line.run("review", "--show", code=3)]
    said += [line.run("review", "--set", "2.url=", "--approve", "1", "--yes")]
    said += [line.run("job", "list"), line.run("trace")]
    (job,) = line.json("job", "list")["postings"]
    said += [line.run("job", "show", job["id"])]
    for done in said:
        for forbidden in ("\x1b", "\x07", "\u202e"):
            assert forbidden not in done.stdout + done.stderr
    assert any("Ferries" in done.stdout for done in said)
