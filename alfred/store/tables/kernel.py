"""Private tables that every domain shares: memory, reminders, events and facts."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Date, Index, LargeBinary, Text, UniqueConstraint
from sqlalchemy.types import UserDefinedType

from alfred.engine.tables import (
    belongs_to,
    json_column,
    private_table,
    text_column,
    timestamp,
    uuid_column,
)


class Vector(UserDefinedType[Any]):
    """pgvector's type without a fixed dimension: embeddings of different models live together."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "vector"


EVENT = private_table(
    "event",
    text_column("kind"),
    text_column("subject"),
    json_column("body"),
    uuid_column("message_id", nullable=True),
    timestamp("occurred_at"),
    belongs_to("message_id", "chat_message"),
    append_only=True,
    label=("kind", "subject"),
)
"""What happened, never changed, and the message that told it."""

FACT = private_table(
    "fact",
    text_column("subject"),
    text_column("predicate"),
    text_column("object"),
    timestamp("valid_from"),
    timestamp("valid_to", nullable=True),
    uuid_column("event_id"),
    belongs_to("event_id", "event"),
    label=("subject", "predicate"),
)
"""What is true from `valid_from` until `valid_to`, and the event that says so."""
Index(None, FACT.c.user_id, FACT.c.subject, FACT.c.predicate)

MEMORY = private_table(
    "memory",
    text_column("text"),
    Column("embedding", Vector(), nullable=True),
    timestamp("stated_at"),
    label=("text",),
)

REMINDER = private_table(
    "reminder",
    text_column("subject"),
    text_column("about"),
    Column("due_on", Date, nullable=False),
    timestamp("done_at", nullable=True),
    UniqueConstraint("user_id", "subject", "about", "due_on"),
    label=("about", "due_on"),
)
Index(None, REMINDER.c.user_id, REMINDER.c.due_on)

ATTACHMENT = private_table(
    "attachment",
    uuid_column("message_id"),
    text_column("media_type"),
    Column("checksum", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    belongs_to("message_id", "chat_message"),
)
