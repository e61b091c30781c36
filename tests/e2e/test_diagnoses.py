"""A diagnosis from the question to the approved note: limits, cancels, crashes, follow-ups."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from alfred.diagnoses import question_about
from alfred.engine.standing import Standing
from alfred.errors import InputRefused, ProbeFailed
from alfred.graphs.diagnosis.first_look import Wish
from alfred.graphs.diagnosis.tools import DiagnosisTools
from alfred.nodes.diagnosis_context import Limits
from alfred.probes.alerts import Alert
from alfred.probes.toolbox import Toolbox
from alfred.store.address import Address
from alfred.store.checkpoints import UserCheckpoints, run_user
from tests.diagnosis_turns import CASES, Turns, moment, open_turns
from tests.world import Clock

SCOPE = {"service": "basket-api"}


async def diagnosed(turns: Turns, question: str | None = None, **wish: Any) -> Standing:
    begun = await turns.diagnoses.ask(question or turns.question, Wish(**wish))
    return await turns.diagnoses.advance(begun.turn.id)


async def approve(turns: Turns, standing: Standing) -> Standing:
    proposal = standing.proposal
    assert proposal is not None, standing
    verdicts: Any = {action.id: "approve" for action in proposal.actions}
    await turns.app.approvals.decide(
        proposal.id, verdicts, seen=proposal.digest, actor=turns.app.actor
    )
    return await turns.app.settle(proposal.id)


async def end_of(turns: Turns, standing: Standing) -> dict[str, Any]:
    stored = await turns.diagnoses.load(standing.turn_id)
    assert stored is not None
    assert stored.end is not None
    return stored.end


async def test_the_first_look_is_there_before_any_model_is_asked(
    database: Address, tmp_path: Path
) -> None:
    async with open_turns(database, tmp_path) as turns:
        begun = await turns.diagnoses.ask(turns.question, Wish())
        assert {call["kind"] for call in begun.opened.calls} >= {"alerts", "changes", "logs"}
        assert all(call["round"] == 0 for call in begun.opened.calls)
        assert turns.model.asked.total() == 0
        stored = await turns.diagnoses.load(begun.turn.id)
        assert stored is not None
        assert [dict(call) for call in stored.calls] == [dict(c) for c in begun.opened.calls]


async def test_a_question_ends_in_a_cited_answer_and_a_note_that_is_written_once_approved(
    database: Address, tmp_path: Path
) -> None:
    async with open_turns(database, tmp_path) as turns:
        standing = await diagnosed(turns, scope=SCOPE)
        end = await end_of(turns, standing)
        answer = end["answer"]
        assert (end["terminal_reason"], end["finding"], end["verdict"]) == (
            *("ANSWER_COMPOSED", "cause", "PASS"),
        )
        assert "pool_size" in answer["cause"]["text"]
        known = {piece["id"] for piece in answer["evidence"]}
        assert answer["sentences"]
        assert all(s["evidence"] and set(s["evidence"]) <= known for s in answer["sentences"])
        assert end["trace"]["final_node"] == "composer"
        assert any(sentence.startswith("Plan (") for sentence in turns.heard)
        (action,) = standing.proposal.actions if standing.proposal else ()
        assert action.kind == "record_incident_note"
        assert not await incidents(turns), "nothing is written before it is approved"
        done = await approve(turns, standing)
        assert done.outcome == "committed"
        (note,) = await incidents(turns)
        assert (note["finding"], note["services"]) == ("cause", ["basket-api"])
        assert "E4" in note["body"]


async def incidents(turns: Turns) -> list[dict[str, Any]]:
    from alfred.services.queries.incidents import list_incidents

    async with turns.app.reading() as connection:
        return [dict(row) for row in await list_incidents(connection)]


async def test_an_approved_note_advises_a_later_plan_and_is_never_evidence(
    database: Address, tmp_path: Path
) -> None:
    async with open_turns(database, tmp_path) as turns:
        await approve(turns, await diagnosed(turns, scope=SCOPE))
        turns.model.prompts.clear()
        standing = await diagnosed(turns, scope=SCOPE)
        planned, *others = turns.model.prompts
        assert "Past incident of 2026-03-04" in planned
        assert not any("Past incident" in prompt for prompt in others)
        answer = (await end_of(turns, standing))["answer"]
        assert not any("Past incident" in str(piece) for piece in answer["evidence"])


async def test_a_diagnosis_that_was_cut_off_goes_on_behind_its_last_finished_step(
    database: Address, tmp_path: Path
) -> None:
    user = "cut-off"
    async with open_turns(database, tmp_path, user=user) as turns:
        begun = await turns.diagnoses.ask(turns.question, Wish(scope=SCOPE))
        turns.model.hangs_at = "verifier"
        running = asyncio.ensure_future(turns.diagnoses.advance(begun.turn.id))
        await turns.model.reached.wait()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        stored = await turns.diagnoses.load(begun.turn.id)
        assert stored is not None
        assert stored.end is None
        assert [event["node"] for event in stored.events][-1] == "verified_input"
    async with open_turns(database, tmp_path, user=user) as turns:
        standing = await turns.diagnoses.advance(begun.turn.id)
        assert dict(turns.model.asked) == {"verifier": 1, "composer": 1}
        end = await end_of(turns, standing)
        assert end["finding"] == "cause"
        stored = await turns.diagnoses.load(begun.turn.id)
        assert stored is not None
        assert [e["outcome"] for e in stored.events].count("RESUMED") == 1


async def test_a_diagnosis_that_is_cut_off_each_time_is_given_up_with_its_reason(
    database: Address, tmp_path: Path
) -> None:
    async with open_turns(database, tmp_path) as turns:
        begun = await turns.diagnoses.ask(turns.question, Wish(scope=SCOPE))
        turns.model.hangs_at = "verifier"
        for _ in range(4):
            turns.model.reached.clear()
            running = asyncio.ensure_future(turns.diagnoses.advance(begun.turn.id))
            await turns.model.reached.wait()
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
        standing = await turns.diagnoses.advance(begun.turn.id)
        end = await end_of(turns, standing)
        assert (end["terminal_reason"], end["finding"]) == ("CRASHED", None)
        assert standing.reply
        assert "given up" in standing.reply


async def test_a_cancel_from_another_process_stops_a_run_while_its_model_thinks(
    database: Address, tmp_path: Path
) -> None:
    async with (
        open_turns(database, tmp_path, user="canceller") as turns,
        open_turns(database, tmp_path, user="canceller") as other,
    ):
        begun = await turns.diagnoses.ask(turns.question, Wish(scope=SCOPE))
        turns.model.hangs_at = "executor"
        running = asyncio.ensure_future(turns.diagnoses.advance(begun.turn.id))
        await turns.model.reached.wait()
        await other.diagnoses.cancel(begun.turn.id)
        standing = await asyncio.wait_for(running, 30)
        end = await end_of(turns, standing)
        assert (end["terminal_reason"], end["finding"]) == ("CANCELLED", None)
        assert (standing.outcome, standing.proposal) == ("answered", None)
        assert [call["id"] for call in end["answer"]["calls"]][:1] == ["E1"]


async def test_a_diagnosis_that_takes_too_long_ends_with_the_limit_as_its_reason(
    database: Address, tmp_path: Path
) -> None:
    async with open_turns(database, tmp_path, limits=Limits(seconds=0.5)) as turns:
        turns.model.hangs_at = "planner"
        standing = await diagnosed(turns, scope=SCOPE)
        assert (await end_of(turns, standing))["terminal_reason"] == "LIMIT_SECONDS"


async def test_a_budget_of_calls_ends_the_calls_and_still_answers(
    database: Address, tmp_path: Path
) -> None:
    async with open_turns(database, tmp_path, limits=Limits(calls=1)) as turns:
        standing = await diagnosed(turns, scope=SCOPE)
        stored = await turns.diagnoses.load(standing.turn_id)
        assert stored is not None
        assert sum(call["round"] == 1 for call in stored.calls) == 1
        assert any(event["reason"] == "EVIDENCE_PARTIAL" for event in events_of(stored))


def events_of(stored: Any) -> list[dict[str, str]]:
    return [{"reason": event["reason_code"]} for event in stored.events]


@pytest.mark.parametrize("question", ["hello", "What is a circuit breaker?", "谢谢"])
async def test_small_talk_and_concepts_are_answered_and_start_no_diagnosis(
    database: Address, tmp_path: Path, question: str
) -> None:
    async with open_turns(database, tmp_path) as turns:
        begun = await turns.diagnoses.ask(question, Wish())
        assert begun.opened.run is None
        assert begun.opened.reply
        assert not await turns.diagnoses.list(limit=10)
        turn = await turns.app.load_turn(begun.turn.id)
        assert (turn.state, turn.outcome, turn.text) == ("done", "answered", question)


async def test_a_question_without_context_is_asked_back_and_no_model_is_asked(
    database: Address, tmp_path: Path
) -> None:
    quiet = CASES / "en-quiet-morning"
    async with open_turns(database, tmp_path, case=quiet) as turns:
        standing = await diagnosed(turns, "Can you have a look?")
        assert standing.reply
        assert "does not say what to look at" in standing.reply
        assert turns.model.asked.total() == 0
        assert (await end_of(turns, standing))["terminal_reason"] == "NO_CONTEXT"


async def test_a_follow_up_keeps_the_scope_and_the_time_of_what_was_asked_before(
    database: Address, tmp_path: Path
) -> None:
    async with open_turns(database, tmp_path) as turns:
        first = await diagnosed(turns, scope=SCOPE)
        turns.model.prompts.clear()
        second = await diagnosed(turns, "And since when exactly?")
        runs = {run["id"]: run for run in await turns.diagnoses.list(limit=10)}
        before, after = runs[first.turn_id], runs[second.turn_id]
        assert after["origin"] == "follow_up"
        assert after["previous_id"] == before["id"]
        assert after["scope"] == SCOPE
        assert after["window_start"] == before["window_start"]
        assert turns.question in turns.model.prompts[0], "the plan knows what was asked before"


async def test_a_follow_up_of_long_ago_stands_for_itself(database: Address, tmp_path: Path) -> None:
    user = "long-ago"
    async with open_turns(database, tmp_path, user=user) as turns:
        await diagnosed(turns, scope=SCOPE)
        clock: Any = turns.app._ports.clock
        assert isinstance(clock, Clock)
        clock.now += timedelta(hours=5)
        begun = await turns.diagnoses.ask("And since when exactly?", Wish())
        assert begun.opened.run is not None
        assert begun.opened.run["previous_id"] is None


async def test_an_empty_question_and_a_missing_tools_file_are_refused_and_keep_nothing(
    database: Address, tmp_path: Path
) -> None:
    async with open_turns(database, tmp_path) as turns:
        with pytest.raises(InputRefused, match="no words"):
            await turns.diagnoses.ask("  \n", Wish())
        turns.app._resources["diagnosis"] = DiagnosisTools(Toolbox([]))
        with pytest.raises(ProbeFailed, match="No tool is configured"):
            await turns.diagnoses.ask(turns.question, Wish())
        assert not await turns.diagnoses.list(limit=10)


FIRING = Alert(
    fingerprint="5f0c0a",
    name="BasketLatencyHigh",
    labels={"alertname": "BasketLatencyHigh", "service": "basket-api"},
    annotations={"summary": "p99 above 2 s"},
    status="firing",
    starts_at=moment("2026-03-04T14:06:00+00:00"),
    ends_at=None,
)


async def test_an_alert_begins_one_diagnosis_however_often_it_is_delivered(
    database: Address, tmp_path: Path
) -> None:
    async with (
        open_turns(database, tmp_path, user="alerted") as turns,
        open_turns(database, tmp_path, user="alerted") as other,
    ):
        delivered = await asyncio.gather(
            *(each.diagnoses.receive([FIRING]) for each in (turns, other, turns))
        )
        (again,) = await turns.diagnoses.receive([FIRING])
        flapping = replace(FIRING, starts_at=FIRING.starts_at + timedelta(minutes=20))
        (soon,) = await turns.diagnoses.receive([flapping])
        later = replace(FIRING, starts_at=FIRING.starts_at + timedelta(hours=3))
        (anew,) = await turns.diagnoses.receive([later])
        taken = [each for (each,) in delivered]
        assert [each.is_new for each in taken].count(True) == 1
        assert len({each.turn_id for each in (*taken, again, soon)}) == 1
        assert (again.is_new, soon.is_new, anew.is_new) == (False, False, True)
        runs = await turns.diagnoses.list(limit=10)
        assert len(runs) == 2
        first = next(run for run in runs if run["id"] == again.turn_id)
        assert (first["origin"], first["scope"]) == ("alert", SCOPE)
        assert first["question"] == question_about(FIRING)
        standing = await turns.diagnoses.advance(first["id"])
        assert standing.proposal is not None


async def test_a_resolved_alert_begins_nothing(database: Address, tmp_path: Path) -> None:
    async with open_turns(database, tmp_path) as turns:
        (taken,) = await turns.diagnoses.receive([replace(FIRING, status="resolved")])
        assert (taken.turn_id, taken.is_new) == (None, False)
        assert not await turns.diagnoses.list(limit=10)


async def test_a_captured_question_is_recognised_and_diagnosed_like_an_asked_one(
    database: Address, tmp_path: Path
) -> None:
    async with open_turns(database, tmp_path) as turns:
        received = await turns.app.receive(
            b"Why is basket-api slow? alerts fire", domain="diagnosis"
        )
        assert received.standing is not None
        assert received.standing.proposal is not None
        assert (await end_of(turns, received.standing))["finding"] == "cause"


async def test_another_user_sees_no_run(database: Address, tmp_path: Path) -> None:
    async with open_turns(database, tmp_path) as turns, open_turns(database, tmp_path) as other:
        standing = await diagnosed(turns, scope=SCOPE)
        assert await other.diagnoses.load(standing.turn_id) is None
        assert not await other.diagnoses.list(limit=10)


async def test_the_steps_of_a_run_are_stored_where_only_its_user_can_read_them(
    database: Address, tmp_path: Path
) -> None:
    async with open_turns(database, tmp_path) as turns, open_turns(database, tmp_path) as other:
        standing = await diagnosed(turns, scope=SCOPE)
        config: Any = {"configurable": {"thread_id": f"{standing.turn_id}/machine"}}
        assert await steps_of(turns, config) > 5
        assert await steps_of(other, config) == 0


async def steps_of(turns: Turns, config: Any) -> int:
    """Count the checkpoints of a thread that a user can read."""
    token = run_user.set(turns.app.user_id)
    try:
        saver = UserCheckpoints(turns.app.database)
        return len([each async for each in saver.alist(config)])
    finally:
        run_user.reset(token)
