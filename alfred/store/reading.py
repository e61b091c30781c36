"""Reads: SQLAlchemy writes the statement, psycopg runs it on the caller's connection."""

from __future__ import annotations

from datetime import datetime
from typing import Any, LiteralString, cast
from uuid import UUID

from sqlalchemy import Column, ColumnElement, and_, or_
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.sql import ClauseElement

from alfred.engine.database import Connection, Row

_DIALECT = PGDialect_psycopg()


async def rows(connection: Connection, statement: ClauseElement) -> list[Row]:
    """Run a SELECT and return its rows as dicts of Python values, in the statement's order."""
    compiled = statement.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})
    # The text is SQLAlchemy's; every value travels beside it as a parameter.
    text = cast("LiteralString", str(compiled))
    parameters = cast("dict[str, Any]", compiled.params)
    cursor = await connection.execute(text, parameters)
    return await cursor.fetchall()


Place = tuple[datetime, UUID]
"""Where a list goes on: the moment and the id of the last row given."""


def behind(moment: Column[Any], identifier: Column[Any], place: Place) -> ColumnElement[bool]:
    """Choose what comes behind a place in a list ordered by moment, the newest first, then id."""
    at, last = place
    return or_(moment < at, and_(moment == at, identifier > last))
