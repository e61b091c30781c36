"""Approved notes of past incidents, as guidance for a later diagnosis and never as evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC

from sqlalchemy import select

from alfred.engine.database import Connection, Row
from alfred.store.reading import rows
from alfred.store.tables.diagnosis import INCIDENT_NOTE

_READ = 200
"""How many of the latest notes are compared."""
_WORD = re.compile(r"[a-z0-9_]{4,}|(?=([\u4e00-\u9fff]{2}))")
_SENTENCES = {
    "en": "Past incident of {day} ({services}): {title}.{cause}",
    "zh": "过去的事故 {day}（{services}）：{title}。{cause}",
}
_CAUSES = {"en": " Its cause was: {cause}.", "zh": "原因：{cause}。"}
_NO_SERVICE = {"en": "no service named", "zh": "未写明服务"}


async def list_incidents(connection: Connection, *, limit: int = 50) -> list[Row]:
    """List approved notes, the latest incident first.

    Shapes: id, run_id, title, finding, cause, services, window_start, window_end, body, created_at.
    """
    table = INCIDENT_NOTE.c
    return await rows(
        connection,
        select(
            *(table.id, table.run_id, table.title, table.finding, table.cause, table.services),
            *(table.window_start, table.window_end, table.body, table.created_at),
        )
        .order_by(table.window_end.desc(), table.created_at.desc(), table.id)
        .limit(limit),
    )


async def past_incidents(
    connection: Connection,
    scope: Mapping[str, str],
    words: str,
    *,
    language: str = "en",
    limit: int = 3,
) -> list[str]:
    """Tell approved notes that speak of the same services or share words, a sentence each.

    Those of a service in `scope` come first, then those with more words in common, then later
    ones; a note with neither is left out.
    """
    wanted = {value.casefold() for value in scope.values()}
    asked = _words(words)
    ranked: list[tuple[bool, int, str]] = []
    for note in await list_incidents(connection, limit=_READ):
        is_same = bool(wanted & {service.casefold() for service in note["services"]})
        shared = len(asked & _words(f"{note['title']} {note['cause'] or ''}"))
        if is_same or shared:
            ranked.append((is_same, shared, _sentence(note, language)))
    ranked.sort(key=lambda each: each[:2], reverse=True)
    return [sentence for _, _, sentence in ranked[:limit]]


def _words(text: str) -> set[str]:
    """Collect longer words, and of Chinese each pair of characters."""
    return {found[1] or found[0] for found in _WORD.finditer(text.casefold())}


def _sentence(note: Row, language: str) -> str:
    cause = note["cause"]
    return _SENTENCES[language].format(
        day=note["window_end"].astimezone(UTC).date().isoformat(),
        services=", ".join(note["services"]) or _NO_SERVICE[language],
        title=note["title"].rstrip("。."),
        cause=_CAUSES[language].format(cause=cause.rstrip("。.")) if cause else "",
    )
