"""A worker in a process of its own, with a quick pulse and a model that a test answers for."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from alfred.app import Ports
from alfred.engine.language_model import Completion, ModelRequest, TextSink
from alfred.installed import load_domains
from alfred.models.scripted import ScriptedModel
from alfred.server.hall import Hall
from alfred.store.address import Address
from alfred.store.pools import Pools
from alfred.worker.pace import Pace
from alfred.worker.service import run_worker
from tests.world import Clock, settings_for

QUICK = Pace(beat_s=0.5, lease_s=6.0, grace_s=1.0)
"""Short, and long enough for a machine that has much else to do."""


class HeldModel(ScriptedModel):
    """Says on standard output that it is asked, and answers once a file is there."""

    def __init__(self, answer: str, released: Path) -> None:
        super().__init__([answer] * 50)
        self._released = released

    async def complete(self, request: ModelRequest, on_text: TextSink | None = None) -> Completion:
        print("asked", flush=True)
        while not self._released.exists():
            await asyncio.sleep(0.02)
        print("answers", flush=True)
        return await super().complete(request, on_text)


async def work(address: Address, order: dict[str, Any]) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    model = HeldModel(order["answer"], Path(order["released"]))
    settings = settings_for(Path("/nonexistent"), order["user"])
    async with Pools(address) as pools:
        hall = Hall(settings, load_domains(), pools, Ports(clock=Clock(), model=model))
        _ = hall.first.runs  # LangGraph's import would keep the loop busy under the lease
        print("ready", flush=True)
        # One without a pulse is taken for dead and never finds out.
        pace = QUICK if order["has_pulse"] else replace(QUICK, beat_s=1_000)
        await run_worker(hall, stop, pace=pace)
    print("stopped", flush=True)


def main() -> None:
    order = json.loads(sys.stdin.readline())
    address = Address(**{**order["address"], "secret": bytes.fromhex(order["address"]["secret"])})
    asyncio.run(work(address, order))


if __name__ == "__main__":
    main()
