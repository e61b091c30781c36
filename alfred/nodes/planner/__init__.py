"""The step of a diagnosis that plans which tools to ask."""

from alfred.nodes.planner.node import planner_node

__all__ = ["planner_node"]
