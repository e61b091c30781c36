"""The kernel's tables: users, messages, turns, proposals, ledger, memory, facts."""

from __future__ import annotations

from alembic import op

from alfred.engine.database import Role
from alfred.store.row_security import APPEND, CHANGE, ERASE, READ, grant, protect

revision = "0001_kernel"
down_revision = None
branch_labels = ("kernel",)
depends_on = None

DDL = """
CREATE TABLE alfred_user (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT alfred_user_pkey PRIMARY KEY (id)
);

CREATE TABLE chat_thread (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    title TEXT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT chat_thread_pkey PRIMARY KEY (user_id, id)
);

CREATE TABLE memory (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    text TEXT NOT NULL,
    embedding vector,
    stated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT memory_pkey PRIMARY KEY (user_id, id)
);

CREATE TABLE reminder (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    subject TEXT NOT NULL,
    about TEXT NOT NULL,
    due_on DATE NOT NULL,
    done_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT reminder_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT reminder_user_id_subject_about_due_on_key UNIQUE (user_id, subject, about, due_on)
);

CREATE INDEX reminder_user_id_due_on_idx ON reminder (user_id, due_on);

CREATE TABLE chat_message (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    thread_id UUID NOT NULL,
    role TEXT NOT NULL,
    modality TEXT NOT NULL,
    text TEXT NOT NULL,
    source TEXT,
    original BYTEA,
    annotations JSONB DEFAULT '[]'::jsonb NOT NULL,
    received_at TIMESTAMP WITH TIME ZONE NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT chat_message_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT chat_message_user_id_thread_id_fkey FOREIGN KEY(user_id, thread_id) REFERENCES chat_thread (user_id, id) ON DELETE CASCADE
);

CREATE TABLE attachment (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    message_id UUID NOT NULL,
    media_type TEXT NOT NULL,
    checksum TEXT NOT NULL,
    content BYTEA NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT attachment_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT attachment_user_id_message_id_fkey FOREIGN KEY(user_id, message_id) REFERENCES chat_message (user_id, id) ON DELETE CASCADE
);

CREATE TABLE event (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    body JSONB DEFAULT '{}'::jsonb NOT NULL,
    message_id UUID,
    occurred_at TIMESTAMP WITH TIME ZONE NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT event_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT event_user_id_message_id_fkey FOREIGN KEY(user_id, message_id) REFERENCES chat_message (user_id, id) ON DELETE CASCADE
);

CREATE TABLE turn (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    message_id UUID NOT NULL,
    state TEXT NOT NULL,
    domain TEXT,
    timezone TEXT NOT NULL,
    language TEXT NOT NULL,
    manifests JSONB DEFAULT '{}'::jsonb NOT NULL,
    memory JSONB DEFAULT '[]'::jsonb NOT NULL,
    resume_due BOOLEAN DEFAULT false NOT NULL,
    outcome TEXT,
    problem TEXT,
    received_at TIMESTAMP WITH TIME ZONE NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT turn_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT turn_user_id_message_id_fkey FOREIGN KEY(user_id, message_id) REFERENCES chat_message (user_id, id) ON DELETE CASCADE
);

CREATE TABLE fact (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    subject TEXT NOT NULL,
    predicate TEXT NOT NULL,
    object TEXT NOT NULL,
    valid_from TIMESTAMP WITH TIME ZONE NOT NULL,
    valid_to TIMESTAMP WITH TIME ZONE,
    event_id UUID NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT fact_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT fact_user_id_event_id_fkey FOREIGN KEY(user_id, event_id) REFERENCES event (user_id, id) ON DELETE CASCADE
);

CREATE INDEX fact_user_id_subject_predicate_idx ON fact (user_id, subject, predicate);

CREATE TABLE model_call (
    user_id UUID NOT NULL,
    turn_id UUID NOT NULL,
    instance TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    request_digest TEXT NOT NULL,
    model TEXT NOT NULL,
    text TEXT NOT NULL,
    finish_reason TEXT NOT NULL,
    usage JSONB DEFAULT '{}'::jsonb NOT NULL,
    milliseconds INTEGER NOT NULL,
    at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT model_call_pkey PRIMARY KEY (user_id, turn_id, instance, attempt, ordinal, request_digest),
    CONSTRAINT model_call_user_id_turn_id_fkey FOREIGN KEY(user_id, turn_id) REFERENCES turn (user_id, id) ON DELETE CASCADE
);

CREATE TABLE proposal (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    turn_id UUID NOT NULL,
    message_id UUID NOT NULL,
    state TEXT NOT NULL,
    attempt INTEGER DEFAULT 0 NOT NULL,
    revision INTEGER DEFAULT 0 NOT NULL,
    digest TEXT NOT NULL,
    manifests JSONB DEFAULT '{}'::jsonb NOT NULL,
    notices JSONB DEFAULT '[]'::jsonb NOT NULL,
    stated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    closed_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT proposal_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT proposal_user_id_turn_id_fkey FOREIGN KEY(user_id, turn_id) REFERENCES turn (user_id, id) ON DELETE CASCADE,
    CONSTRAINT proposal_user_id_message_id_fkey FOREIGN KEY(user_id, message_id) REFERENCES chat_message (user_id, id) ON DELETE CASCADE,
    CONSTRAINT proposal_user_id_turn_id_attempt_key UNIQUE (user_id, turn_id, attempt)
);

CREATE TABLE trace_event (
    user_id UUID NOT NULL,
    turn_id UUID NOT NULL,
    instance TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    step INTEGER NOT NULL,
    node TEXT NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT NOT NULL,
    milliseconds INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT trace_event_pkey PRIMARY KEY (user_id, turn_id, instance, attempt),
    CONSTRAINT trace_event_user_id_turn_id_fkey FOREIGN KEY(user_id, turn_id) REFERENCES turn (user_id, id) ON DELETE CASCADE
);

CREATE TABLE action (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    proposal_id UUID NOT NULL,
    ordinal INTEGER NOT NULL,
    node TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    status TEXT NOT NULL,
    depends_on UUID[] DEFAULT '{}' NOT NULL,
    digest TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT action_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT action_user_id_proposal_id_fkey FOREIGN KEY(user_id, proposal_id) REFERENCES proposal (user_id, id) ON DELETE CASCADE,
    CONSTRAINT action_user_id_proposal_id_ordinal_key UNIQUE (user_id, proposal_id, ordinal)
);

CREATE TABLE ledger_entry (
    user_id UUID NOT NULL,
    seq BIGINT GENERATED ALWAYS AS IDENTITY,
    proposal_id UUID NOT NULL,
    action_id UUID,
    kind TEXT NOT NULL,
    revision INTEGER NOT NULL,
    digest TEXT NOT NULL,
    actor_id UUID NOT NULL,
    origin TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT ledger_entry_pkey PRIMARY KEY (user_id, seq),
    CONSTRAINT ledger_entry_user_id_proposal_id_fkey FOREIGN KEY(user_id, proposal_id) REFERENCES proposal (user_id, id)
);

CREATE TABLE action_payload (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    args JSONB DEFAULT '{}'::jsonb NOT NULL,
    origins JSONB DEFAULT '{}'::jsonb NOT NULL,
    evidence JSONB DEFAULT '{}'::jsonb NOT NULL,
    missing JSONB DEFAULT '[]'::jsonb NOT NULL,
    effects JSONB DEFAULT '[]'::jsonb NOT NULL,
    problem TEXT DEFAULT '' NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT action_payload_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT action_payload_user_id_id_fkey FOREIGN KEY(user_id, id) REFERENCES action (user_id, id) ON DELETE CASCADE
);

CREATE TABLE ledger_payload (
    user_id UUID NOT NULL,
    seq BIGINT NOT NULL,
    body JSONB DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT ledger_payload_pkey PRIMARY KEY (user_id, seq),
    CONSTRAINT ledger_payload_user_id_seq_fkey FOREIGN KEY(user_id, seq) REFERENCES ledger_entry (user_id, seq)
);

CREATE TABLE receipt (
    user_id UUID NOT NULL,
    action_id UUID NOT NULL,
    proposal_id UUID NOT NULL,
    digest TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT receipt_pkey PRIMARY KEY (user_id, action_id),
    CONSTRAINT receipt_user_id_action_id_fkey FOREIGN KEY(user_id, action_id) REFERENCES action (user_id, id)
);
"""

GRANTS = {
    Role.RUNTIME: {
        **dict.fromkeys(
            ("alfred_user", "chat_thread", "chat_message", "attachment", "turn"), ERASE
        ),
        **dict.fromkeys(("model_call", "trace_event"), ERASE),
        **dict.fromkeys(("proposal", "action", "action_payload", "ledger_entry", "receipt"), READ),
    },
    Role.WRITER: {
        **dict.fromkeys(("alfred_user", "chat_thread", "attachment"), READ),
        "chat_message": ("SELECT", "UPDATE (annotations)"),
        "turn": ("SELECT", "UPDATE (resume_due)"),
        **dict.fromkeys(("memory", "reminder", "action_payload"), ERASE),
        "ledger_payload": ("SELECT", "INSERT", "DELETE"),
        **dict.fromkeys(("proposal", "action", "fact"), CHANGE),
        **dict.fromkeys(("event", "ledger_entry", "receipt"), APPEND),
    },
    Role.READER: dict.fromkeys(
        (
            *("alfred_user", "chat_thread", "chat_message", "attachment", "turn", "memory"),
            *("reminder", "event", "fact", "proposal", "action", "action_payload"),
            *("ledger_entry", "ledger_payload", "receipt"),
        ),
        READ,
    ),
}
"""What each login may do; the reader sees neither journal nor traces."""
TABLES = sorted({table for tables in GRANTS.values() for table in tables})


def upgrade() -> None:
    op.execute(DDL)
    for table in TABLES:
        for statement in protect(table, owner="id" if table == "alfred_user" else "user_id"):
            op.execute(statement)
    for role, tables in GRANTS.items():
        for table, privileges in tables.items():
            op.execute(grant(table, role, privileges))


def downgrade() -> None:
    for table in reversed(TABLES):
        op.execute(f"DROP TABLE {table} CASCADE")
