"""What a domain in a package of its own is declared with; importing it loads no graph library."""

from __future__ import annotations

from alfred.engine.action import ActionKind, Arguments, RowId, text
from alfred.engine.database import Connection, Role, Row
from alfred.engine.domain import Domain
from alfred.engine.sandbox import Filter, WithVariables
from alfred.engine.tables import (
    belongs_to,
    json_column,
    private_table,
    text_column,
    timestamp,
    uuid_column,
)
from alfred.engine.writer import Writer
from alfred.errors import ActionRefused
from alfred.services.moment import Day, Moment
from alfred.services.text_key import one_line, text_key
from alfred.store.reading import rows
from alfred.store.row_security import private_table_ddl

__all__ = [
    "ActionKind",
    "ActionRefused",
    "Arguments",
    "Connection",
    "Day",
    "Domain",
    "Filter",
    "Moment",
    "Role",
    "Row",
    "RowId",
    "WithVariables",
    "Writer",
    "belongs_to",
    "json_column",
    "one_line",
    "private_table",
    "private_table_ddl",
    "rows",
    "text",
    "text_column",
    "text_key",
    "timestamp",
    "uuid_column",
]
