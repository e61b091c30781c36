"""The step of a diagnosis that asks the tools and states what they show."""

from alfred.nodes.executor.node import executor_node

__all__ = ["executor_node"]
