"""The node that keeps what the user says they have done."""

from alfred.engine.node import Hooks, node_entry
from alfred.nodes.capture_experience.node import keep_told, tells_experience

capture_experience_node = node_entry(
    "capture_experience", Hooks(gate=tells_experience, refine=keep_told)
)

__all__ = ["capture_experience_node"]
