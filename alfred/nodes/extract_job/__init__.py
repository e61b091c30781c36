"""The node that reads a job posting."""

from alfred.engine.node import Hooks, node_entry
from alfred.nodes.extract_job.node import (
    find_address,
    has_something_to_read,
    read_known,
    settle_answer,
)

extract_job_node = node_entry(
    "extract_job",
    Hooks(
        known=read_known,
        gate=has_something_to_read,
        gather=find_address,
        refine=settle_answer,
    ),
)

__all__ = ["extract_job_node"]
