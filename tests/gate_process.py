"""Child processes of the gate's tests: lives that decide, resume, and end at any wait."""

from __future__ import annotations

import asyncio
import json
import os
import sys

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from alfred.gate import open_gate
from examples.review_gate.stock import build_graph, take_out
from tests.processes import Mortality


async def live(url: str, proposal_id: str, last: int) -> None:
    """Approve a proposal and resume its run; die at the `last`-th wait for the server, 0: never."""
    async with (
        open_gate(url, [take_out]) as gate,
        AsyncPostgresSaver.from_conn_string(url) as saver,
    ):
        graph = build_graph(gate).compile(checkpointer=saver)
        proposal = await gate.load(proposal_id)
        Mortality.begin(last)
        decided = await gate.decide(proposal, "approve", by="ana")
        await gate.resume(graph, decided)
        count = Mortality.waits
        Mortality.last = 0
    sys.stdout.write(f"waits {count}\n")
    sys.stdout.flush()


def main() -> None:
    """Fork one life a line of standard input, with everything imported."""
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            asyncio.run(live(order["url"], order["proposal"], order["last"]))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    main()
