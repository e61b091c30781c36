"""A stock keeper's own graph, with Alfred's review gate in front of the one write it has."""

import asyncio
import sys
from typing import TypedDict

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import StateGraph
from sqlalchemy import Column, Integer, MetaData, Table, Text

from alfred.gate import Act, ActionRefused, Arguments, Gate, HostRows, open_gate

PART = Table("part", MetaData(), Column("sku", Text, primary_key=True), Column("held", Integer))


class TakeOut(Arguments):
    sku: str
    count: int


async def take_out(rows: HostRows, args: TakeOut) -> None:
    part = await rows.get(PART, {"sku": args.sku})
    if not 0 < args.count <= part["held"]:
        raise ActionRefused("action.state", f"{args.count} of {part['held']} can't be taken out.")
    await rows.change(PART, part, {"held": part["held"] - args.count})


class State(TypedDict, total=False):
    words: str
    proposal: str
    outcome: str


def build_graph(gate: Gate) -> StateGraph[State]:
    async def propose(state: State) -> State:
        *_, count, sku = state["words"].split()  # their model would stand here
        act = Act("take_out", {"sku": sku, "count": int(count)})
        proposal = await gate.propose([act], source=state["words"])
        return {"proposal": str(proposal.id)}

    async def review(state: State) -> State:
        return {"outcome": (await gate.review(state["proposal"])).state}

    return StateGraph(State).add_sequence([propose, review]).set_entry_point("propose")


async def main(url: str, order: str, words: str) -> None:
    async with open_gate(url, [take_out]) as gate, AsyncPostgresSaver.from_conn_string(url) as runs:
        await runs.setup()
        graph = build_graph(gate).compile(checkpointer=runs)
        await graph.ainvoke(State(words=words), {"configurable": {"thread_id": order}})
        for proposal in await gate.pending():
            print(*(action.problem or action.effects for action in proposal.actions))
            verdict = "approve" if input("Approve? [y/n] ") == "y" else "reject"
            print(await gate.resume(graph, await gate.decide(proposal, verdict, by="me")))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
