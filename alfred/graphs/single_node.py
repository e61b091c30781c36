"""One node of a domain's graph alone: no dispatch, no review, nothing that writes."""

# LangGraph leaves type parameters of its builders open; what goes in and out is typed here.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph

from alfred.engine.context import RunContext
from alfred.engine.skill_input import SkillInput
from alfred.engine.state import AlfredState
from alfred.errors import ManifestInvalid

RECURSION_LIMIT = 8


class SingleNode:
    """Runs the step that a graph registers under a node's name, as that graph would run it."""

    def __init__(self, builder: StateGraph[Any, Any, Any, Any], name: str) -> None:
        """Errors: `manifest.missing` where the graph has no such step."""
        if name not in builder.nodes:
            raise ManifestInvalid(
                "manifest.missing",
                f"the graph has no step {name!r}.",
                hint=f"It has {', '.join(sorted(builder.nodes))}.",
            )
        alone = StateGraph(AlfredState, context_schema=RunContext)
        alone.add_node(name, builder.nodes[name].runnable)
        alone.add_edge(START, name)
        alone.add_edge(name, END)
        self._graph = alone.compile()

    async def run(self, given: SkillInput, matched: list[str], context: RunContext) -> AlfredState:
        """Run the node over an input; `matched` are the nodes whose match rules fired."""
        state: Any = await self._graph.ainvoke(
            {"input": given, "matched": matched},
            {"recursion_limit": RECURSION_LIMIT},
            context=context,
        )
        return state
