"""Idempotency keys: a request that is sent again with its key does nothing a second time."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID, uuid4

from fastapi import Header

from alfred.app import App
from alfred.engine.canonical import derive_id
from alfred.engine.turn import Turn
from alfred.errors import RequestRefused, ReviewRefused
from alfred.inputs.decoding import clean_text
from alfred.inputs.link import find_link

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="Any text; the same request with it is answered as the first time.",
    ),
]


def turn_for(app: App, key: str | None) -> UUID:
    """Choose the id of a request's turn: the key's own, so that a repeat finds it."""
    return uuid4() if key is None else derive_id("request", app.user_id, key)


async def find_turn(app: App, turn_id: UUID) -> Turn | None:
    """Read a turn that may not be there."""
    try:
        return await app.load_turn(turn_id)
    except ReviewRefused as error:
        if error.code != "review.unknown":
            raise
        return None


def require_same(found: Turn, content: bytes) -> None:
    """Refuse a key that came with other words before; errors: `request.key`.

    Of a link the words are kept apart from the page that they led to; of plain text only what is
    read of it is kept.
    """
    if found.link is not None:
        is_same = find_link(content) == found.link
    elif found.original is not None:
        is_same = content.strip() == found.original.strip()
    else:
        is_same = clean_text(content.decode("utf-8", "replace")).strip() == found.text.strip()
    if not is_same:
        raise RequestRefused(
            "request.key",
            "The idempotency key was used for other words before.",
            hint="Use a new key for each new request.",
        )
