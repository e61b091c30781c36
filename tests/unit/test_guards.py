from __future__ import annotations

from typing import Any, cast

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from alfred.engine.context import RunContext
from alfred.engine.guards import Counted, LoopBudget, add_bounded_node, bounded, merge_entries
from alfred.errors import LoopExhausted

NO_RUNTIME = cast("Runtime[RunContext]", None)


class Rounds(Counted, total=False):
    rounds: int


async def forget(_: Any, __: Runtime[RunContext]) -> dict[str, Any]:
    """Try to forge the count: the wrapper's word stands."""
    return {"entries": {"work": 0}, "seen": True}


async def test_a_node_is_entered_as_often_as_its_budget_says_and_no_more() -> None:
    counted = bounded(LoopBudget(node="work", entries=2), forget)
    state: dict[str, Any] = {}
    for entered in (1, 2):
        update = await counted(state, NO_RUNTIME)
        assert update == {"entries": {"work": entered}, "seen": True}
        state["entries"] = merge_entries(state.get("entries"), update["entries"])
    with pytest.raises(LoopExhausted, match="entered 3 times") as caught:
        await counted(state, NO_RUNTIME)
    assert caught.value.code == "graph.budget"


def test_counts_of_the_same_loop_never_fall_and_never_add_up() -> None:
    assert merge_entries({"a": 2, "b": 1}, {"a": 1, "c": 1}) == {"a": 2, "b": 1, "c": 1}
    assert merge_entries(None, None) == {}


async def test_a_loop_that_never_stops_of_itself_ends_with_its_name_in_a_real_run() -> None:
    async def work(state: Rounds, _: Runtime[RunContext]) -> dict[str, Any]:
        return {"rounds": state.get("rounds", 0) + 1}

    async def again(_: Rounds) -> str:
        return "work"

    builder = StateGraph(Rounds)
    add_bounded_node(builder, LoopBudget(node="work", entries=3), work)
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", again, {"work": "work", "end": END})
    with pytest.raises(LoopExhausted, match="'work' was entered 4 times"):
        await builder.compile().ainvoke({"rounds": 0}, {"recursion_limit": 20})
