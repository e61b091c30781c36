"""The outer graph of every turn: dispatch, one domain's graph, propose, review, finish."""

# LangGraph leaves type parameters of its builders open; what goes in and out is typed here.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from alfred.dispatch.prefilter import Prefilter
from alfred.dispatch.route import choose_domain
from alfred.engine.context import RunContext
from alfred.engine.review import finish, propose, review
from alfred.engine.state import AlfredState, group
from alfred.engine.trace import event
from alfred.graphs.subgraph import add_subgraph

RECURSION_LIMIT = 32

Builder = StateGraph[Any, Any, Any, Any]


def compile_graph(
    builder: Builder, checkpoints: BaseCheckpointSaver[Any]
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Compile a graph that pauses and resumes."""
    return builder.compile(checkpointer=checkpoints)


def build_root_graph(domains: Mapping[str, Builder], prefilter: Prefilter) -> Builder:
    """Build the root graph over the domains' graphs.

    The commit point is here and nowhere else: a review inside a parallel domain graph would run
    twice, or never. Whatever a domain proposes passes `propose` and `review`, the only interrupt.
    """

    async def dispatch(state: AlfredState, runtime: Runtime[RunContext]) -> Command[str]:
        """Send the input to the domain that recognises it; its name is data, hence a Command."""
        choice = choose_domain(state.get("input"), prefilter, sorted(domains))
        attempt = state.get("attempt", 0)
        outcome = "COMPLETED" if choice.domain else "REJECTED"
        decided = event("dispatch", outcome, choice.reason, attempt=attempt, step=0)
        update = {
            "domain": choice.domain,
            "matched": list(choice.matched),
            "events": group("dispatch", attempt, 0, [decided]),
            "errors": group("dispatch", attempt, 0, [choice.problem] if choice.problem else []),
        }
        return Command(goto=choice.domain or "propose", update=update)

    builder = StateGraph(AlfredState, context_schema=RunContext)
    builder.add_node("dispatch", dispatch, destinations=(*sorted(domains), "propose"))
    for name, graph in sorted(domains.items()):
        add_subgraph(builder, name, graph)
        builder.add_edge(name, "propose")
    builder.add_node("propose", propose)
    builder.add_node("review", review)
    builder.add_node("finish", finish)
    builder.add_edge(START, "dispatch")
    builder.add_edge("propose", "review")
    builder.add_edge("review", "finish")
    builder.add_edge("finish", END)
    return builder
