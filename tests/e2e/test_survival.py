"""Kills and races, with real processes: nothing twice, nothing half, one winner."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

from alfred.app import user_id_of
from alfred.models.scripted import ScriptedModel
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


def start(order: dict[str, Any]) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.processes"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    child.stdin.write(json.dumps(order) + "\n")
    child.stdin.flush()
    return child


def plain(address: Address) -> dict[str, Any]:
    return {**asdict(address), "secret": address.secret.hex()}


async def test_of_two_processes_that_answer_at_once_one_wins_every_time(
    database: Address, tmp_path: Path
) -> None:
    jobs: list[dict[str, Any]] = []
    for _ in range(RACES):
        settings = settings_for(tmp_path)
        async with open_world(database, settings, ScriptedModel([ANSWER])) as app:
            proposal = await capture(app, POSTING)
            jobs.append({"user": settings.user, "proposal": str(proposal.id)})
    orders = [
        {"work": "race", "address": plain(database), "jobs": jobs, "verdict": verdict}
        for verdict in ("approve", "reject")
    ]
    racers = [start(order) for order in orders]
    outcomes: list[tuple[str, ...]] = []
    for _ in jobs:
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n", racer.stderr and racer.stderr.read()
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        outcomes.append(tuple(racer.stdout.readline().strip() for racer in racers if racer.stdout))
    for racer in racers:
        racer.communicate(timeout=30)
    for job, (approver, rejecter) in zip(jobs, outcomes, strict=True):
        user_id = user_id_of(job["user"])
        rows = look(database, "SELECT state FROM proposal WHERE user_id = %s", [user_id])
        states = look(database, "SELECT state FROM action WHERE user_id = %s", [user_id])
        if approver.startswith("won"):
            assert rejecter == "review.conflict"
            assert [row["state"] for row in rows] == ["committed"]
            assert {row["state"] for row in states} == {"committed"}
            assert count(database, "job_posting", user_id) == 1
        else:
            assert (approver, rejecter) == ("review.conflict", "won 0")
            assert [row["state"] for row in rows] == ["rejected"]
            assert count(database, "job_posting", user_id) == 0
            assert count(database, "receipt", user_id) == 0


async def test_a_kill_at_any_wait_for_the_database_leaves_all_or_nothing_and_recovery_commits_once(
    database: Address, tmp_path: Path
) -> None:
    order = {"work": "lives", "address": plain(database), "text": POSTING, "answer": ANSWER}
    nursery = start(order)
    waits = int(live(nursery, f"user-{uuid4()}", 0)[0].removeprefix("waits "))
    assert waits > 100
    endings: Counter[str] = Counter()
    for last in range(1, waits + 1):
        user = f"user-{uuid4()}"
        printed = live(nursery, user, last)
        assert printed[-1] == "ended -9", (last, printed)
        endings[await recover(database, user, tmp_path)] += 1
    nursery.communicate(timeout=30)
    assert endings["recovered"] > endings["nothing stored"] > 0


def live(nursery: subprocess.Popen[str], user: str, last: int) -> list[str]:
    """Let one process live and die; return what it and its parent said."""
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    nursery.stdin.write(json.dumps({"user": user, "last": last}) + "\n")
    nursery.stdin.flush()
    said: list[str] = []
    while not said or not said[-1].startswith("ended "):
        line = nursery.stdout.readline()
        assert line, nursery.stderr and nursery.stderr.read()
        said.append(line.strip())
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
