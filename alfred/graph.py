"""What a domain's graph is written with, beside LangGraph's own API; importing it is slow."""

from __future__ import annotations

from typing import Any

from langgraph.graph import StateGraph

from alfred.engine.context import RunContext
from alfred.engine.guards import Counted, LoopBudget, add_bounded_node
from alfred.engine.node import Hooks, Skip, node_entry
from alfred.engine.state import AlfredState, read_extracted, read_pending_actions

__all__ = [
    "AlfredGraph",
    "AlfredState",
    "Counted",
    "Hooks",
    "LoopBudget",
    "RunContext",
    "Skip",
    "add_bounded_node",
    "node_step",
    "read_extracted",
    "read_pending_actions",
]

AlfredGraph = StateGraph[AlfredState, RunContext, AlfredState, AlfredState]
"""A domain's graph, not yet compiled."""


def node_step(name: str, hooks: Hooks | None = None) -> Any:
    """Make the step that runs a node; its type is one that LangGraph runs and has no name for."""
    return node_entry(name, hooks)
