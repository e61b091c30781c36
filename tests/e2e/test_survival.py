"""Kills and races, with real processes: nothing twice, nothing half, one winner."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

from alfred.app import user_id_of
from alfred.models.scripted import ScriptedModel
from alfred.settings import Settings
from alfred.store.address import Address
from tests.world import capture, count, look, open_world, settings_for

ROOT = Path(__file__).parents[2]
RACES = 100
ANSWER = json.dumps(
    {
        "company": "Fernwood Robotics",
        "title": "Firmware Engineer",
        "location": "Graz",
        "deadline": None,
        "user_intent": None,
        "requirements": [
            {"kind": "skill", "text": "Rust on microcontrollers", "importance": "must"},
            {"kind": "skill", "text": "an oscilloscope at home", "importance": "nice"},
        ],
    }
)
POSTING = (
    "We are hiring! Fernwood Robotics in Graz looks for a Firmware Engineer. You know Rust on"
    " microcontrollers; an oscilloscope at home is nice to have."
)


@contextmanager
def child(
    order: dict[str, Any], module: str = "tests.processes"
) -> Generator[subprocess.Popen[str]]:
    """Run a module that does what the order says; it ends with the test, whatever happens."""
    with subprocess.Popen(
        [sys.executable, "-m", module],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            tell(process, json.dumps(order))
            yield process
        finally:
            process.kill()


def tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the process ended; its error stands above"
    return line.strip()


def plain(address: Address) -> dict[str, Any]:
    return {**asdict(address), "secret": address.secret.hex()}


async def test_of_two_processes_that_answer_at_once_one_wins_every_time(
    database: Address, settings: Settings
) -> None:
    names = [f"Fernwood Robotics {number}" for number in range(RACES)]
    answers = [ANSWER.replace("Fernwood Robotics", name) for name in names]
    async with open_world(database, settings, ScriptedModel(answers)) as app:
        proposals = [
            await capture(app, POSTING.replace("Fernwood Robotics", name)) for name in names
        ]
    order = {
        "work": "race",
        "address": plain(database),
        "user": settings.user,
        "proposals": [str(proposal.id) for proposal in proposals],
    }
    approving_order, rejecting_order = ({**order, "verdict": v} for v in ("approve", "reject"))
    outcomes: list[tuple[str, str]] = []
    with child(approving_order) as approving, child(rejecting_order) as rejecting:
        for _ in proposals:
            assert (hear(approving), hear(rejecting)) == ("ready", "ready")
            tell(approving, "go")
            tell(rejecting, "go")
            outcomes.append((hear(approving), hear(rejecting)))
    expected = {
        (f"won {len(proposals[0].actions)}", "review.conflict"): "committed",
        ("review.conflict", "won 0"): "rejected",
    }
    assert set(outcomes) <= set(expected)
    for proposal, outcome in zip(proposals, outcomes, strict=True):
        (row,) = look(database, "SELECT state FROM proposal WHERE id = %s", [proposal.id])
        actions = look(database, "SELECT state FROM action WHERE proposal_id = %s", [proposal.id])
        receipts = look(database, "SELECT 1 FROM receipt WHERE proposal_id = %s", [proposal.id])
        assert row["state"] == expected[outcome]
        assert {action["state"] for action in actions} == {expected[outcome]}
        assert len(receipts) == (len(actions) if expected[outcome] == "committed" else 0)
    won = sum(expected[outcome] == "committed" for outcome in outcomes)
    assert count(database, "job_posting", user_id_of(settings.user)) == won


async def test_a_kill_at_any_wait_for_the_database_leaves_all_or_nothing_and_recovery_commits_once(
    database: Address, tmp_path: Path
) -> None:
    order = {"work": "lives", "address": plain(database), "text": POSTING, "answer": ANSWER}
    endings: Counter[str] = Counter()
    with child(order) as nursery:
        waits = int(live(nursery, f"user-{uuid4()}", 0)[0].removeprefix("waits "))
        assert waits > 100
        for last in range(1, waits + 1):
            user = f"user-{uuid4()}"
            said = live(nursery, user, last)
            assert said[-1] == "ended -9", (last, said)
            endings[await recover(database, user, tmp_path)] += 1
    assert endings["recovered"] > endings["nothing stored"] > 0


def live(nursery: subprocess.Popen[str], user: str, last: int) -> list[str]:
    """Let one process live and die; return what it and its parent said."""
    tell(nursery, json.dumps({"user": user, "last": last}))
    said = [hear(nursery)]
    while not said[-1].startswith("ended "):
        said.append(hear(nursery))
    return said


async def recover(database: Address, user: str, home: Path) -> str:
    """Let the next process pick up what the killed one left; then look from outside."""
    user_id = user_id_of(user)
    partial = count(database, "job_posting", user_id), count(database, "receipt", user_id)
    assert partial in {(0, 0), (1, partial[1])}
    assert (partial[0] == 0) == (partial[1] == 0)
    async with open_world(database, settings_for(home, user), ScriptedModel([ANSWER])) as app:
        if not count(database, "turn", user_id):
            return "nothing stored"
        await app.drain()
        await app.drain()
        (row,) = look(
            database,
            "SELECT id, turn_id, state, digest FROM proposal WHERE user_id = %s",
            [user_id],
        )
        if row["state"] == "pending":
            proposal = await app.approvals.load(user_id, row["id"])
            await app.approvals.decide(
                row["id"],
                {action.id: "approve" for action in proposal.actions},
                seen=proposal.digest,
                actor=app.actor,
            )
            await app.settle(row["id"])
        standing = await app.advance(row["turn_id"])
        assert (standing.state, standing.outcome) == ("done", "committed")
    expected = {"organization": 1, "job_posting": 1, "job_requirement": 2, "proposal": 1}
    assert {table: count(database, table, user_id) for table in expected} == expected
    actions = look(database, "SELECT state FROM action WHERE user_id = %s", [user_id])
    assert {action["state"] for action in actions} == {"committed"}
    assert count(database, "receipt", user_id) == len(actions)
    turns = look(database, "SELECT state, resume_due FROM turn WHERE user_id = %s", [user_id])
    assert turns == [{"state": "done", "resume_due": False}]
    assert count(database, "model_call", user_id) == 1
    return "recovered"
