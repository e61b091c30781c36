"""The page of a message that is nothing but a link: fetched once, then read as a saved one."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from alfred.engine.database import Database
from alfred.engine.skill_input import SkillInput
from alfred.engine.trace import event, store_events
from alfred.engine.turn import LinkedPage, Turn, keep_page
from alfred.errors import InputRefused
from alfred.inputs.page_barrier import find_barrier
from alfred.inputs.reader import decode_input, is_page, read_input

Fetch = Callable[[str], Awaitable["FetchedPage"]]
_EMPTY = frozenset({"input.empty", "input.no_words"})


@dataclass(frozen=True, kw_only=True)
class FetchedPage:
    """A page as it came. `url` is where it was in the end, `media_type` its Content-Type header."""

    url: str
    media_type: str
    content: bytes


def read_fetched(page: FetchedPage, *, received_at: datetime, timezone: str) -> SkillInput:
    """Make an input of a fetched page; its address is the one it was fetched from.

    Errors: those of `read_input`; `input.login` and `input.needs_browser` for what stands in a
    page's place.
    """
    try:
        read = read_input(
            page.content,
            filename=None,
            media_type=page.media_type,
            received_at=received_at,
            timezone=timezone,
        )
    except InputRefused as empty:
        barrier = _barrier(page) if empty.code in _EMPTY and page.content.strip() else None
        raise barrier or empty from None
    if not read["records"] and (barrier := _barrier(page)):
        raise barrier
    return {**read, "modality": "link", "url": page.url}


def _barrier(page: FetchedPage) -> InputRefused | None:
    markup = decode_input(page.content, page.media_type)
    return find_barrier(markup) if is_page(markup, None, page.media_type) else None


async def complete_turn(database: Database, turn: Turn, fetch: Fetch) -> Turn:
    """Fetch and keep the page of a turn whose message is only a link; give the turn that has it.

    The trace says that it was fetched, how long that took, or with which code it failed. A page
    that cannot be read is not kept, so that a later try fetches it anew.
    Errors: those of `fetch` and of `read_fetched`.
    """
    assert turn.link is not None
    started = time.perf_counter()
    try:
        page = await fetch(turn.link)
        received_at = turn.received_at.astimezone(ZoneInfo(turn.timezone))
        read = read_fetched(page, received_at=received_at, timezone=turn.timezone)
    except InputRefused as error:
        reason = error.code.replace(".", "_").upper()
        await _note(database, turn, ("FAILED", reason), started)
        raise
    await _note(database, turn, ("COMPLETED", "FETCHED"), started)
    kept = LinkedPage(
        text=read["text"],
        language=read["language"],
        original=page.content,
        media_type=page.media_type,
        source=page.url,
    )
    return await keep_page(database, turn, kept)


async def _note(database: Database, turn: Turn, end: tuple[str, str], started: float) -> None:
    spent = round((time.perf_counter() - started) * 1000)
    noted = event("fetch", *end, attempt=0, step=0, milliseconds=spent)
    await store_events(database, turn.user_id, turn.id, [noted])
