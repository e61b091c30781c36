"""`alfred job`: questions about stored postings, and the few changes that need no text."""

from __future__ import annotations

import click

from alfred.cli import (
    job_about,
    job_delete,
    job_documents,
    job_due,
    job_funnel,
    job_list,
    job_match,
    job_set_status,
    job_show,
)


@click.group("job")
def command() -> None:
    """Ask about stored postings, and change them; no model is needed.

    A POSTING is named by its number in the list, the beginning of its id, its address, or words
    of company, title and place.
    """


for _module in (
    *(job_list, job_show, job_match, job_due, job_funnel, job_documents, job_about),
    *(job_set_status, job_delete),
):
    command.add_command(_module.command)
