"""CSS colours, as far as one has to know whether words can be told from what is behind them."""

from __future__ import annotations

import re
from typing import NamedTuple

_HEX = re.compile(r"#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})\b")
_CALL = re.compile(r"rgba?\(([^()]*)\)")
_NAMED = {
    "white": "ffffff",
    "snow": "fffafa",
    "ivory": "fffff0",
    "ghostwhite": "f8f8ff",
    "whitesmoke": "f5f5f5",
    "floralwhite": "fffaf0",
    "azure": "f0ffff",
    "mintcream": "f5fffa",
    "black": "000000",
    "transparent": "00000000",
}
_WORD = re.compile(r"(?<![\w-])(?:" + "|".join(_NAMED) + r")(?![\w-])")
_MIN_ALPHA = 0.1
_MIN_DISTANCE = 24
"""Difference of the brightest channel, of 255, below which nobody reads one colour on another."""


class Colour(NamedTuple):
    """Red, green and blue in 0..255, and how opaque it is, in 0..1."""

    red: float
    green: float
    blue: float
    alpha: float

    @property
    def is_invisible(self) -> bool:
        return self.alpha < _MIN_ALPHA

    def is_like(self, other: Colour) -> bool:
        """Say whether words in one colour can't be read on the other."""
        pairs = zip(self[:3], other[:3], strict=True)
        return max(abs(one - two) for one, two in pairs) < _MIN_DISTANCE


WHITE = Colour(255, 255, 255, 1)
BLACK = Colour(0, 0, 0, 1)


def read_colour(value: str) -> Colour | None:
    """Read the first colour of a declaration's value, in lower case; None where it names none.

    Names other than those of the lightest and darkest colours, and calls such as `var()`, are
    not read.
    """
    if found := _HEX.search(value):
        return _from_hex(found[1])
    if found := _CALL.search(value):
        return _from_channels(re.split(r"[\s,/]+", found[1].strip()))
    if found := _WORD.search(value):
        return _from_hex(_NAMED[found[0]])
    return None


def _from_hex(digits: str) -> Colour:
    whole = "".join(char * 2 for char in digits) if len(digits) < 6 else digits
    channels = [int(whole[at : at + 2], 16) for at in range(0, len(whole), 2)]
    alpha = channels[3] / 255 if len(channels) == 4 else 1.0
    return Colour(channels[0], channels[1], channels[2], alpha)


def _from_channels(parts: list[str]) -> Colour | None:
    try:
        red, green, blue = (_amount(part, 255) for part in parts[:3])
        alpha = _amount(parts[3], 1) if len(parts) > 3 else 1.0
    except ValueError:
        return None
    return Colour(red, green, blue, alpha)


def _amount(written: str, whole: float) -> float:
    if written.endswith("%"):
        return float(written[:-1]) / 100 * whole
    return float(written)
