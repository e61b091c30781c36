"""What a child process of the tests of records runs: lives that end at any wait for the server."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any
from uuid import UUID

from alfred.engine.executor import ActionExecutor, Batch
from alfred.store.address import Address
from alfred.store.pools import Pools
from tests.diagnosis_records import KINDS, whole_run
from tests.job_world import NOW
from tests.processes import Mortality


async def live(address: Address, life: dict[str, Any]) -> None:
    """Record a whole run; die at the given wait, 0 for never."""
    run = UUID(life["run"])
    async with Pools(address) as pools:
        executor = ActionExecutor(pools, KINDS)
        Mortality.begin(life["last"])
        await executor.record(
            Batch(user_id=UUID(life["user"]), now=NOW, actions=list(whole_run(run)))
        )
        count = Mortality.waits
    Mortality.last = 0
    print(f"waits {count}", flush=True)


def main() -> None:
    """Fork one life a line of standing input, after the address."""
    given: dict[str, Any] = json.loads(sys.stdin.readline())
    given["secret"] = bytes.fromhex(given["secret"])
    address = Address(**given)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            asyncio.run(live(address, json.loads(line)))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    main()
