"""How probes write times, numbers, labels and foreign text, so that a line is short and citable."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from alfred.probes.masking import mask_secrets
from alfred.probes.probe import Window

MAX_TEXT_CHARS = 240
_DIGITS = 5
_AS_GIVEN_CHARS = 8
_READ_CHARS = 20_000
"""How much of a text is looked at; far more than is told, so that no secret is cut in two."""
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e"
    "\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]+"
)
"""Control characters, marks that turn the order of what is read, and halves of characters."""


def say_time(moment: datetime, window: Window) -> str:
    """Write a time in UTC: HH:MM:SSZ on a day of the window, with its date on any other."""
    try:
        told = moment.astimezone(UTC)
    except OverflowError:  # year 1 or 9999, in a zone that leads out of the calendar
        return moment.isoformat()
    first = (window.start - timedelta(hours=1)).astimezone(UTC).date()
    if told.date() == window.end.astimezone(UTC).date() and first == told.date():
        return told.strftime("%H:%M:%SZ")
    return told.strftime("%Y-%m-%dT%H:%M:%SZ")


def say_window(window: Window) -> str:
    """Write a window, with its date once."""
    start, end = window.start.astimezone(UTC), window.end.astimezone(UTC)
    last = "%H:%M:%SZ" if start.date() == end.date() else "%Y-%m-%dT%H:%M:%SZ"
    return f"from {start:%Y-%m-%dT%H:%M:%SZ} to {end.strftime(last)}"


def say_number(text: str) -> str:
    """Write a number with few digits; what is short already stays as the source gave it."""
    try:
        value = float(text)
    except ValueError:
        return text
    if not math.isfinite(value) or ("e" not in text.lower() and len(text) <= _AS_GIVEN_CHARS):
        return text
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    if abs(value) >= 10 ** (_DIGITS - 1):
        return str(round(value)) if abs(value) < 1e15 else f"{value:.{_DIGITS - 1}e}"
    return f"{value:.{_DIGITS}g}"


def say_labels(labels: Mapping[str, str]) -> str:
    """Write a label set as `{instance=a:1, service=checkout}`, sorted; nothing for none."""
    pairs = (f"{name}={say_text(value, 80)}" for name, value in sorted(labels.items()))
    return "{" + ", ".join(pairs) + "}" if labels else ""


def without_unseen(text: str) -> str:
    """Blank out what a reader does not see and a terminal might obey, ends of lines too."""
    return _UNSEEN.sub(" ", text).replace("\n", " ")


def say_text(text: str, max_chars: int = MAX_TEXT_CHARS) -> str:
    """Bring foreign text into one line: no control characters, secrets masked, then cut."""
    one_line = " ".join(_UNSEEN.sub(" ", text[:_READ_CHARS]).split())
    masked = mask_secrets(one_line)
    return masked if len(masked) <= max_chars else f"{masked[: max_chars - 1]}…"


def say_count(count: int, noun: str, plural: str = "") -> str:
    """Write a count with its noun: `1 line`, `12 lines`."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"
