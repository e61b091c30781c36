"""The node that records where the user stands with the posting of the turn."""

from alfred.engine.node import Hooks, node_entry
from alfred.nodes.record_application.node import find_posting, settle_status, support_values

record_application_node = node_entry(
    "record_application",
    Hooks(gather=find_posting, refine=settle_status, support=support_values),
)

__all__ = ["record_application_node"]
