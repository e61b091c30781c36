"""The job domain's tables: vocabularies, postings, experience, applications, documents."""

from __future__ import annotations

from alembic import op

from alfred.engine.database import Role
from alfred.store.row_security import APPEND, ERASE, READ, grant, protect

revision = "0001_job"
down_revision = None
branch_labels = ("job",)
depends_on = ("0001_kernel",)

DDL = """
CREATE TABLE document (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT document_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT document_user_id_kind_title_key UNIQUE (user_id, kind, title)
);

CREATE TABLE experience (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    organization TEXT,
    role TEXT,
    period TEXT,
    summary TEXT NOT NULL,
    raw_text TEXT NOT NULL,
    text_key TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT experience_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT experience_user_id_text_key_key UNIQUE (user_id, text_key)
);

CREATE TABLE location (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    country TEXT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT location_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT location_user_id_name_key_key UNIQUE (user_id, name_key)
);

CREATE TABLE occupation (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT occupation_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT occupation_user_id_name_key_key UNIQUE (user_id, name_key)
);

CREATE TABLE organization (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    website TEXT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT organization_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT organization_user_id_kind_name_key_key UNIQUE (user_id, kind, name_key)
);

CREATE TABLE skill (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT skill_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT skill_user_id_name_key_key UNIQUE (user_id, name_key)
);

CREATE TABLE job_posting (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    fingerprint TEXT NOT NULL,
    organization_id UUID NOT NULL,
    organization_user_id UUID NOT NULL,
    title TEXT NOT NULL,
    location_text TEXT,
    location_id UUID,
    location_user_id UUID,
    url TEXT,
    deadline DATE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT job_posting_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT job_posting_organization_user_id_organization_id_fkey FOREIGN KEY(organization_user_id, organization_id) REFERENCES organization (user_id, id),
    CONSTRAINT job_posting_organization_user_id_check CHECK (organization_user_id = user_id OR organization_user_id = '00000000-0000-0000-0000-000000000000'::uuid),
    CONSTRAINT job_posting_location_user_id_location_id_fkey FOREIGN KEY(location_user_id, location_id) REFERENCES location (user_id, id),
    CONSTRAINT job_posting_location_user_id_check CHECK (location_user_id = user_id OR location_user_id = '00000000-0000-0000-0000-000000000000'::uuid),
    CONSTRAINT job_posting_user_id_fingerprint_key UNIQUE (user_id, fingerprint)
);

CREATE TABLE location_alias (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    alias_key TEXT NOT NULL,
    location_id UUID NOT NULL,
    location_user_id UUID NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT location_alias_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT location_alias_location_user_id_location_id_fkey FOREIGN KEY(location_user_id, location_id) REFERENCES location (user_id, id),
    CONSTRAINT location_alias_location_user_id_check CHECK (location_user_id = user_id OR location_user_id = '00000000-0000-0000-0000-000000000000'::uuid),
    CONSTRAINT location_alias_user_id_alias_key_key UNIQUE (user_id, alias_key)
);

CREATE TABLE skill_alias (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    alias_key TEXT NOT NULL,
    skill_id UUID NOT NULL,
    skill_user_id UUID NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT skill_alias_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT skill_alias_skill_user_id_skill_id_fkey FOREIGN KEY(skill_user_id, skill_id) REFERENCES skill (user_id, id),
    CONSTRAINT skill_alias_skill_user_id_check CHECK (skill_user_id = user_id OR skill_user_id = '00000000-0000-0000-0000-000000000000'::uuid),
    CONSTRAINT skill_alias_user_id_alias_key_key UNIQUE (user_id, alias_key)
);

CREATE TABLE application (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    job_posting_id UUID NOT NULL,
    status TEXT NOT NULL,
    channel TEXT,
    applied_on DATE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT application_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT application_user_id_job_posting_id_fkey FOREIGN KEY(user_id, job_posting_id) REFERENCES job_posting (user_id, id) ON DELETE CASCADE,
    CONSTRAINT application_status_check CHECK (status IN ('saved', 'applied', 'interviewing', 'offer', 'rejected', 'withdrawn')),
    CONSTRAINT application_user_id_job_posting_id_key UNIQUE (user_id, job_posting_id)
);

CREATE TABLE document_version (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    document_id UUID NOT NULL,
    version INTEGER NOT NULL,
    parent_id UUID,
    job_posting_id UUID,
    markdown TEXT NOT NULL,
    checksum TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT document_version_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT document_version_user_id_document_id_fkey FOREIGN KEY(user_id, document_id) REFERENCES document (user_id, id) ON DELETE CASCADE,
    CONSTRAINT document_version_user_id_parent_id_fkey FOREIGN KEY(user_id, parent_id) REFERENCES document_version (user_id, id) ON DELETE CASCADE,
    CONSTRAINT document_version_user_id_job_posting_id_fkey FOREIGN KEY(user_id, job_posting_id) REFERENCES job_posting (user_id, id) ON DELETE CASCADE,
    CONSTRAINT document_version_user_id_document_id_version_key UNIQUE (user_id, document_id, version)
);

CREATE TABLE job_requirement (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    job_posting_id UUID NOT NULL,
    kind TEXT NOT NULL,
    importance TEXT NOT NULL,
    text TEXT NOT NULL,
    text_key TEXT NOT NULL,
    skill_id UUID,
    skill_user_id UUID,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT job_requirement_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT job_requirement_user_id_job_posting_id_fkey FOREIGN KEY(user_id, job_posting_id) REFERENCES job_posting (user_id, id) ON DELETE CASCADE,
    CONSTRAINT job_requirement_skill_user_id_skill_id_fkey FOREIGN KEY(skill_user_id, skill_id) REFERENCES skill (user_id, id),
    CONSTRAINT job_requirement_skill_user_id_check CHECK (skill_user_id = user_id OR skill_user_id = '00000000-0000-0000-0000-000000000000'::uuid),
    CONSTRAINT job_requirement_kind_check CHECK (kind IN ('skill', 'qualification', 'experience')),
    CONSTRAINT job_requirement_importance_check CHECK (importance IN ('must', 'nice')),
    CONSTRAINT job_requirement_user_id_job_posting_id_text_key_key UNIQUE (user_id, job_posting_id, text_key)
);

CREATE TABLE document_line (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    version_id UUID NOT NULL,
    line INTEGER NOT NULL,
    source_table TEXT NOT NULL,
    source_id UUID NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT document_line_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT document_line_user_id_version_id_fkey FOREIGN KEY(user_id, version_id) REFERENCES document_version (user_id, id) ON DELETE CASCADE,
    CONSTRAINT document_line_user_id_version_id_line_source_table_sour_4d5b UNIQUE (user_id, version_id, line, source_table, source_id)
);

CREATE TABLE interview (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    application_id UUID NOT NULL,
    round SMALLINT NOT NULL,
    mode TEXT,
    place TEXT,
    starts_at TIMESTAMP WITH TIME ZONE NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT interview_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT interview_user_id_application_id_fkey FOREIGN KEY(user_id, application_id) REFERENCES application (user_id, id) ON DELETE CASCADE,
    CONSTRAINT interview_user_id_application_id_round_key UNIQUE (user_id, application_id, round)
);
"""

VOCABULARY = ("organization", "location", "location_alias", "skill", "skill_alias", "occupation")
APPEND_ONLY = ("document_version", "document_line")
PRIVATE = (
    *("job_posting", "job_requirement", "experience", "application", "interview", "document"),
    *APPEND_ONLY,
)


def upgrade() -> None:
    op.execute(DDL)
    for table in (*VOCABULARY, *PRIVATE):
        for statement in protect(table, shared=table in VOCABULARY):
            op.execute(statement)
        op.execute(grant(table, Role.READER, READ))
        op.execute(grant(table, Role.WRITER, APPEND if table in APPEND_ONLY else ERASE))


def downgrade() -> None:
    for table in reversed((*VOCABULARY, *PRIVATE)):
        op.execute(f"DROP TABLE {table} CASCADE")
