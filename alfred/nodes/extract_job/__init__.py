"""The node that reads a job posting."""

from alfred.engine.node import Hooks, node_entry
from alfred.nodes.extract_job.node import find_address, has_something_to_read, settle_choices
from alfred.nodes.extract_job.schema_org import read_job_posting

extract_job_node = node_entry(
    "extract_job",
    Hooks(
        known=read_job_posting,
        gate=has_something_to_read,
        gather=find_address,
        refine=settle_choices,
    ),
)

__all__ = ["extract_job_node"]
