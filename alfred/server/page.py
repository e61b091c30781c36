"""Lists in pieces: each answer names where the next one goes on."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field

from alfred.engine.database import Row
from alfred.errors import RequestRefused
from alfred.store.reading import Place

Item = TypeVar("Item")
MAX_ITEMS = 200

Limit = Annotated[int, Query(ge=1, le=MAX_ITEMS, description="How many items at most.")]
Cursor = Annotated[
    str | None, Query(max_length=200, description="`next` of the answer before; none to begin.")
]


class Page(BaseModel, Generic[Item]):
    """A piece of a list."""

    items: list[Item]
    next: str | None = Field(description="The cursor of the next piece; null at the end.")


def read_cursor(cursor: str | None) -> Place | None:
    """Read where to go on; errors: `request.invalid` for what no answer gave."""
    if cursor is None:
        return None
    try:
        words, identifier = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        moment = datetime.fromisoformat(words)
        if moment.tzinfo is None:
            raise _unknown(cursor)
        return moment.astimezone(UTC), UUID(identifier)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as exc:
        raise _unknown(cursor) from exc


def write_cursor(place: Place) -> str:
    """Write where to go on, as one word."""
    words = json.dumps([place[0].isoformat(), str(place[1])])
    return base64.urlsafe_b64encode(words.encode()).decode()


def page_of(
    rows: Sequence[Row], limit: int, place_of: Callable[[Row], Place], item: Callable[[Row], Any]
) -> dict[str, Any]:
    """Make a piece of a list of rows that were asked for with one more than `limit`."""
    shown = rows[:limit]
    following = write_cursor(place_of(shown[-1])) if len(rows) > limit else None
    return {"items": [item(row) for row in shown], "next": following}


def _unknown(cursor: str) -> RequestRefused:
    return RequestRefused(
        "request.invalid",
        f"{cursor!r} is no cursor.",
        hint="Give `next` of the answer before.",
        places=[{"place": "/query/cursor", "message": "no answer gave this cursor"}],
    )
