"""The step of a diagnosis that says what a second round has to look for."""

from alfred.nodes.evidence_retry.node import evidence_retry_node

__all__ = ["evidence_retry_node"]
