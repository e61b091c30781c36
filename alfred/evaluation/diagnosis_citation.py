"""Whether what an answer says stands in what it cites: the scorer's own check, strict and apart.

It shares no code with the checks that the diagnosis makes of itself: a second pair of eyes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal

_REFERENCE = re.compile(r"\[[EF]\d+(?:\s*,\s*[EF]\d+)*\]|\b[EF]\d+\b")
_QUOTED = re.compile(r'"([^"\n]{1,200})"|“([^”\n]{1,200})”|`([^`\n]{1,200})`|「([^」\n]{1,200})」')
_WORD = re.compile(r"[A-Za-z0-9_./:@#$%+\-]+")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:%|[A-Za-z]{1,3})?")
_VALUE = re.compile(r"[-+]?\d+(?:\.\d+)?")
_IN_EVIDENCE = re.compile(r"(?<![\w.\-])(?<!\d:)[-+]?\d+(?:\.\d+)?(?![\d])(?![:\-]\d)", re.ASCII)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_JOINED = re.compile(r"[a-z]+(?:[-/][a-z]+)+", re.IGNORECASE)
_PROSE = re.compile(
    r"(?:and/or|e\.g|i\.e|n/a|i/o)"
    r"|(?:non|re|pre|post|self|long|short|high|low|multi|well|un|co|one|two|three)-.+"
    r"|.+-(?:only|heavy|running|lived|based|related|wide|level|time|term|free|up|out|off|down)"
    r"|(?:.+-)?[a-z]{1,2}-.+|.+-[a-z]",
    re.IGNORECASE,
)
"""Compounds of ordinary English, which no evidence needs to hold."""
_PERCENT = re.compile(r"%|percent|per cent|pct|百分")
_UNSEEN = re.compile("[\u00ad\u034f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")
_LETTER = re.compile(r"[A-Za-z]")


def checkables(text: str) -> list[str]:
    """List what can be looked up of a sentence: its numbers, identifiers and quoted words.

    References such as E1 or F2 are none. Words of letters alone are none, unless quoted, of mixed
    case inside, or joined by a sign as names of services are.
    """
    plain = _REFERENCE.sub(" ", _folded(text))
    quoted = [next(words for words in found.groups() if words) for found in _QUOTED.finditer(plain)]
    words = (
        word.strip(".:-+@/#") if not word.startswith("/") else word.rstrip(".:-+@/#")
        for word in _WORD.findall(_QUOTED.sub(" ", plain))
    )
    return [*quoted, *(word for word in words if _is_checkable(word))]


def unsupported(text: str, excerpts: Sequence[str]) -> list[str]:
    """List what of a sentence stands in none of the excerpts.

    A number stands there where one of the same value does, whatever its unit, but that a percentage
    needs evidence that tells something in per cent; anything else where it stands letter for
    letter, as a word of its own, case aside.
    """
    evidence = _folded("\n".join(excerpts))
    values = set(_values(evidence))
    low = evidence.casefold()
    return [token for token in checkables(text) if not _stands(token, low, values)]


def _stands(token: str, evidence: str, values: set[Decimal]) -> bool:
    if _NUMBER.fullmatch(token):
        found = _VALUE.match(token)
        assert found
        is_told = not token.endswith("%") or _PERCENT.search(evidence) is not None
        return is_told and Decimal(found[0]) in values
    pattern = rf"(?<![a-z0-9]){re.escape(token.casefold())}(?![a-z0-9])"
    return re.search(pattern, evidence) is not None


def _values(evidence: str) -> Iterator[Decimal]:
    for found in _IN_EVIDENCE.finditer(evidence):
        yield Decimal(found[0])


def _is_checkable(word: str) -> bool:
    if any(sign.isdigit() for sign in word):
        return True
    if not _LETTER.search(word) or _PROSE.fullmatch(word):
        return False
    if _JOINED.fullmatch(word):
        return True
    has_sign = any(sign in "_./:@#$" for sign in word)
    is_mixed = re.search(r"[a-z][A-Z]", word) is not None
    return has_sign or is_mixed


def _folded(text: str) -> str:
    # Before folding: a comma between numbers of a Chinese list becomes one of thousands by it.
    seen = _UNSEEN.sub("", text)
    plain = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in seen)
    return unicodedata.normalize("NFKC", _THOUSANDS.sub("", plain))
