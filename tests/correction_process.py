"""What child processes of the tests of corrections run: races, and lives that end at any wait."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import UUID

from alfred.errors import ReviewRefused
from alfred.models.scripted import ScriptedModel
from alfred.store.address import Address
from tests.processes import Mortality
from tests.world import open_world, settings_for


async def race(address: Address, order: dict[str, Any]) -> None:
    """Correct each proposal the moment the other process does; say how each ended."""
    settings = settings_for(Path("/nonexistent"), order["user"])
    async with open_world(address, settings, ScriptedModel([])) as app:
        for proposal_id in order["proposals"]:
            proposal = await app.approvals.load(app.user_id, UUID(proposal_id))
            print("ready", flush=True)
            sys.stdin.readline()
            try:
                await app.approvals.correct(
                    proposal.id, order["words"], seen=proposal.digest, actor=app.actor
                )
                outcome = "won"
            except ReviewRefused as error:
                outcome = error.code
            print(outcome, flush=True)


async def live(address: Address, job: dict[str, Any], order: dict[str, Any]) -> None:
    """Correct a captured text's proposal and run on; die at the given wait, 0 for never."""
    settings = settings_for(Path("/nonexistent"), job["user"])
    model = ScriptedModel([order["answer"]])
    async with open_world(address, settings, model) as app:
        proposal = await app.approvals.load(app.user_id, UUID(job["proposal"]))
        Mortality.begin(job["last"])
        await app.correct(proposal.id, order["words"], seen=proposal.digest)
        count = Mortality.waits
    Mortality.last = 0
    print(f"waits {count}", flush=True)


def lives(address: Address, order: dict[str, Any]) -> None:
    """Fork one life a line of standing input: a fresh process each, with everything imported."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            asyncio.run(live(address, json.loads(line), order))
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
        for module in ("job", "root", "runs"):
            import_module(f"alfred.graphs.{module}")
        lives(address, order)


if __name__ == "__main__":
    main()
