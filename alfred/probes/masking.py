"""Hides secrets in what tools return, before it is stored or shown to anybody."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable

from alfred.probes import secret_patterns as patterns

MASK = "[secret]"
ROUNDS = 4
"""A mask can bring two things side by side that are again a name and its value."""

_WHOLE = (
    patterns.PRIVATE_KEY,
    patterns.COOKIE,
    patterns.AUTHORIZATION,
    patterns.IN_URL,
    patterns.DSN,
    patterns.COMMAND,
    patterns.SQL,
    patterns.QUERY,
)
_STATES = frozenset(
    (
        *("absent", "correct", "denied", "empty", "expired", "failed", "false", "has", "incorrect"),
        *("invalid", "is", "mismatch", "missing", "none", "not", "null", "rejected", "required"),
        *("revoked", "true", "undefined", "unknown", "unset", "was", "wrong"),
    )
)
_ALSO_WORDS = frozenset(("token", "secret", "credential", "credentials", "令牌"))
"""Names that also stand before what is none: a count, a word of a parser."""
_IS_REFERENCE = re.compile(r"[<$\[*%]|\{\{|x{3,}$", re.IGNORECASE)
_IS_QUANTITY = re.compile(r"\d{1,5}(?:\.\d+)?(?:ms|s|m|h|d|%|[kKMG]i?B?)?|[\d.]+")
_IS_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")


def mask_secrets(text: str) -> str:
    """Replace what looks like a secret by MASK; what stands around it stays readable.

    Passwords in links, DSNs and settings, headers that log in, cookies, tokens, keys of clouds and
    key files. Hashes, digests, UUIDs, names and numbers stay, unless a name says that they are a
    secret. The time grows with the length; masking twice is masking once.
    """
    for _ in range(ROUNDS):
        masked = _masked_once(text)
        if masked == text:
            break
        text = masked
    return text


def mask_lines(lines: Iterable[str]) -> list[str]:
    """Mask lines that follow each other, also a key file that spreads over several."""
    masked: list[str] = []
    in_key = False
    for line in lines:
        if in_key and "-----END" not in line:
            masked.append(MASK)
            continue
        in_key = "-----BEGIN" in line and "PRIVATE KEY" in line and "-----END" not in line
        masked.append(mask_secrets(line))
    return masked


def _masked_once(text: str) -> str:
    for pattern in _WHOLE:
        text = pattern.sub(_hide, text)
    text = patterns.KNOWN.sub(MASK, text)
    text = patterns.BASIC.sub(_hide_login, text)
    text = patterns.BEARER.sub(_hide_random, text)
    text = patterns.USER_IN_URL.sub(_hide_random, text)
    text = patterns.NAMED.sub(_hide_named, text)
    text = patterns.FLAG.sub(_hide_named, text)
    return "\n".join(map(_without_key_body, text.split("\n")))


def _hide(match: re.Match[str]) -> str:
    before = match["before"]
    if before is None:  # the other branch of a pattern that has two
        return f"{match['before2']}{MASK}"
    value = match["value"]
    return f"{before}{_in_quotes(value)}" if value.strip() else match[0]


def _hide_login(match: re.Match[str]) -> str:
    try:
        is_login = b":" in base64.b64decode(match["value"], validate=True)
    except binascii.Error:
        return match[0]
    return f"{match['before']}{MASK}" if is_login else match[0]


def _hide_random(match: re.Match[str]) -> str:
    value = match["value"]
    is_random = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return f"{match['before']}{MASK}" if is_random else match[0]


def _hide_named(match: re.Match[str]) -> str:
    value = match["value"]
    bare = value.strip("\\\"'")
    if not bare or _IS_REFERENCE.match(bare) or bare.lower().rstrip(".:!") in _STATES:
        return match[0]
    if match["word"].lower() in _ALSO_WORDS:
        is_word = bare.isalpha() and bare.islower() and len(bare) <= 14
        is_told = is_word and match["before"].endswith(": ")
        if is_told or len(bare) < 3 or _IS_QUANTITY.fullmatch(bare):
            return match[0]
    if not bare.isascii() and not any(c.isascii() and c.isalnum() for c in bare):
        return match[0]  # words about a password, in Chinese
    return f"{match['before']}{_in_quotes(value)}"


def _in_quotes(value: str) -> str:
    """Keep the quotes that a value stands in, so that JSON stays JSON."""
    for quote in ('\\\\\\"', '\\\\"', '\\"', '"', "'"):
        if value.startswith(quote) and value.endswith(quote) and len(value) >= 2 * len(quote):
            return f"{quote}{MASK}{quote}"
    return f"{value[0]}{MASK}" if value[0] in "\"'" else MASK


def _without_key_body(line: str) -> str:
    text = line.strip()
    if not patterns.KEY_BODY.fullmatch(line) or _IS_HEX.fullmatch(text):
        return line
    is_mixed = (
        any(c.isdigit() for c in text)
        and any(c.isupper() for c in text)
        and any(c.islower() for c in text)
    )
    is_path = len(text) / (text.count("/") + 1) < 16 and "+" not in text
    is_long = len(text) >= 40 or text.endswith("=") or "+" in text
    return MASK if is_mixed and is_long and not is_path else line
