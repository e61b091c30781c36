"""The step of a diagnosis that hands the verifier claims and evidence, and nothing else."""

from alfred.nodes.verified_input.node import verified_input_node

__all__ = ["verified_input_node"]
