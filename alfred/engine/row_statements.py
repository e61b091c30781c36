"""The SQL of single rows, composed once for each shape; every value travels as a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, LiteralString

from psycopg import sql
from psycopg.types.json import Jsonb

_JSON = (dict, list)
_SHAPES = 512
"""How many texts are kept: tables times the sets of columns that services name."""


def key_shape(key: Mapping[str, Any]) -> tuple[tuple[str, bool], ...]:
    """Give what of a key decides about the statement: its columns, and which are to be null."""
    return tuple((column, value is None) for column, value in key.items())


@lru_cache(_SHAPES)
def select_text(
    table: str, key: tuple[tuple[str, bool], ...], *, owners: int, last_by: str = "", lock: bool
) -> bytes:
    """Select the rows with a key that belong to one of so many owners, the first parameters."""
    conditions = [
        sql.SQL("{} IS NULL" if is_null else "{} = %s").format(sql.Identifier(column))
        for column, is_null in key
    ]
    text = sql.SQL("SELECT * FROM {} WHERE user_id IN ({}) AND {}").format(
        sql.Identifier(table),
        sql.SQL(", ").join([sql.Placeholder()] * owners),
        sql.SQL(" AND ").join(conditions),
    )
    if last_by:
        text += sql.SQL(" ORDER BY {} DESC LIMIT 1").format(sql.Identifier(last_by))
    return (text + sql.SQL(" FOR UPDATE" if lock else "")).as_bytes(None)


@lru_cache(_SHAPES)
def insert_text(table: str, columns: tuple[str, ...], count: int) -> bytes:
    """Insert rows and return them as they then stand."""
    row = sql.SQL("({})").format(sql.SQL(", ").join([sql.Placeholder()] * len(columns)))
    return (
        sql.SQL("INSERT INTO {} ({}) VALUES {} RETURNING *")
        .format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, columns)),
            sql.SQL(", ").join([row] * count),
        )
        .as_bytes(None)
    )


@lru_cache(_SHAPES)
def update_text(table: str, columns: tuple[str, ...]) -> bytes:
    """Set columns of one row, named by owner and id, and return it as it then stands."""
    wanted: LiteralString = "UPDATE {} SET {} WHERE user_id = %s AND id = %s RETURNING *"
    settings = (sql.SQL("{} = %s").format(sql.Identifier(column)) for column in columns)
    text = sql.SQL(wanted).format(sql.Identifier(table), sql.SQL(", ").join(settings))
    return text.as_bytes(None)


def bound(value: Any) -> Any:
    """Wrap a value as the driver takes it."""
    return Jsonb(value) if isinstance(value, _JSON) else value
