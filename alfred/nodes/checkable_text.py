"""One way of writing for texts that are compared: widths, quotation marks, dashes, labels."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

_MARKS = str.maketrans(
    {
        **dict.fromkeys("“”„«»「」『』〝〞", '"'),
        **dict.fromkeys("‘’‚", "'"),
        **dict.fromkeys("−‐‑‒–—", "-"),
        "→": " -> ",
        "、": ",",
        "×": "x",
        "⁄": "/",
    }
)
_LABEL = re.compile(r"""=\s?(?:"([^"\s]*)"|'([^'\s]*)')""")


_VARIANT = re.compile("[\u034f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")


def visible(text: str) -> str:
    """Leave out what a reader cannot see: zero-width characters, marks that turn the direction."""
    return _VARIANT.sub("", "".join(c for c in text if unicodedata.category(c) != "Cf"))


def plain_text(text: str) -> str:
    """Write a text in half width with plain marks; `a="b"` becomes `a=b`. Case stays.

    Characters that cannot be seen are gone, and the digits of other scripts are plain ones.
    """
    written = unicodedata.normalize("NFKC", visible(text).translate(_MARKS)).translate(_MARKS)
    written = _OTHER_DIGIT.sub(lambda found: str(unicodedata.decimal(found[0])), written)
    return _LABEL.sub(lambda found: "=" + (found[1] or found[2] or ""), written)


def taken(pattern: re.Pattern[str], text: str, take: Callable[[re.Match[str]], bool]) -> str:
    """Hand each match to `take`, and blank those that it keeps."""

    def keep(found: re.Match[str]) -> str:
        return " " * len(found[0]) if take(found) else found[0]

    return pattern.sub(keep, text)
