"""Characters that a terminal obeys rather than shows, and text without them."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x7f-\x9f]")


def printable(text: str) -> str:
    """Replace each character that would steer a terminal by a blank; lines stay lines.

    Shapes: as long as `text`.
    """
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)


def printable_json(text: str) -> str:
    """Escape in JSON the control characters that JSON itself leaves as they are."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
