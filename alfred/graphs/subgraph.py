"""Adding one graph to another as a single node."""

# LangGraph leaves type parameters of its builders open; what goes in and out is typed here.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

from langgraph.graph import StateGraph

from alfred.errors import GraphInvalid


def add_subgraph(
    builder: StateGraph[Any, Any, Any, Any], name: str, graph: StateGraph[Any, Any, Any, Any]
) -> None:
    """Add a graph as one node of another; both share the state's keys and the run's context.

    LangGraph has no such method; its grouped keys are what keeps the outer state from doubling.
    Errors: `graph.invalid` for a graph that LangGraph refuses, such as an edge to no node.
    """
    try:
        compiled = graph.compile()
    except ValueError as error:
        raise GraphInvalid("graph.invalid", f"The graph {name!r} does not hold: {error}") from error
    builder.add_node(name, compiled)
