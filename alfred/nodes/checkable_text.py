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
    }
)
_LABEL = re.compile(r"""=\s?(?:"([^"\s]*)"|'([^'\s]*)')""")


def plain_text(text: str) -> str:
    """Write a text in half width with plain marks; `a="b"` becomes `a=b`. Case stays."""
    written = unicodedata.normalize("NFKC", text.translate(_MARKS)).translate(_MARKS)
    return _LABEL.sub(lambda found: "=" + (found[1] or found[2] or ""), written)


def taken(pattern: re.Pattern[str], text: str, take: Callable[[re.Match[str]], bool]) -> str:
    """Hand each match to `take`, and blank those that it keeps."""

    def keep(found: re.Match[str]) -> str:
        return " " * len(found[0]) if take(found) else found[0]

    return pattern.sub(keep, text)
