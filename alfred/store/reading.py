"""Reads: SQLAlchemy writes the statement, psycopg runs it on the caller's connection."""

from __future__ import annotations

from typing import Any, LiteralString, cast

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
