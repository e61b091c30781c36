"""The job domain as the engine sees it; importing it loads no graph library."""

from __future__ import annotations

from pathlib import Path

from alfred import nodes, store
from alfred.engine.domain import Domain
from alfred.services.application import APPLICATION_KINDS
from alfred.services.company import COMPANY_KINDS
from alfred.services.document import DOCUMENT_KINDS
from alfred.services.experience import EXPERIENCE_KINDS
from alfred.services.interview import INTERVIEW_KINDS
from alfred.services.job_posting import POSTING_KINDS
from alfred.services.memory import MEMORY_KINDS
from alfred.services.message import MESSAGE_KINDS
from alfred.services.reminder import REMINDER_KINDS
from alfred.services.removal import REMOVAL_KINDS
from alfred.services.resume import resume_markdown, resume_sources
from alfred.store.tables.job import VOCABULARIES

DOMAIN = Domain(
    name="job",
    kinds=(
        *COMPANY_KINDS,
        *POSTING_KINDS,
        *EXPERIENCE_KINDS,
        *APPLICATION_KINDS,
        *INTERVIEW_KINDS,
        *REMINDER_KINDS,
        *MEMORY_KINDS,
        *DOCUMENT_KINDS,
        *MESSAGE_KINDS,
        *REMOVAL_KINDS,
    ),
    nodes=Path(nodes.__file__).parent,
    graph="alfred.graphs.job:build_job_graph",
    migrations=Path(store.__file__).parent / "migrations" / "job",
    revision="0003_job_removal",
    shared_tables=VOCABULARIES,
    api="alfred.api.job:make_router",
    filters={"resume_markdown": resume_markdown, "resume_sources": resume_sources},
)
