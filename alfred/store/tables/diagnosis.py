"""Tables of the diagnosis domain: what a run asked, saw, found and told; notes that were approved.

What a run records is append-only: it is evidence, and a later run may not improve it.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    UniqueConstraint,
)

from alfred.engine.tables import (
    EMPTY_LIST,
    belongs_to,
    json_column,
    private_table,
    text_column,
    timestamp,
    uuid_column,
)

DIAGNOSIS_RUN = private_table(
    "diagnosis_run",
    text_column("question"),
    text_column("language"),
    text_column("origin"),
    json_column("scope"),
    timestamp("window_start"),
    timestamp("window_end"),
    timestamp("as_of"),
    uuid_column("previous_id", nullable=True),
    timestamp("began_at"),
    ForeignKeyConstraint(["user_id", "id"], ["turn.user_id", "turn.id"], ondelete="CASCADE"),
    belongs_to("previous_id", "diagnosis_run", ondelete="SET NULL (previous_id)"),
    CheckConstraint("origin IN ('ask', 'follow_up', 'alert')", name="origin"),
    append_only=True,
    label=("question",),
)
"""One diagnosis; its id is its turn's, `previous_id` the run that a follow-up continues."""

DIAGNOSIS_CALL = private_table(
    "diagnosis_call",
    uuid_column("run_id"),
    text_column("evidence_id"),
    text_column("tool"),
    text_column("kind"),
    json_column("arguments"),
    text_column("asked"),
    text_column("where"),
    text_column("start", nullable=True),
    text_column("end", nullable=True),
    text_column("outcome"),
    text_column("error"),
    json_column("lines", default=EMPTY_LIST),
    Column("truncated", Boolean, nullable=False),
    Column("round", Integer, nullable=False),
    Column("milliseconds", Integer, nullable=False),
    text_column("digest"),
    belongs_to("run_id", "diagnosis_run"),
    UniqueConstraint("user_id", "run_id", "evidence_id"),
    append_only=True,
    label=("evidence_id",),
)
"""One call of a tool, word for word as its digest covers it; so `start` and `end` are text."""

DIAGNOSIS_FACT = private_table(
    "diagnosis_fact",
    uuid_column("run_id"),
    Column("round", Integer, nullable=False),
    text_column("fact_id"),
    text_column("fact"),
    text_column("role"),
    text_column("verification"),
    text_column("reason"),
    json_column("evidence", default=EMPTY_LIST),
    json_column("unsupported", default=EMPTY_LIST),
    belongs_to("run_id", "diagnosis_run"),
    CheckConstraint("role IN ('cause', 'symptom', 'ruled_out', 'normal')", name="role"),
    UniqueConstraint("user_id", "run_id", "round", "fact_id"),
    append_only=True,
    label=("fact_id",),
)
"""A fact as one round verified it; `evidence` holds ids of calls."""

DIAGNOSIS_EVENT = private_table(
    "diagnosis_event",
    uuid_column("run_id"),
    Column("ordinal", Integer, nullable=False),
    text_column("node"),
    text_column("outcome"),
    text_column("reason"),
    Column("attempt", Integer, nullable=False),
    belongs_to("run_id", "diagnosis_run"),
    UniqueConstraint("user_id", "run_id", "ordinal"),
    append_only=True,
    label=("ordinal",),
)
"""One execution of a step of the machine, in order."""

DIAGNOSIS_END = private_table(
    "diagnosis_end",
    uuid_column("run_id"),
    text_column("terminal_reason"),
    text_column("finding", nullable=True),
    text_column("verdict", nullable=True),
    json_column("answer"),
    json_column("trace"),
    Column("calls", Integer, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
    Column("milliseconds", Integer, nullable=False),
    timestamp("ended_at"),
    belongs_to("run_id", "diagnosis_run"),
    UniqueConstraint("user_id", "run_id"),
    append_only=True,
    label=("terminal_reason",),
)
"""How a run ended, once; a run without one is under way or was cut off."""

DIAGNOSIS_CANCEL = private_table(
    "diagnosis_cancel",
    uuid_column("run_id"),
    timestamp("requested_at"),
    belongs_to("run_id", "diagnosis_run"),
    UniqueConstraint("user_id", "run_id"),
    append_only=True,
)
"""That a person wants a run to stop; the run itself ends it."""

ALERT_INTAKE = private_table(
    "alert_intake",
    text_column("fingerprint"),
    timestamp("starts_at"),
    text_column("name"),
    json_column("labels"),
    json_column("annotations"),
    text_column("status"),
    uuid_column("run_id", nullable=True),
    timestamp("received_at"),
    UniqueConstraint("user_id", "fingerprint", "starts_at"),
    append_only=True,
    label=("name",),
)
"""An alert as it first came in; `run_id` is the diagnosis that is to begin for it, if one is."""

INCIDENT_NOTE = private_table(
    "incident_note",
    uuid_column("run_id", nullable=True),
    text_column("title"),
    text_column("finding"),
    text_column("cause", nullable=True),
    json_column("services", default=EMPTY_LIST),
    timestamp("window_start"),
    timestamp("window_end"),
    text_column("body"),
    # An approved note is the user's own and outlives the run that it came from.
    belongs_to("run_id", "diagnosis_run", ondelete="SET NULL (run_id)"),
    CheckConstraint(
        "finding IN ('cause', 'hypotheses', 'no_fault', 'not_established')", name="finding"
    ),
    UniqueConstraint("user_id", "run_id"),
    label=("title",),
)
Index(None, INCIDENT_NOTE.c.user_id, INCIDENT_NOTE.c.window_end)
