"""Keys by which two spellings of the same name or sentence are recognised as one."""

from __future__ import annotations

import hashlib
import re
import unicodedata

MAX_KEY_CHARS = 120
"""Longer keys end in a digest: three of them fit one index row of PostgreSQL (2,704 bytes)."""

_BULLETS = " \t-–—•·*●▪◦"
_TRAILING = " \t.。;；,，、:："
_LEGAL_FORM = re.compile(
    r"(?:,?\s+(?:co|pte|pty)\.?)?,?\s+(?:ltd|limited)\.?$"
    r"|,?\s+(?:inc|llc|gmbh|plc)\.?$"
    r"|(?:股份)?有限(?:责任)?公司$"
)


def one_line(text: str) -> str:
    """Collapse all white space to single spaces."""
    return " ".join(text.split())


def text_key(text: str) -> str:
    """Make the key of a name or sentence: NFKC, case, white space, bullets and full stops aside.

    Shapes: at most `MAX_KEY_CHARS` characters, never empty for a text that is not blank, and
            without `/`, which joins keys to the name of a row: a/b of c is not a of b/c.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    key = one_line(folded)
    bare = key.lstrip(_BULLETS).rstrip(_TRAILING)
    # NFKC has folded every wide slash, so that none of the text's own can be taken for this one.
    return _shorten((bare or key).replace("/", "／"))


def organization_key(name: str) -> str:
    """Make the key of an organization: as `text_key`, and the legal form aside.

    Only forms that never tell two employers apart are dropped (Inc, Ltd, GmbH, 有限公司 and the
    like), and only where a name remains.
    """
    key = text_key(name)
    return _LEGAL_FORM.sub("", key) or key


def _shorten(key: str) -> str:
    if len(key) <= MAX_KEY_CHARS:
        return key
    rest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return f"{key[: MAX_KEY_CHARS - 17]}~{rest}"
