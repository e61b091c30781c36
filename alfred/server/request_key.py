"""Idempotency keys: a request that is sent again with its key does nothing a second time."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID, uuid4

from fastapi import Header

from alfred.app import App
from alfred.engine.canonical import derive_id
from alfred.engine.turn import Turn
from alfred.errors import RequestRefused, ReviewRefused

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

    Of a link the words are kept apart from the page that they led to.
    """
    original = found.original if found.original is not None else found.text.encode()
    sent = (found.link or "").encode() if found.link is not None else original
    if content.strip() != sent.strip():
        raise RequestRefused(
            "request.key",
            "The idempotency key was used for other words before.",
            hint="Use a new key for each new request.",
        )
