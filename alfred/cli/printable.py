"""Characters that a terminal obeys rather than shows, and text without them."""

from __future__ import annotations

import json
import unicodedata


def printable(text: str) -> str:
    """Replace each character that would steer a terminal by a blank; lines stay lines.

    Shapes: as long as `text`.
    """
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)


def printable_json(text: str) -> str:
    """Escape in JSON what JSON itself leaves as it is and a terminal would obey or not show."""
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(char if _is_shown(char) else json.dumps(char)[1:-1] for char in text)


def _is_shown(char: str) -> bool:
    return char.isprintable() or char == "\n" or unicodedata.category(char) == "Zs"
