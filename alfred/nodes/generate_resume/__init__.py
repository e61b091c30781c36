"""The node that writes a résumé from what is stored and what this turn proposes."""

from alfred.engine.node import Hooks, node_entry
from alfred.nodes.generate_resume.node import (
    drop_unsupported,
    find_sources,
    is_still_to_apply,
    support_lines,
)

generate_resume_node = node_entry(
    "generate_resume",
    Hooks(
        gate=is_still_to_apply,
        gather=find_sources,
        refine=drop_unsupported,
        support=support_lines,
    ),
)

__all__ = ["generate_resume_node"]
