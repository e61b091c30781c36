"""Shared vocabularies: 香港, HK and Hong Kong are one place, k8s and Kubernetes one skill."""

from __future__ import annotations

import re

from alfred.engine.database import Row
from alfred.engine.writer import Writer
from alfred.services.text_key import text_key
from alfred.store.tables.job import LOCATION, LOCATION_ALIAS, SKILL, SKILL_ALIAS

_BETWEEN_PLACES = re.compile(r"\s*[/|,，、;；·()（）]\s*")
_MAX_PLACES = 5


async def find_location(writer: Writer, words: str) -> Row | None:
    """Find the place that words name, if the vocabulary has it.

    Several names together are a place only if each names the same one ("香港 (Hong Kong)").
    """
    found = await _find_place(writer, words)
    names = [name for name in _BETWEEN_PLACES.split(words) if name]
    if found is not None or not 2 <= len(names) <= _MAX_PLACES:
        return found
    places = [await _find_place(writer, name) for name in names]
    ids = {place["id"] if place else None for place in places}
    return places[0] if len(ids) == 1 else None


async def find_skill(writer: Writer, words: str) -> Row | None:
    """Find the skill that words name as a whole, if the vocabulary has it."""
    alias = await writer.find(SKILL_ALIAS, {"alias_key": text_key(words)})
    return await writer.get(SKILL, alias["skill_id"]) if alias else None


async def _find_place(writer: Writer, words: str) -> Row | None:
    alias = await writer.find(LOCATION_ALIAS, {"alias_key": text_key(words)})
    return await writer.get(LOCATION, alias["location_id"]) if alias else None
