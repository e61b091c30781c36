"""The step of a diagnosis that decides what may count as evidence."""

from alfred.nodes.gatekeeper.node import gatekeeper_node

__all__ = ["gatekeeper_node"]
