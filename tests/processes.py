"""What child processes of tests run: racing decisions, and lives that end at any statement."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from alfred.engine.decision_rules import Verdict
from alfred.errors import ReviewRefused
from alfred.models.scripted import ScriptedModel
from alfred.store.address import Address
from tests.world import Clock, open_world, settings_for


class Mortality:
    """Ends this process by SIGKILL at the n-th wait for the server; 0 for never."""

    waits = 0
    last = 0

    @classmethod
    def begin(cls, last: int) -> None:
        cls.waits, cls.last = 0, last
        kept = psycopg.AsyncConnection.wait

        async def wait(self: Any, gen: Any, interval: float = 0.1) -> Any:
            cls.count()
            result = await kept(self, gen, interval)
            cls.count()
            return result

        psycopg.AsyncConnection.wait = wait  # type: ignore[method-assign]  # the driver's, not ours

    @classmethod
    def count(cls) -> None:
        cls.waits += 1
        if cls.waits == cls.last:
            os.kill(os.getpid(), signal.SIGKILL)


async def live(address: Address, user: str, text: str, answer: str, last: int) -> None:
    """Capture, approve everything, commit, resume; die at the `last`-th wait, 0 for never."""
    settings = settings_for(Path("/nonexistent"), user)
    async with open_world(address, settings, ScriptedModel([answer])) as app:
        Mortality.begin(last)
        received = await app.receive(text.encode())
        assert received.standing is not None
        proposal = received.standing.proposal
        assert proposal is not None
        await app.approvals.decide(
            proposal.id,
            {action.id: "approve" for action in proposal.actions},
            seen=proposal.digest,
            actor=app.actor,
        )
        await app.settle(proposal.id)
        count = Mortality.waits
    Mortality.last = 0
    sys.stdout.write(f"waits {count}\n")
    sys.stdout.flush()


async def race(address: Address, order: dict[str, Any]) -> None:
    """Answer each proposal the moment the other process does; say how each ended."""
    verdict: Verdict = order["verdict"]
    clock = Clock(datetime.fromisoformat(order["now"])) if "now" in order else Clock()
    settings = settings_for(Path("/nonexistent"), order["user"])
    async with open_world(address, settings, ScriptedModel([]), clock=clock) as app:
        for proposal_id in order["proposals"]:
            proposal = await app.approvals.load(app.user_id, UUID(proposal_id))
            print("ready", flush=True)
            sys.stdin.readline()
            try:
                await app.approvals.decide(
                    proposal.id,
                    {action.id: verdict for action in proposal.actions},
                    seen=proposal.digest,
                    actor=app.actor,
                )
                written = await app.approvals.commit(app.user_id, proposal.id)
                outcome = f"won {len(written)}"
            except ReviewRefused as error:
                outcome = error.code
            print(outcome, flush=True)


def lives(address: Address, order: dict[str, Any]) -> None:
    """Fork one life a line of standing input: a fresh process each, with everything imported."""
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            asyncio.run(live(address, job["user"], order["text"], order["answer"], job["last"]))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


def main() -> None:
    """Do what standard input's first line asks for."""
    order = json.loads(sys.stdin.readline())
    address = Address(**{**order["address"], "secret": bytes.fromhex(order["address"]["secret"])})
    if order["work"] == "race":
        asyncio.run(race(address, order))
    else:
        # Imported once, so that a fork starts at once.
        for module in ("job", "root", "runs"):
            import_module(f"alfred.graphs.{module}")
        lives(address, order)


if __name__ == "__main__":
    main()
