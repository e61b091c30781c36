"""Reads schema.org JobPosting records, exactly and without a model; what is odd is left out."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from alfred.engine.skill_input import SkillInput

MAX_REQUIREMENTS = 20
_MAX_VALUE, _MAX_REQUIREMENT, _MAX_ADDRESS = 120, 300, 1900
_IS_ADDRESS = re.compile(r"https?://\S+$", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_SENTENCE_END = re.compile(r"\n|(?<=[；;。])|(?<=[.!?])\s+(?=[A-Z])")
_LIST_ITEM_END = re.compile(r"[\n,，、;；]")
_REQUIREMENTS = (
    ("skills", "skill"),
    ("qualifications", "qualification"),
    ("educationRequirements", "qualification"),
    ("experienceRequirements", "experience"),
)


_WORTH_A_CALL = ("company", "title", "location", "requirements")
"""With these known, no model is asked for the rest: it takes half a minute on a laptop."""


def read_job_posting(given: SkillInput) -> dict[str, Any]:
    """Read the input's only JobPosting record; no record, or several, give nothing.

    Of a page with several, the engine makes an input for each.

    None stands for a field that is not stated and not worth asking a model for.

    Every value stands in the input's text, where its evidence will be found. Real pages put the
    company's name in `addressLocality` and HTML anywhere: neither becomes a value.
    """
    postings = [r["value"] for r in given["records"] if r["type"] == "JobPosting"]
    if len(postings) != 1:
        return {}
    reading = _Reading(given["text"])
    posting = cast("Mapping[str, Any]", postings[0])
    company = reading.value(_name(posting.get("hiringOrganization")))
    found = {
        "company": company,
        "title": reading.value(posting.get("title")),
        "location": _location(posting, company, reading),
        "deadline": reading.value(posting.get("validThrough"), 60),
        "requirements": list(_requirements(posting, reading)) or None,
    }
    stated = {name: value for name, value in found.items() if value}
    if set(_WORTH_A_CALL) <= set(stated):
        return {**found, **stated}
    return stated


def read_address(given: SkillInput) -> str | None:
    """Read the address that the page's only JobPosting record gives itself."""
    postings = [r["value"] for r in given["records"] if r["type"] == "JobPosting"]
    if len(postings) != 1:
        return None
    address = _Reading(given["text"]).value(postings[0].get("url"), _MAX_ADDRESS)
    return address if address and _IS_ADDRESS.match(address) else None


class _Reading:
    """Takes values over only as they stand in the text."""

    def __init__(self, text: str) -> None:
        self._text = " ".join(text.split())

    def value(self, raw: object, max_chars: int = _MAX_VALUE) -> str | None:
        """Return a text that is short, has words and stands in the input; None otherwise."""
        if not isinstance(raw, str):
            return None
        plain = " ".join(html.unescape(_TAG.sub(" ", html.unescape(raw))).split())
        is_usable = any(map(str.isalnum, plain)) and len(plain) <= max_chars
        return plain if is_usable and plain in self._text else None


def _items(raw: object) -> list[Any]:
    """Treat a single value as a list of one; schema.org allows both everywhere."""
    if raw is None:
        return []
    return cast("list[Any]", raw) if isinstance(raw, list) else [raw]


def _name(raw: object) -> object:
    """Take the name of an object, or the text that stands in its place."""
    for item in _items(raw):
        if isinstance(item, str):
            return item
        if isinstance(item, dict):
            named = cast("dict[str, Any]", item)
            return named.get("name") or named.get("legalName")
    return None


def _location(posting: Mapping[str, Any], company: str | None, reading: _Reading) -> str | None:
    places = [
        place
        for item in _items(posting.get("jobLocation"))
        if (place := _place(item, company, reading))
    ]
    if places:
        # Several places have no one value that stands in the text; the model may read them.
        return places[0] if len(set(places)) == 1 else None
    if "TELECOMMUTE" in _items(posting.get("jobLocationType")):
        return reading.value("TELECOMMUTE")
    return None


def _place(item: object, company: str | None, reading: _Reading) -> str | None:
    """Name a place by the most telling part of its address that is no repetition of the company."""
    if isinstance(item, str):
        return reading.value(item)
    if not isinstance(item, dict):
        return None
    place = cast("dict[str, Any]", item)
    address = place.get("address", place)
    if isinstance(address, str):
        return reading.value(address)
    parts = cast("dict[str, Any]", address) if isinstance(address, dict) else {}
    for field in ("addressLocality", "addressRegion", "addressCountry"):
        found = reading.value(_name(parts.get(field)))
        if found and found != company:
            return found
    return reading.value(place.get("name"))


def _requirements(posting: Mapping[str, Any], reading: _Reading) -> Iterator[dict[str, str]]:
    seen: set[str] = set()
    for field, kind in _REQUIREMENTS:
        for raw in _items(posting.get(field)):
            for text in _sentences(_described(raw), is_list=field == "skills"):
                found = reading.value(text, _MAX_REQUIREMENT)
                if found and found not in seen and len(seen) < MAX_REQUIREMENTS:
                    seen.add(found)
                    yield {"kind": kind, "text": found}


def _described(raw: object) -> object:
    if not isinstance(raw, dict):
        return raw
    described = cast("dict[str, Any]", raw)
    return described.get("description") or described.get("credentialCategory") or _name(described)


def _sentences(raw: object, *, is_list: bool) -> Iterable[str]:
    if not isinstance(raw, str):
        return ()
    lines = re.sub(r"(?i)<(?:br|/?li|/?p|/?ul|/?div)[^<>]*>", "\n", html.unescape(raw))
    pieces = (_LIST_ITEM_END if is_list else _SENTENCE_END).split(_TAG.sub(" ", lines))
    return [piece.strip(" \t\r\n-–•·*") for piece in pieces]
