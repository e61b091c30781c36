"""Loops that cannot run away: a node declares how often it may be entered, a wrapper counts."""

# LangGraph leaves type parameters of its builders open; what goes in and out is typed here.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from langgraph.graph import StateGraph
from langgraph.runtime import Runtime

from alfred.engine.context import RunContext
from alfred.errors import LoopExhausted

NodeFunction = Callable[[Any, Runtime[RunContext]], Awaitable[dict[str, Any]]]

ENTRIES = "loop_entries"
"""The metadata key under which a node's budget stands, where `alfred check` reads it."""


def merge_entries(held: dict[str, int] | None, update: dict[str, int] | None) -> dict[str, int]:
    """Keep the highest count of each loop, so that passing through a subgraph adds nothing."""
    merged = dict(held or {})
    for name, count in (update or {}).items():
        merged[name] = max(count, merged.get(name, 0))
    return merged


class Counted(TypedDict, total=False):
    """The part of a state that counts loops; a graph with a loop includes it."""

    entries: Annotated[dict[str, int], merge_entries]


@dataclass(frozen=True, kw_only=True)
class LoopBudget:
    """How often a node may be entered in one run: once, and once more per round of its loop.

    `counter` is the state's key that holds the count; a loop around other graphs needs its own, or
    theirs would go on counting where they left off the round before.
    """

    node: str
    entries: int
    counter: str = "entries"


def add_bounded_node(
    builder: StateGraph[Any, Any, Any, Any], budget: LoopBudget, function: NodeFunction
) -> None:
    """Add a node that a loop passes; entering it beyond its budget is an error, not a silence."""
    counted: Any = bounded(budget, function)
    builder.add_node(budget.node, counted, metadata={ENTRIES: budget.entries})


def bounded(budget: LoopBudget, function: NodeFunction) -> NodeFunction:
    """Count a node's entries in the wrapper, so that the node can't forget or forge them."""

    async def counted(state: Any, runtime: Runtime[RunContext]) -> dict[str, Any]:
        entered = state.get(budget.counter, {}).get(budget.node, 0) + 1
        if entered > budget.entries:
            raise LoopExhausted(
                "graph.budget",
                f"The node {budget.node!r} was entered {entered} times;"
                f" its budget is {budget.entries}.",
                hint="A guard of the loop lets through what it should stop.",
            )
        update = await function(state, runtime)
        return {**update, budget.counter: {budget.node: entered}}

    return counted
