"""Conversations and what was said in them."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from alfred.engine.database import Row
from alfred.errors import RequestRefused
from alfred.server.documents import Message, Thread
from alfred.server.page import Cursor, Limit, Page, page_of, read_cursor
from alfred.server.refusals import refusals
from alfred.server.who import Reader
from alfred.services.queries.turns import has_thread, list_messages, list_threads
from alfred.store.reading import Place

router = APIRouter(tags=["threads"])


@router.get("/threads", responses=refusals())
async def get_threads(visitor: Reader, limit: Limit = 50, cursor: Cursor = None) -> Page[Thread]:
    """List conversations, the newest first."""
    after = read_cursor(cursor)
    async with visitor.app.reading() as connection:
        rows = await list_threads(connection, after=after, limit=limit + 1)
    return Page[Thread].model_validate(page_of(rows, limit, _place, dict))


@router.get("/threads/{thread_id}/messages", responses=refusals(404))
async def get_messages(
    thread_id: UUID, visitor: Reader, limit: Limit = 50, cursor: Cursor = None
) -> Page[Message]:
    """List a conversation's messages, the newest first."""
    after = read_cursor(cursor)
    async with visitor.app.reading() as connection:
        if not await has_thread(connection, thread_id):
            raise RequestRefused("request.unknown", f"There is no conversation {thread_id}.")
        rows = await list_messages(connection, thread_id, after=after, limit=limit + 1)
    return Page[Message].model_validate(page_of(rows, limit, _place, dict))


def _place(row: Row) -> Place:
    return row["created_at"], row["id"]
