"""The door for what a person hands in: a page or a text, told apart by name and content."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import PurePath

from alfred.engine.skill_input import SkillInput
from alfred.inputs.decoding import check_size
from alfred.inputs.page import MAX_PAGE_CHARS, decode_page, read_page
from alfred.inputs.text import read_text

_PAGE_SUFFIXES = frozenset({".html", ".htm", ".xhtml", ".xht"})
_PAGE_TYPES = ("text/html", "application/xhtml")
_STATED_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_PAGE_START = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?><!--.*?-->\s*)*+<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_TAG = re.compile(r"<[a-z!][^<>]*>", re.IGNORECASE)


def read_input(
    content: bytes | str,
    *,
    filename: str | None,
    media_type: str = "",
    received_at: datetime,
    timezone: str,
) -> SkillInput:
    """Make an input of a file's bytes or of words.

    A file is a page if its name or its media type says so and it has tags, or if it begins like
    one whatever its name. `media_type` is a Content-Type header, if the content came with one.
    `received_at` needs an offset; `timezone` is an IANA name.
    Errors: `input.empty`, `input.no_words`, `input.too_large`, `input.unreadable` and
    `input.unsupported`.
    """
    check_size(content, max_chars=MAX_PAGE_CHARS)
    text = decode_input(content, media_type) if isinstance(content, bytes) else content
    read = read_page if is_page(text, filename, media_type) else read_text
    return read(text, received_at=received_at, timezone=timezone)


def decode_input(content: bytes, media_type: str = "") -> str:
    """Decode bytes as text, minding the charset that their media type states."""
    charset = _STATED_CHARSET.search(media_type)
    return decode_page(content, stated=charset[1] if charset else None)


def is_page(text: str, filename: str | None, media_type: str = "") -> bool:
    """Say whether a text is HTML rather than words that mention some."""
    head = text[:65_536].removeprefix("\ufeff")
    if _PAGE_START.match(head):
        return True
    suffix = PurePath(filename).suffix.lower() if filename else ""
    is_named_so = suffix in _PAGE_SUFFIXES or media_type.lower().startswith(_PAGE_TYPES)
    return is_named_so and _TAG.search(text) is not None
