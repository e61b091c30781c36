"""Plain text as an input: decoded, valid, bounded, and with something to read in it."""

from __future__ import annotations

import re
from datetime import datetime

from alfred.engine.skill_input import SkillInput
from alfred.errors import InputRefused
from alfred.inputs.decoding import check_size, clean_text, decode_text
from alfred.inputs.language import detect_language

# A keycap is a digit dressed as emoji, and U+FE0F makes an emoji of the letter before it.
_DRESSED_UP = re.compile("[0-9#*]\ufe0f?\u20e3|.\ufe0f")


def read_text(content: bytes | str, *, received_at: datetime, timezone: str) -> SkillInput:
    """Make an input of a text.

    Shapes: one section `main` over the whole; no records; evidence points into `text`, which
            may differ from the original in line ends, NUL and lone surrogates.
    Errors: `input.too_large`, `input.empty`, `input.no_words`; for bytes also
            `input.unsupported` and `input.unreadable`.
    """
    check_size(content)
    text = clean_text(decode_text(content) if isinstance(content, bytes) else content)
    check_size(text)
    check_words(text)
    return SkillInput(
        modality="text",
        text=text,
        language=detect_language(text),
        url=None,
        sections=[{"name": "main", "start": 0, "end": len(text)}],
        records=[],
        received_at=stamp(received_at),
        timezone=timezone,
    )


def check_words(text: str) -> None:
    """Refuse a text with nothing to read: `input.empty`, or `input.no_words` for emoji only."""
    if not any(char.isprintable() and not char.isspace() for char in text):
        raise InputRefused(
            "input.empty",
            "The input is empty.",
            hint="Paste the text or name a file that has some.",
        )
    if not any(char.isalnum() for char in _DRESSED_UP.sub("", text)):
        raise InputRefused(
            "input.no_words",
            f"The input has {len(text):,} characters, but no word and no number.",
            hint="Say in words what it is about.",
        )


def stamp(received_at: datetime) -> str:
    """Write a moment as ISO 8601 with its offset; a moment without one is the caller's mistake."""
    if received_at.utcoffset() is None:
        raise ValueError(f"received_at={received_at!r} has no offset from UTC")
    return received_at.isoformat()
