"""The step of a diagnosis that says what was tried where there is no answer."""

from alfred.nodes.fallback.node import fallback_node

__all__ = ["fallback_node"]
