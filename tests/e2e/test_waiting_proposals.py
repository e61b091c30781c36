"""What happens around a proposal that waits: more messages, the end of its time, a second gate."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from alfred.app import App
from alfred.engine.action import Action, action_id
from alfred.engine.amendment import Edit
from alfred.engine.context import RunContext
from alfred.engine.database import Role
from alfred.engine.decision_rules import Verdict
from alfred.engine.proposal import Proposal
from alfred.engine.review import finish, propose, review
from alfred.engine.state import AlfredState, group
from alfred.engine.submission import LIFETIME, Submission
from alfred.engine.turn import Turn
from alfred.errors import ReviewRefused
from alfred.graphs.root import RECURSION_LIMIT, compile_graph
from alfred.graphs.runs import Runs, Starting
from alfred.models.scripted import ScriptedModel
from alfred.services.queries.inbox import list_open_proposals
from alfred.settings import Settings
from alfred.store.address import Address
from alfred.store.checkpoints import UserCheckpoints, run_user
from alfred.store.pools import Pools
from tests.e2e.test_survival import child, hear, plain, tell
from tests.world import NOON, Clock, capture, count, look, open_world

POSTING = "招聘：栖霞仪器诚聘标定工程师，工作地点烟台。要求：懂得激光测距；会写 Rust。"
ANSWER = {
    "company": "栖霞仪器",
    "title": "标定工程师",
    "location": "烟台",
    "deadline": None,
    "user_intent": None,
    "requirements": [
        {"kind": "skill", "text": "懂得激光测距", "importance": "must"},
        {"kind": "skill", "text": "会写 Rust", "importance": "must"},
    ],
}
OTHER = "招聘：栖霞仪器诚聘采购主管，工作地点蓬莱。"
OTHER_ANSWER = {**ANSWER, "title": "采购主管", "location": "蓬莱", "requirements": []}
TOO_LATE = NOON + LIFETIME
RACES = 25


def model(*answers: dict[str, Any]) -> ScriptedModel:
    return ScriptedModel([json.dumps(answer, ensure_ascii=False) for answer in answers])


def everything(proposal: Proposal, verdict: Verdict = "approve") -> dict[UUID, Verdict]:
    return {action.id: verdict for action in proposal.actions}


async def settle(app: App, proposal: Proposal, verdict: Verdict = "approve") -> str | None:
    """Decide all of it, write it, and say how its run ended."""
    await app.approvals.decide(
        proposal.id, everything(proposal, verdict), seen=proposal.digest, actor=app.actor
    )
    return (await app.settle(proposal.id)).outcome


async def waiting(app: App) -> set[UUID]:
    async with app.database.transaction(Role.READER, app.user_id) as connection:
        return {row["id"] for row in await list_open_proposals(connection)}


async def refusal(work: Any) -> ReviewRefused:
    with pytest.raises(ReviewRefused) as caught:
        await work
    return caught.value


def notes(database: Address, proposal: Proposal) -> dict[str, set[UUID]]:
    """Read what stands on the proposal's message: actions by the kind of note."""
    (message,) = look(
        database, "SELECT annotations FROM chat_message WHERE id = %s", [proposal.message_id]
    )
    return {note["kind"]: set(map(UUID, note["actions"])) for note in message["annotations"]}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_a_new_message_leaves_the_proposal_waiting_and_either_is_decided_first(
    database: Address, settings: Settings, order: tuple[int, ...]
) -> None:
    async with open_world(database, settings, model(ANSWER, OTHER_ANSWER)) as app:
        proposals = [await capture(app, POSTING), await capture(app, OTHER)]
        turns = [await app.load_turn(proposal.turn_id) for proposal in proposals]
        assert turns[0].thread_id == turns[1].thread_id
        assert await waiting(app) == {proposal.id for proposal in proposals}
        first, second = (proposals[index] for index in order)
        assert await settle(app, first) == "committed"
        assert await waiting(app) == {second.id}
        assert await settle(app, second) == "committed"
        assert count(database, "organization", app.user_id) == 1
        assert count(database, "job_posting", app.user_id) == 2


async def test_a_message_without_anything_in_it_leaves_the_proposal_waiting(
    database: Address, settings: Settings
) -> None:
    async with open_world(database, settings, model(ANSWER)) as app:
        proposal = await capture(app, POSTING)
        received = await app.receive("谢谢，明天再说。".encode())
        assert received.standing is None or received.standing.proposal is None
        assert await waiting(app) == {proposal.id}
        assert await settle(app, proposal) == "committed"


async def test_the_same_posting_captured_twice_waits_twice_and_is_stored_once(
    database: Address, settings: Settings
) -> None:
    async with open_world(database, settings, model(ANSWER, ANSWER)) as app:
        first, second = await capture(app, POSTING), await capture(app, POSTING)
        assert await waiting(app) == {first.id, second.id}
        assert await settle(app, first) == "committed"
        # The second would have created what stands now: that is shown before it is written.
        refused = await refusal(settle(app, second))
        assert refused.code == "review.stale"
        fresh: Proposal = refused.details["proposal"]
        rows = [effect for action in fresh.actions for effect in action.effects]
        assert {e["operation"] for e in rows if e["table"] == "job_posting"} == {"none"}
        assert await settle(app, fresh) == "committed"
        assert count(database, "job_posting", app.user_id) == 1
        assert count(database, "job_requirement", app.user_id) == 2


async def test_a_newer_attempt_supersedes_the_earlier_proposal_in_so_many_words(
    database: Address, settings: Settings
) -> None:
    async with open_world(database, settings, model(ANSWER)) as app:
        old = await capture(app, POSTING)
        new = await app.approvals.propose(again(old))
        held = await app.approvals.load(app.user_id, old.id)
        assert (held.state, {a.state for a in held.actions}) == ("superseded", {"superseded"})
        assert await waiting(app) == {new.id}
        late = app.approvals.decide(old.id, everything(old), seen=old.digest, actor=app.actor)
        refused = await refusal(late)
        assert (refused.code, "superseded" in refused.message) == ("review.closed", True)
        commit = await refusal(app.approvals.commit(app.user_id, old.id))
        assert commit.code == "review.closed"
        kinds = look(
            database, "SELECT kind FROM ledger_entry WHERE proposal_id = %s ORDER BY seq", [old.id]
        )
        assert [entry["kind"] for entry in kinds] == ["proposed", "superseded"]


def again(old: Proposal) -> Submission:
    """Submit the same actions as the turn's next attempt."""
    ids = {str(a.id): action_id(old.turn_id, a.node, 1, a.ordinal) for a in old.actions}
    actions: list[Action] = []
    for action in old.actions:
        text = json.dumps(action.as_action())
        for before, after in ids.items():
            text = text.replace(before, after)
        actions.append(json.loads(text))
    return Submission(
        user_id=old.user_id,
        turn_id=old.turn_id,
        message_id=old.message_id,
        attempt=1,
        stated_at=old.stated_at,
        manifests=old.manifests,
        notices=[],
        actions=actions,
    )


async def test_a_proposal_expires_as_a_state_of_its_own_and_its_run_ends_that_way(
    database: Address, settings: Settings
) -> None:
    clock = Clock()
    async with open_world(database, settings, model(ANSWER), clock=clock) as app:
        proposal = await capture(app, POSTING)
        assert proposal.expires_at == TOO_LATE
        clock.now = TOO_LATE - timedelta(seconds=1)
        assert await app.approvals.expire_due(app.user_id) == []
        clock.now = TOO_LATE
        (standing,) = await app.drain()
        assert (standing.state, standing.outcome) == ("done", "expired")
        held = await app.approvals.load(app.user_id, proposal.id)
        assert (held.state, {a.state for a in held.actions}) == ("expired", {"expired"})
        assert await waiting(app) == set()
        assert notes(database, proposal) == {"expired": {a.id for a in proposal.actions}}
        assert (await app.load_turn(proposal.turn_id)).text == POSTING
        confirmed = (await state_of(app, proposal.turn_id))["confirmations"]
        assert set(confirmed.values()) == {False}
        assert await app.drain() == []
        assert count(database, "job_posting", app.user_id) == 0


async def state_of(app: App, turn_id: UUID) -> dict[str, Any]:
    token = run_user.set(app.user_id)
    try:
        config: Any = {"configurable": {"thread_id": str(turn_id)}}
        return (await app.runs.graph.aget_state(config)).values
    finally:
        run_user.reset(token)


@pytest.mark.parametrize("way", ["approve", "reject", "amend", "commit", "twice"])
async def test_whatever_comes_too_late_is_told_so_and_ends_the_proposal(
    database: Address, settings: Settings, way: str
) -> None:
    clock = Clock()
    async with open_world(database, settings, model(ANSWER), clock=clock) as app:
        proposal = await capture(app, POSTING)
        clock.now = TOO_LATE + timedelta(days=1)

        def late() -> Any:
            approvals, seen = app.approvals, proposal.digest
            if way == "commit":
                return approvals.commit(app.user_id, proposal.id)
            if way == "amend":
                edits = {proposal.actions[0].id: Edit(args={"name": "海阳仪器"})}
                return approvals.amend(proposal.id, edits, seen=seen, actor=app.actor)
            verdict: Verdict = "reject" if way == "reject" else "approve"
            verdicts = everything(proposal, verdict)
            return approvals.decide(proposal.id, verdicts, seen=seen, actor=app.actor)

        for _ in range(2):
            refused = await refusal(late())
            assert refused.code == "review.expired"
            assert "2026-03-16" in refused.message
            held = await app.approvals.load(app.user_id, proposal.id)
            assert (held.state, {a.state for a in held.actions}) == ("expired", {"expired"})
        (standing,) = await app.drain()
        assert standing.outcome == "expired"
        assert count(database, "receipt", app.user_id) == 0


async def test_of_a_partly_decided_proposal_what_was_approved_expires_and_what_was_rejected_stays(
    database: Address, settings: Settings
) -> None:
    clock = Clock()
    async with open_world(database, settings, model(ANSWER), clock=clock) as app:
        proposal = await capture(app, POSTING)
        company, *_, last = proposal.actions
        verdicts: dict[UUID, Verdict] = {company.id: "approve", last.id: "reject"}
        await app.approvals.decide(proposal.id, verdicts, seen=proposal.digest, actor=app.actor)
        clock.now = TOO_LATE
        await app.drain()
        held = await app.approvals.load(app.user_id, proposal.id)
        assert held.state == "expired"
        assert [a.state for a in held.actions] == ["expired", "expired", "expired", "rejected"]
        expired = {a.id for a in held.in_state("expired")}
        assert notes(database, proposal) == {"discarded": {last.id}, "expired": expired}
        assert count(database, "organization", app.user_id) == 0


async def test_what_was_decided_in_time_is_written_however_late(
    database: Address, settings: Settings
) -> None:
    clock = Clock()
    async with open_world(database, settings, model(ANSWER), clock=clock) as app:
        proposal = await capture(app, POSTING)
        await app.approvals.decide(
            proposal.id, everything(proposal), seen=proposal.digest, actor=app.actor
        )
        clock.now = TOO_LATE + timedelta(days=100)
        (standing,) = await app.drain()
        assert standing.outcome == "committed"
        assert count(database, "job_posting", app.user_id) == 1


async def test_of_an_approval_and_the_end_of_time_in_two_processes_one_wins(
    database: Address, settings: Settings
) -> None:
    names = [f"栖霞仪器{number}号" for number in range(RACES)]
    answers = [{**ANSWER, "company": name} for name in names]
    async with open_world(database, settings, model(*answers)) as app:
        proposals = [await capture(app, POSTING.replace("栖霞仪器", name)) for name in names]
    order = {
        "work": "race",
        "address": plain(database),
        "user": settings.user,
        "proposals": [str(proposal.id) for proposal in proposals],
        "verdict": "approve",
    }
    outcomes: list[tuple[str, str]] = []
    in_time = {**order, "now": (TOO_LATE - timedelta(seconds=1)).isoformat()}
    with child(in_time) as punctual, child({**order, "now": TOO_LATE.isoformat()}) as late:
        for _ in proposals:
            assert (hear(punctual), hear(late)) == ("ready", "ready")
            tell(late, "go")
            tell(punctual, "go")
            outcomes.append((hear(punctual), hear(late)))
    won = f"won {len(proposals[0].actions)}"
    expected = {(won, won): "committed", ("review.expired", "review.expired"): "expired"}
    assert set(outcomes) <= set(expected)
    for proposal, outcome in zip(proposals, outcomes, strict=True):
        states = look(
            database,
            "SELECT p.state AS whole, a.state AS one FROM proposal p JOIN action a"
            " ON a.user_id = p.user_id AND a.proposal_id = p.id WHERE p.id = %s",
            [proposal.id],
        )
        assert {(row["whole"], row["one"]) for row in states} == {(expected[outcome],) * 2}
        receipts = look(database, "SELECT 1 FROM receipt WHERE proposal_id = %s", [proposal.id])
        assert len(receipts) == (len(states) if expected[outcome] == "committed" else 0)


async def test_of_an_approval_and_a_sweep_at_once_one_wins(
    database: Address, settings: Settings
) -> None:
    clock, later = Clock(), Clock(TOO_LATE)
    async with (
        open_world(database, settings, model(*[ANSWER] * 8), clock=clock) as app,
        open_world(database, settings, model(), clock=later) as sweeper,
    ):
        for number in range(8):
            proposal = await capture(app, POSTING.replace("烟台", f"烟台{number}区"))
            decision = app.approvals.decide(
                proposal.id, everything(proposal), seen=proposal.digest, actor=app.actor
            )
            swept, decided = await asyncio.gather(
                sweeper.approvals.expire_due(app.user_id), decision, return_exceptions=True
            )
            assert not isinstance(swept, BaseException)
            held = await app.approvals.load(app.user_id, proposal.id)
            if swept:
                assert isinstance(decided, ReviewRefused)
                assert decided.code == "review.expired"
                assert (held.state, {a.state for a in held.actions}) == ("expired", {"expired"})
            else:
                assert held.state == "approved"
            await app.drain()


def company(turn_id: UUID, node: str, attempt: int, name: str) -> Action:
    return {
        "id": action_id(turn_id, node, attempt, 0),
        "node": node,
        "kind": "upsert_company",
        "args": {"name": name},
        "origins": {},
        "evidence": {},
        "missing": [],
    }


def two_gates() -> StateGraph[Any, Any, Any, Any]:
    """Propose a company, ask; then propose another, and ask again."""

    def proposing(node: str, attempt: int, name: str) -> Any:
        async def step(_: AlfredState, runtime: Runtime[RunContext]) -> dict[str, Any]:
            action = company(runtime.context.turn_id, node, attempt, name)
            return {"attempt": attempt, "pending_actions": group(node, attempt, attempt, [action])}

        return step

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(AlfredState, context_schema=RunContext)
    steps = {
        "extract_job": proposing("extract_job", 0, "栖霞仪器"),
        "propose": propose,
        "review": review,
        "capture_experience": proposing("capture_experience", 1, "海阳仪器"),
        "propose_more": propose,
        "review_more": review,
        "finish": finish,
    }
    for name, step in steps.items():
        builder.add_node(name, step)
    for source, target in zip([START, *steps], [*steps, END], strict=True):
        builder.add_edge(source, target)
    return builder


@asynccontextmanager
async def open_gates(database: Address, settings: Settings) -> AsyncGenerator[App]:
    """Open an Alfred whose runs ask twice."""

    async def as_stored(turn: Turn) -> Turn:
        return turn

    async with Pools(database, max_size=4) as pools, open_world(database, settings, model()) as app:
        app.runs = Runs(
            pools,
            app.approvals,
            compile_graph(two_gates(), UserCheckpoints(pools)),
            Starting(
                complete=as_stored,
                read_input=app.intake.read_turn,
                make_context=app.context_of,
            ),
            recursion_limit=RECURSION_LIMIT,
        )
        yield app


def names(database: Address, app: App) -> list[str]:
    rows = look(
        database, "SELECT name FROM organization WHERE user_id = %s ORDER BY name", [app.user_id]
    )
    return [row["name"] for row in rows]


async def second_of(app: App, first: Proposal) -> Proposal:
    """Read the proposal that the run waits for now."""
    standing = await app.advance(first.turn_id)
    assert (standing.state, standing.outcome) == ("waiting", None)
    assert standing.proposal is not None
    return standing.proposal


@pytest.mark.parametrize(
    ("answers", "stored"),
    [
        (("approve", "approve"), ["栖霞仪器", "海阳仪器"]),
        (("approve", "reject"), ["栖霞仪器"]),
        (("reject", "approve"), ["海阳仪器"]),
    ],
)
async def test_each_of_two_gates_takes_its_own_answer(
    database: Address, settings: Settings, answers: tuple[Verdict, Verdict], stored: list[str]
) -> None:
    async with open_gates(database, settings) as app:
        first = await capture(app, POSTING)
        assert await settle(app, first, answers[0]) is None
        second = await second_of(app, first)
        assert second.id != first.id
        assert [action.args for action in second.actions] == [{"name": "海阳仪器"}]
        assert (
            await settle(app, second, answers[1])
            == {
                "approve": "committed",
                "reject": "rejected",
            }[answers[1]]
        )
        assert names(database, app) == stored


async def test_a_run_that_goes_on_without_an_answer_leaves_the_second_gate_waiting(
    database: Address, settings: Settings
) -> None:
    async with open_gates(database, settings) as app:
        first = await capture(app, POSTING)
        await settle(app, first)
        second = await second_of(app, first)
        assert await app.approvals.commit(app.user_id, first.id)
        for _ in range(2):
            await app.drain()
            assert (await second_of(app, first)).id == second.id
        for wake in (None, Command(resume=True), Command(resume={"approve": "everything"})):
            await drive(app, first.turn_id, wake)
            assert (await second_of(app, first)).id == second.id
        held = await app.approvals.load(app.user_id, second.id)
        assert (held.state, held.revision) == ("pending", 0)
        assert names(database, app) == ["栖霞仪器"]
        assert await waiting(app) == {second.id}
        assert await settle(app, held) == "committed"


async def drive(app: App, turn_id: UUID, wake: Command[Any] | None) -> None:
    """Continue a run behind the back of what guards it."""
    token = run_user.set(app.user_id)
    try:
        config: Any = {"configurable": {"thread_id": str(turn_id)}, "recursion_limit": 32}
        context = app.context_of(await app.load_turn(turn_id))
        await app.runs.graph.ainvoke(wake, config, context=context, durability="exit")
    finally:
        run_user.reset(token)


async def test_the_first_gate_is_not_passed_by_waking_the_run(
    database: Address, settings: Settings
) -> None:
    async with open_gates(database, settings) as app:
        first = await capture(app, POSTING)
        for wake in (None, Command(resume=True)):
            await drive(app, first.turn_id, wake)
            assert (await second_of(app, first)).id == first.id
        assert names(database, app) == []
