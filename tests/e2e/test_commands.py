"""Commands that write: a proposal like any other, from the first word to the receipt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from alfred.app import App
from alfred.engine.command import Wanted
from alfred.engine.decision_rules import Verdict
from alfred.engine.proposal import Proposal
from alfred.engine.turn import NewMessage, store_message
from alfred.errors import ActionRefused, InputRefused, ReviewRefused
from alfred.settings import Settings
from alfred.store.address import Address
from alfred.testing import ScriptedModel
from tests.world import Clock, count, look, open_world

COMPANY = Wanted(kind="upsert_company", args={"name": "Lumen Kites"})
WORDS = "note the company Lumen Kites"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def app(database: Address, settings: Settings, clock: Clock) -> AsyncGenerator[App]:
    """A user whose model has no answer: whoever asks it fails."""
    async with open_world(database, settings, ScriptedModel([]), clock=clock) as opened:
        yield opened


async def decide(app: App, proposal: Proposal, verdict: Verdict = "approve") -> Proposal:
    verdicts: dict[UUID, Verdict] = {action.id: verdict for action in proposal.actions}
    return await app.approvals.decide(proposal.id, verdicts, seen=proposal.digest, actor=app.actor)


def turn_of(database: Address, app: App) -> dict[str, object]:
    (turn,) = look(
        database,
        "SELECT state, outcome, domain, resume_due FROM turn WHERE user_id = %s",
        [app.user_id],
    )
    return turn


async def test_a_command_proposes_and_writes_nothing_before_it_is_approved(
    app: App, database: Address
) -> None:
    proposal = await app.propose_actions(WORDS, [COMPANY])
    assert (proposal.state, proposal.actions[0].status) == ("pending", "ready")
    assert count(database, "organization", app.user_id) == 0
    waiting = {"state": "waiting", "outcome": None, "domain": "job", "resume_due": False}
    assert turn_of(database, app) == waiting
    await decide(app, proposal)
    assert count(database, "organization", app.user_id) == 0
    standing = await app.settle(proposal.id)
    assert (standing.state, standing.outcome) == ("done", "committed")
    assert count(database, "organization", app.user_id) == 1
    assert turn_of(database, app) == {**waiting, "state": "done", "outcome": "committed"}


async def test_an_argument_that_stands_in_the_words_rests_on_them(app: App) -> None:
    proposal = await app.propose_actions(WORDS, [COMPANY])
    evidence = proposal.actions[0].evidence["name"]
    (span,) = evidence["spans"]
    assert (evidence["support"], WORDS[span["start"] : span["end"]]) == ("grounded", "Lumen Kites")
    other = await app.propose_actions("another", [COMPANY])
    assert other.actions[0].evidence["name"]["support"] == "given"


async def test_settling_twice_and_at_once_writes_once(app: App, database: Address) -> None:
    proposal = await app.propose_actions(WORDS, [COMPANY])
    await decide(app, proposal)
    standings = await asyncio.gather(*(app.settle(proposal.id) for _ in range(4)))
    assert {standing.outcome for standing in standings} == {"committed"}
    assert count(database, "receipt", app.user_id) == 1
    assert count(database, "event", app.user_id) == 1


async def test_a_decided_command_that_was_cut_off_is_finished_by_the_next_start(
    app: App, database: Address
) -> None:
    proposal = await app.propose_actions(WORDS, [COMPANY])
    await decide(app, proposal)
    assert turn_of(database, app)["resume_due"]
    (standing,) = await app.drain()
    assert standing.outcome == "committed"
    assert count(database, "organization", app.user_id) == 1
    assert await app.drain() == []
    assert "runs" not in vars(app)  # no graph was needed


async def test_a_command_that_was_cut_off_before_it_proposed_is_over(
    app: App, database: Address, clock: Clock
) -> None:
    await app.propose_actions(WORDS, [COMPANY])
    cut_off = NewMessage(
        user_id=app.user_id,
        thread_id=uuid4(),
        turn_id=uuid4(),
        message_id=uuid4(),
        text=WORDS,
        original=None,
        source=None,
        modality="command",
        language="en",
        received_at=clock(),
        timezone="UTC",
        manifests={},
    )
    await store_message(app.database, cut_off)
    (standing,) = await app.drain()
    assert (standing.turn_id, standing.state) == (cut_off.turn_id, "failed")
    assert standing.problems == ["The command was cut off; give it again."]
    assert await app.drain() == []


async def test_a_rejected_command_is_closed_with_its_words_kept(
    app: App, database: Address
) -> None:
    proposal = await decide(app, await app.propose_actions(WORDS, [COMPANY]), "reject")
    standing = await app.settle(proposal.id)
    assert standing.outcome == "rejected"
    (message,) = look(
        database, "SELECT text, annotations FROM chat_message WHERE user_id = %s", [app.user_id]
    )
    assert message["text"] == WORDS
    assert message["annotations"][0]["kind"] == "discarded"


async def test_a_command_that_nobody_decides_expires(
    app: App, database: Address, clock: Clock
) -> None:
    proposal = await app.propose_actions(WORDS, [COMPANY])
    clock.now += timedelta(days=15)
    (standing,) = await app.drain()
    assert standing.outcome == "expired"
    with pytest.raises(ReviewRefused) as late:
        await decide(app, proposal)
    assert late.value.code == "review.expired"


async def test_a_command_that_cannot_run_is_refused_and_nothing_waits(
    app: App, database: Address
) -> None:
    gone = Wanted(kind="delete_job_posting", args={"posting": str(uuid4())})
    with pytest.raises(ActionRefused, match="There is no job_posting") as refused:
        await app.propose_actions("delete it", [COMPANY, gone])
    assert refused.value.code == "action.conflict"
    assert turn_of(database, app)["outcome"] == "rejected"
    assert count(database, "organization", app.user_id) == 0
    assert await app.drain() == []


async def test_a_stale_command_is_shown_anew_also_where_the_next_start_finds_it(
    app: App, database: Address
) -> None:
    first, other = [
        await app.propose_actions(WORDS, [Wanted(kind="upsert_company", args=args)])
        for args in (
            {"name": "Lumen Kites", "website": "https://a.example"},
            {"name": "Lumen Kites", "website": "https://b.example"},
        )
    ]
    await decide(app, first)
    await decide(app, other)
    await app.settle(other.id)
    standings = {standing.turn_id: standing for standing in await app.drain()}
    assert standings[first.turn_id].state == "waiting"
    again = await app.approvals.load(app.user_id, first.id)
    (change,) = [e for e in again.actions[0].effects if e["table"] == "organization"]
    assert change["before"] == {"website": "https://b.example"}


async def test_a_command_is_neither_read_again_nor_corrected_in_words(app: App) -> None:
    proposal = await app.propose_actions(WORDS, [COMPANY])
    with pytest.raises(InputRefused, match="Give the command again"):
        await app.again(proposal.turn_id)
    with pytest.raises(ReviewRefused) as refused:
        await app.correct(proposal.id, "no, the other one", seen=proposal.digest)
    assert refused.value.code == "review.uncorrectable"
