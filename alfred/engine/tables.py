"""The engine's own tables: who, what was said, what was proposed, decided and committed.

Every private table begins its keys with `user_id`; row-level security on it is forced by the
migrations, foreign keys are composite, `(user_id, id)`, because they bypass row security.
Payloads (words, arguments, effects) lie in tables of their own and can be erased; what is
append-only holds digests.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    DateTime,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, UUID
from sqlalchemy.schema import SchemaItem

METADATA = MetaData(
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s_check",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "pk": "%(table_name)s_pkey",
    }
)

EMPTY_OBJECT = text("'{}'::jsonb")
EMPTY_LIST = text("'[]'::jsonb")
NOW: ColumnElement[Any] = func.now()


def timestamp(name: str, *, nullable: bool = False, default: bool = False) -> Column[Any]:
    """Make a column of a moment with its zone."""
    server_default = NOW if default else None
    return Column(name, DateTime(timezone=True), nullable=nullable, server_default=server_default)


def private_table(name: str, *items: SchemaItem, **info: Any) -> Table:
    """Make a table of rows that belong to one user each: key `(user_id, id)`.

    `info` tells the writer about the table: `append_only`, `shared` (rows of the zero user are
    visible to all), `label` (columns that name a row to people).
    """
    return Table(
        name,
        METADATA,
        Column("user_id", UUID(as_uuid=True), nullable=False),
        Column("id", UUID(as_uuid=True), nullable=False),
        *items,
        timestamp("created_at", default=True),
        PrimaryKeyConstraint("user_id", "id"),
        info=info,
    )


def belongs_to(column: str, table: str, *, ondelete: str | None = "CASCADE") -> SchemaItem:
    """Refer to a row of the same user."""
    return ForeignKeyConstraint(
        ["user_id", column], [f"{table}.user_id", f"{table}.id"], ondelete=ondelete
    )


def uuid_column(name: str, *, nullable: bool = False) -> Column[Any]:
    """Make a column that holds a row's id."""
    return Column(name, UUID(as_uuid=True), nullable=nullable)


def text_column(name: str, *, nullable: bool = False) -> Column[Any]:
    """Make a column of text, bounded by the argument models rather than by the database."""
    return Column(name, Text, nullable=nullable)


def json_column(name: str, *, default: Any = EMPTY_OBJECT) -> Column[Any]:
    """Make a column of JSON."""
    return Column(name, JSONB, nullable=False, server_default=default)


USER = Table(
    "alfred_user",
    METADATA,
    Column("id", UUID(as_uuid=True), primary_key=True),
    Column("name", Text, nullable=False),
    timestamp("created_at", default=True),
)

CHAT_THREAD = private_table("chat_thread", text_column("title", nullable=True))

CHAT_MESSAGE = private_table(
    "chat_message",
    uuid_column("thread_id"),
    text_column("role"),
    text_column("modality"),
    text_column("text"),
    text_column("source", nullable=True),
    Column("original", LargeBinary, nullable=True),
    json_column("annotations", default=EMPTY_LIST),
    timestamp("received_at"),
    text_column("link", nullable=True),
    text_column("media_type", nullable=True),
    belongs_to("thread_id", "chat_thread"),
)

TURN = private_table(
    "turn",
    uuid_column("message_id"),
    text_column("state"),
    text_column("domain", nullable=True),
    text_column("timezone"),
    text_column("language"),
    json_column("manifests"),
    json_column("memory", default=EMPTY_LIST),
    Column("resume_due", Boolean, nullable=False, server_default=text("false")),
    text_column("outcome", nullable=True),
    text_column("problem", nullable=True),
    timestamp("received_at"),
    belongs_to("message_id", "chat_message"),
)

PROPOSAL = private_table(
    "proposal",
    uuid_column("turn_id"),
    uuid_column("message_id"),
    text_column("state"),
    Column("attempt", Integer, nullable=False, server_default=text("0")),
    Column("revision", Integer, nullable=False, server_default=text("0")),
    text_column("digest"),
    json_column("manifests"),
    json_column("notices", default=EMPTY_LIST),
    timestamp("stated_at"),
    timestamp("expires_at"),
    timestamp("closed_at", nullable=True),
    belongs_to("turn_id", "turn"),
    belongs_to("message_id", "chat_message"),
    UniqueConstraint("user_id", "turn_id", "attempt"),
)

ACTION = private_table(
    "action",
    uuid_column("proposal_id"),
    Column("ordinal", Integer, nullable=False),
    text_column("node"),
    text_column("kind"),
    text_column("state"),
    text_column("status"),
    Column("depends_on", ARRAY(UUID(as_uuid=True)), nullable=False, server_default=text("'{}'")),
    text_column("digest"),
    belongs_to("proposal_id", "proposal"),
    UniqueConstraint("user_id", "proposal_id", "ordinal"),
)

ACTION_PAYLOAD = private_table(
    "action_payload",
    json_column("args"),
    json_column("origins"),
    json_column("evidence"),
    json_column("missing", default=EMPTY_LIST),
    json_column("effects", default=EMPTY_LIST),
    Column("problem", Text, nullable=False, server_default=text("''")),
    belongs_to("id", "action"),
)

LEDGER_ENTRY = Table(
    "ledger_entry",
    METADATA,
    Column("user_id", UUID(as_uuid=True), nullable=False),
    Column("seq", BigInteger, Identity(always=True), nullable=False),
    uuid_column("proposal_id"),
    uuid_column("action_id", nullable=True),
    text_column("kind"),
    Column("revision", Integer, nullable=False),
    text_column("digest"),
    uuid_column("actor_id"),
    text_column("origin"),
    timestamp("at", default=True),
    PrimaryKeyConstraint("user_id", "seq"),
    belongs_to("proposal_id", "proposal", ondelete=None),
    info={"append_only": True},
)

LEDGER_PAYLOAD = Table(
    "ledger_payload",
    METADATA,
    Column("user_id", UUID(as_uuid=True), nullable=False),
    Column("seq", BigInteger, nullable=False),
    json_column("body"),
    PrimaryKeyConstraint("user_id", "seq"),
    ForeignKeyConstraint(["user_id", "seq"], ["ledger_entry.user_id", "ledger_entry.seq"]),
)

RECEIPT = Table(
    "receipt",
    METADATA,
    Column("user_id", UUID(as_uuid=True), nullable=False),
    uuid_column("action_id"),
    uuid_column("proposal_id"),
    text_column("digest"),
    timestamp("at", default=True),
    PrimaryKeyConstraint("user_id", "action_id"),
    belongs_to("action_id", "action", ondelete=None),
    info={"append_only": True},
)

MODEL_CALL = Table(
    "model_call",
    METADATA,
    Column("user_id", UUID(as_uuid=True), nullable=False),
    uuid_column("turn_id"),
    text_column("instance"),
    Column("attempt", Integer, nullable=False),
    Column("ordinal", Integer, nullable=False),
    text_column("request_digest"),
    text_column("model"),
    text_column("text"),
    text_column("finish_reason"),
    json_column("usage"),
    Column("milliseconds", Integer, nullable=False),
    timestamp("at", default=True),
    PrimaryKeyConstraint("user_id", "turn_id", "instance", "attempt", "ordinal", "request_digest"),
    belongs_to("turn_id", "turn"),
)

TRACE_EVENT = Table(
    "trace_event",
    METADATA,
    Column("user_id", UUID(as_uuid=True), nullable=False),
    uuid_column("turn_id"),
    text_column("instance"),
    Column("attempt", Integer, nullable=False),
    Column("step", Integer, nullable=False),
    text_column("node"),
    text_column("outcome"),
    text_column("reason"),
    Column("milliseconds", Integer, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
    timestamp("at", default=True),
    PrimaryKeyConstraint("user_id", "turn_id", "instance", "attempt"),
    belongs_to("turn_id", "turn"),
)

TURN_EVENT = Table(
    "turn_event",
    METADATA,
    Column("user_id", UUID(as_uuid=True), nullable=False),
    Column("seq", BigInteger, Identity(always=True), nullable=False),
    uuid_column("turn_id", nullable=True),
    text_column("type"),
    json_column("body"),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    PrimaryKeyConstraint("user_id", "seq"),
    belongs_to("turn_id", "turn"),
)
"""What a run tells while it goes on, and what changed for a user; gone after two days."""
Index(None, TURN_EVENT.c.user_id, TURN_EVENT.c.turn_id, TURN_EVENT.c.seq)
Index(None, TURN_EVENT.c.user_id, TURN_EVENT.c.at)

API_TOKEN = private_table(
    "api_token",
    text_column("name"),
    text_column("digest"),
    json_column("scopes", default=EMPTY_LIST),
    timestamp("expires_at"),
    timestamp("revoked_at", nullable=True),
    timestamp("used_at", nullable=True),
    UniqueConstraint("user_id", "digest"),
)
"""What programs show to be let in; only a digest of each is kept."""

WEB_SESSION = private_table(
    "web_session",
    text_column("digest"),
    timestamp("expires_at"),
    UniqueConstraint("user_id", "digest"),
)

SIGN_IN_LINK = private_table(
    "sign_in_link",
    text_column("digest"),
    timestamp("expires_at"),
    timestamp("used_at", nullable=True),
    UniqueConstraint("user_id", "digest"),
)
