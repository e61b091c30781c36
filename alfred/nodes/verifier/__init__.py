"""The step of a diagnosis that checks every fact against its evidence."""

from alfred.nodes.verifier.node import verifier_node

__all__ = ["verifier_node"]
