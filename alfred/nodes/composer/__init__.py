"""The step of a diagnosis that writes the answer."""

from alfred.nodes.composer.node import composer_node

__all__ = ["composer_node"]
