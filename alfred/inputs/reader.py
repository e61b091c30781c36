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
_PAGE_START = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?><!--.*?-->\s*)*+<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_TAG = re.compile(r"<[a-z!][^<>]*>", re.IGNORECASE)


def read_input(
    content: bytes | str, *, filename: str | None, received_at: datetime, timezone: str
) -> SkillInput:
    """Make an input of a file's bytes or of words.

    A file is a page if its name says so and it has tags, or if it begins like one whatever its
    name. `received_at` needs an offset; `timezone` is an IANA name.
    Errors: `InputRefused` with every code but `input.unmatched`.
    """
    check_size(content, max_chars=MAX_PAGE_CHARS)
    text = decode_page(content) if isinstance(content, bytes) else content
    read = read_page if is_page(text, filename) else read_text
    return read(text, received_at=received_at, timezone=timezone)


def is_page(text: str, filename: str | None) -> bool:
    """Say whether a text is HTML rather than words that mention some."""
    head = text[:65_536].removeprefix("\ufeff")
    if _PAGE_START.match(head):
        return True
    suffix = PurePath(filename).suffix.lower() if filename else ""
    return suffix in _PAGE_SUFFIXES and _TAG.search(text) is not None
