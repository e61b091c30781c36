"""The outer graph of every turn: dispatch, one domain's graph, propose, review, finish."""

# LangGraph leaves type parameters of its builders open; what goes in and out is typed here.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Annotated, Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from alfred.dispatch.prefilter import Prefilter
from alfred.dispatch.route import choose_domain
from alfred.engine.context import RunContext
from alfred.engine.correction import MAX_CORRECTIONS
from alfred.engine.correction_question import CORRECT
from alfred.engine.guards import LoopBudget, add_bounded_node, merge_entries
from alfred.engine.node_step import told, told_step
from alfred.engine.review import correct, finish, propose, review
from alfred.engine.state import AlfredState, group
from alfred.engine.trace import event
from alfred.graphs.subgraph import add_subgraph

RECURSION_LIMIT = 32


class RootState(AlfredState, total=False):
    """The shared state with the count of this graph's own loop; those of domains' loops are theirs.

    It has a key of its own: what a domain's graph counts begins anew with each attempt.
    """

    corrections: Annotated[dict[str, int], merge_entries]


Builder = StateGraph[Any, Any, Any, Any]


def compile_graph(
    builder: Builder, checkpoints: BaseCheckpointSaver[Any]
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Compile a graph that pauses and resumes."""
    return builder.compile(checkpointer=checkpoints)


def build_root_graph(
    domains: Mapping[str, Builder], prefilter: Prefilter, *, choosy: Set[str] = frozenset()
) -> Builder:
    """Build the root graph over the domains' graphs.

    The `choosy` domains take only what their nodes' rules recognise, or what is given by name.
    The commit point is here and nowhere else: a review inside a parallel domain graph would run
    twice, or never. Whatever a domain proposes passes `propose` and `review`, the only interrupt.
    """

    async def dispatch(state: AlfredState, runtime: Runtime[RunContext]) -> Command[str]:
        """Send the input to the domain that recognises it; its name is data, hence a Command."""
        with told_step(runtime.context, "dispatch") as reached:
            choice = choose_domain(
                state.get("input"), prefilter, sorted(domains), state.get("domain"), choosy=choosy
            )
            reached.reason = choice.reason
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

    builder = StateGraph(RootState, context_schema=RunContext)
    builder.add_node("dispatch", dispatch, destinations=(*sorted(domains), "propose"))
    for name, graph in sorted(domains.items()):
        add_subgraph(builder, name, graph)
        builder.add_edge(name, "propose")
    for name, step in (("propose", propose), ("review", review), ("finish", finish)):
        telling: Any = told(name, step)
        builder.add_node(name, telling)
    budget = LoopBudget(node=CORRECT, entries=MAX_CORRECTIONS, counter="corrections")
    add_bounded_node(builder, budget, told(CORRECT, correct))
    builder.add_edge(START, "dispatch")
    builder.add_edge("propose", "review")
    builder.add_conditional_edges(
        "review", route_after_review, {"corrected": CORRECT, "closed": "finish"}
    )
    builder.add_edge(CORRECT, "dispatch")
    builder.add_edge("finish", END)
    return builder


async def route_after_review(state: RootState) -> Literal["corrected", "closed"]:
    """Go round once more where the person said in words what is wrong."""
    return "corrected" if state.get("is_corrected") else "closed"
