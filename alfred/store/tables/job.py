"""Tables of the job domain: shared vocabularies and a job seeker's private rows."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Date,
    ForeignKeyConstraint,
    Integer,
    SmallInteger,
    UniqueConstraint,
)
from sqlalchemy.schema import SchemaItem

from alfred.engine.tables import (
    belongs_to,
    private_table,
    text_column,
    timestamp,
    uuid_column,
)


def _from_vocabulary(column: str, table: str) -> list[SchemaItem]:
    """Refer to a vocabulary row of the same user or of everybody (the zero user)."""
    owner = f"{column.removesuffix('_id')}_user_id"
    return [
        ForeignKeyConstraint([owner, column], [f"{table}.user_id", f"{table}.id"]),
        CheckConstraint(
            f"{owner} = user_id OR {owner} = '00000000-0000-0000-0000-000000000000'::uuid",
            name=owner,
        ),
    ]


ORGANIZATION = private_table(
    "organization",
    text_column("kind"),
    text_column("name"),
    text_column("name_key"),
    text_column("website", nullable=True),
    UniqueConstraint("user_id", "kind", "name_key"),
    shared=True,
    label=("kind", "name_key"),
)

LOCATION = private_table(
    "location",
    text_column("name"),
    text_column("name_key"),
    text_column("country", nullable=True),
    UniqueConstraint("user_id", "name_key"),
    shared=True,
    label=("name_key",),
)

LOCATION_ALIAS = private_table(
    "location_alias",
    text_column("alias_key"),
    uuid_column("location_id"),
    uuid_column("location_user_id"),
    *_from_vocabulary("location_id", "location"),
    UniqueConstraint("user_id", "alias_key"),
    shared=True,
    label=("alias_key",),
)

SKILL = private_table(
    "skill",
    text_column("name"),
    text_column("name_key"),
    UniqueConstraint("user_id", "name_key"),
    shared=True,
    label=("name_key",),
)

SKILL_ALIAS = private_table(
    "skill_alias",
    text_column("alias_key"),
    uuid_column("skill_id"),
    uuid_column("skill_user_id"),
    *_from_vocabulary("skill_id", "skill"),
    UniqueConstraint("user_id", "alias_key"),
    shared=True,
    label=("alias_key",),
)

OCCUPATION = private_table(
    "occupation",
    text_column("name"),
    text_column("name_key"),
    UniqueConstraint("user_id", "name_key"),
    shared=True,
    label=("name_key",),
)

VOCABULARIES = frozenset(
    table.name for table in (ORGANIZATION, LOCATION, LOCATION_ALIAS, SKILL, SKILL_ALIAS, OCCUPATION)
)

JOB_POSTING = private_table(
    "job_posting",
    text_column("fingerprint"),
    uuid_column("organization_id"),
    uuid_column("organization_user_id"),
    text_column("title"),
    text_column("location_text", nullable=True),
    uuid_column("location_id", nullable=True),
    uuid_column("location_user_id", nullable=True),
    text_column("url", nullable=True),
    Column("deadline", Date, nullable=True),
    *_from_vocabulary("organization_id", "organization"),
    *_from_vocabulary("location_id", "location"),
    UniqueConstraint("user_id", "fingerprint"),
    label=("fingerprint",),
)

JOB_REQUIREMENT = private_table(
    "job_requirement",
    uuid_column("job_posting_id"),
    text_column("kind"),
    text_column("importance"),
    text_column("text"),
    text_column("text_key"),
    uuid_column("skill_id", nullable=True),
    uuid_column("skill_user_id", nullable=True),
    belongs_to("job_posting_id", "job_posting"),
    *_from_vocabulary("skill_id", "skill"),
    CheckConstraint("kind IN ('skill', 'qualification', 'experience')", name="kind"),
    CheckConstraint("importance IN ('must', 'nice')", name="importance"),
    UniqueConstraint("user_id", "job_posting_id", "text_key"),
    label=("text",),
)

EXPERIENCE = private_table(
    "experience",
    text_column("organization", nullable=True),
    text_column("role", nullable=True),
    text_column("period", nullable=True),
    text_column("summary"),
    text_column("raw_text"),
    text_column("text_key"),
    UniqueConstraint("user_id", "text_key"),
    label=("text_key",),
)

APPLICATION = private_table(
    "application",
    uuid_column("job_posting_id"),
    text_column("status"),
    text_column("channel", nullable=True),
    Column("applied_on", Date, nullable=True),
    belongs_to("job_posting_id", "job_posting"),
    CheckConstraint(
        "status IN ('saved', 'applied', 'interviewing', 'offer', 'rejected', 'withdrawn')",
        name="status",
    ),
    UniqueConstraint("user_id", "job_posting_id"),
    label=("status",),
)

INTERVIEW = private_table(
    "interview",
    uuid_column("application_id"),
    Column("round", SmallInteger, nullable=False),
    text_column("mode", nullable=True),
    text_column("place", nullable=True),
    timestamp("starts_at"),
    belongs_to("application_id", "application"),
    UniqueConstraint("user_id", "application_id", "round"),
    label=("round",),
)

DOCUMENT = private_table(
    "document",
    text_column("kind"),
    text_column("title"),
    UniqueConstraint("user_id", "kind", "title"),
    label=("kind", "title"),
)

DOCUMENT_VERSION = private_table(
    "document_version",
    uuid_column("document_id"),
    Column("version", Integer, nullable=False),
    uuid_column("parent_id", nullable=True),
    uuid_column("job_posting_id", nullable=True),
    text_column("markdown"),
    text_column("checksum"),
    belongs_to("document_id", "document"),
    belongs_to("parent_id", "document_version"),
    # What was written for a posting is the user's own and outlives it.
    belongs_to("job_posting_id", "job_posting", ondelete="SET NULL (job_posting_id)"),
    UniqueConstraint("user_id", "document_id", "version"),
    append_only=True,
    label=("version",),
)

DOCUMENT_LINE = private_table(
    "document_line",
    uuid_column("version_id"),
    Column("line", Integer, nullable=False),
    text_column("source_table"),
    uuid_column("source_id"),
    belongs_to("version_id", "document_version"),
    UniqueConstraint("user_id", "version_id", "line", "source_table", "source_id"),
    append_only=True,
)
"""The fact, experience or row that a line of a document rests on; lines count from 1."""
