"""The diagnosis domain's tables: what a run records can only be added, a note can be changed."""

from __future__ import annotations

from alembic import op

from alfred.engine.database import Role
from alfred.store.row_security import APPEND, CHANGE, READ, grant, protect

revision = "0001_diagnosis"
down_revision = None
branch_labels = ("diagnosis",)
depends_on = ("0001_kernel",)

DDL = """
CREATE TABLE diagnosis_run (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    question TEXT NOT NULL,
    language TEXT NOT NULL,
    origin TEXT NOT NULL,
    scope JSONB DEFAULT '{}'::jsonb NOT NULL,
    window_start TIMESTAMP WITH TIME ZONE NOT NULL,
    window_end TIMESTAMP WITH TIME ZONE NOT NULL,
    as_of TIMESTAMP WITH TIME ZONE NOT NULL,
    previous_id UUID,
    began_at TIMESTAMP WITH TIME ZONE NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT diagnosis_run_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT diagnosis_run_user_id_id_fkey FOREIGN KEY(user_id, id) REFERENCES turn (user_id, id) ON DELETE CASCADE,
    CONSTRAINT diagnosis_run_user_id_previous_id_fkey FOREIGN KEY(user_id, previous_id) REFERENCES diagnosis_run (user_id, id) ON DELETE SET NULL (previous_id),
    CONSTRAINT diagnosis_run_origin_check CHECK (origin IN ('ask', 'follow_up', 'alert'))
);

CREATE TABLE diagnosis_call (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    run_id UUID NOT NULL,
    evidence_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    kind TEXT NOT NULL,
    arguments JSONB DEFAULT '{}'::jsonb NOT NULL,
    asked TEXT NOT NULL,
    "where" TEXT NOT NULL,
    start TEXT,
    "end" TEXT,
    outcome TEXT NOT NULL,
    error TEXT NOT NULL,
    lines JSONB DEFAULT '[]'::jsonb NOT NULL,
    truncated BOOLEAN NOT NULL,
    round INTEGER NOT NULL,
    milliseconds INTEGER NOT NULL,
    digest TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT diagnosis_call_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT diagnosis_call_user_id_run_id_fkey FOREIGN KEY(user_id, run_id) REFERENCES diagnosis_run (user_id, id) ON DELETE CASCADE,
    CONSTRAINT diagnosis_call_user_id_run_id_evidence_id_key UNIQUE (user_id, run_id, evidence_id)
);

CREATE TABLE diagnosis_fact (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    run_id UUID NOT NULL,
    round INTEGER NOT NULL,
    fact_id TEXT NOT NULL,
    fact TEXT NOT NULL,
    role TEXT NOT NULL,
    verification TEXT NOT NULL,
    reason TEXT NOT NULL,
    evidence JSONB DEFAULT '[]'::jsonb NOT NULL,
    unsupported JSONB DEFAULT '[]'::jsonb NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT diagnosis_fact_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT diagnosis_fact_user_id_run_id_fkey FOREIGN KEY(user_id, run_id) REFERENCES diagnosis_run (user_id, id) ON DELETE CASCADE,
    CONSTRAINT diagnosis_fact_role_check CHECK (role IN ('cause', 'symptom', 'ruled_out', 'normal')),
    CONSTRAINT diagnosis_fact_user_id_run_id_round_fact_id_key UNIQUE (user_id, run_id, round, fact_id)
);

CREATE TABLE diagnosis_event (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    run_id UUID NOT NULL,
    ordinal INTEGER NOT NULL,
    node TEXT NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT diagnosis_event_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT diagnosis_event_user_id_run_id_fkey FOREIGN KEY(user_id, run_id) REFERENCES diagnosis_run (user_id, id) ON DELETE CASCADE,
    CONSTRAINT diagnosis_event_user_id_run_id_ordinal_key UNIQUE (user_id, run_id, ordinal)
);

CREATE TABLE diagnosis_end (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    run_id UUID NOT NULL,
    terminal_reason TEXT NOT NULL,
    finding TEXT,
    verdict TEXT,
    answer JSONB DEFAULT '{}'::jsonb NOT NULL,
    trace JSONB DEFAULT '{}'::jsonb NOT NULL,
    calls INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    milliseconds INTEGER NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT diagnosis_end_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT diagnosis_end_user_id_run_id_fkey FOREIGN KEY(user_id, run_id) REFERENCES diagnosis_run (user_id, id) ON DELETE CASCADE,
    CONSTRAINT diagnosis_end_user_id_run_id_key UNIQUE (user_id, run_id)
);

CREATE TABLE diagnosis_cancel (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    run_id UUID NOT NULL,
    requested_at TIMESTAMP WITH TIME ZONE NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT diagnosis_cancel_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT diagnosis_cancel_user_id_run_id_fkey FOREIGN KEY(user_id, run_id) REFERENCES diagnosis_run (user_id, id) ON DELETE CASCADE,
    CONSTRAINT diagnosis_cancel_user_id_run_id_key UNIQUE (user_id, run_id)
);

CREATE TABLE alert_intake (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    fingerprint TEXT NOT NULL,
    starts_at TIMESTAMP WITH TIME ZONE NOT NULL,
    name TEXT NOT NULL,
    labels JSONB DEFAULT '{}'::jsonb NOT NULL,
    annotations JSONB DEFAULT '{}'::jsonb NOT NULL,
    status TEXT NOT NULL,
    run_id UUID,
    received_at TIMESTAMP WITH TIME ZONE NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT alert_intake_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT alert_intake_user_id_fingerprint_starts_at_key UNIQUE (user_id, fingerprint, starts_at)
);

CREATE TABLE incident_note (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    run_id UUID,
    title TEXT NOT NULL,
    finding TEXT NOT NULL,
    cause TEXT,
    services JSONB DEFAULT '[]'::jsonb NOT NULL,
    window_start TIMESTAMP WITH TIME ZONE NOT NULL,
    window_end TIMESTAMP WITH TIME ZONE NOT NULL,
    body TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT incident_note_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT incident_note_user_id_run_id_fkey FOREIGN KEY(user_id, run_id) REFERENCES diagnosis_run (user_id, id) ON DELETE SET NULL (run_id),
    CONSTRAINT incident_note_finding_check CHECK (finding IN ('cause', 'hypotheses', 'no_fault', 'not_established')),
    CONSTRAINT incident_note_user_id_run_id_key UNIQUE (user_id, run_id)
);

CREATE INDEX incident_note_user_id_window_end_idx ON incident_note (user_id, window_end);
"""

APPEND_ONLY = (
    *("diagnosis_run", "diagnosis_call", "diagnosis_fact", "diagnosis_event"),
    *("diagnosis_end", "diagnosis_cancel", "alert_intake"),
)
TABLES = (*APPEND_ONLY, "incident_note")


def upgrade() -> None:
    op.execute(DDL)
    for table in TABLES:
        for statement in protect(table):
            op.execute(statement)
        op.execute(grant(table, Role.READER, READ))
        op.execute(grant(table, Role.WRITER, APPEND if table in APPEND_ONLY else CHANGE))


def downgrade() -> None:
    for table in reversed(TABLES):
        op.execute(f"DROP TABLE {table} CASCADE")
