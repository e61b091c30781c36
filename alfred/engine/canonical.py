"""Canonical text of plain values, so that equal things have equal digests and unequal ones not."""

from __future__ import annotations

import hashlib
import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from types import NoneType
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

_JSON_SCALARS = frozenset({str, int, float, bool, NoneType})
_TEXTUAL = frozenset({UUID, datetime, date, time, timedelta, Decimal})
NAMESPACE = uuid5(NAMESPACE_URL, "alfred-engine")


def canonical(value: Any) -> str:
    """Write a value as JSON with sorted keys; 1 and 1.0 stay different, dates are ISO 8601."""
    return _ENCODER.encode(value)


def digest(value: Any) -> str:
    """SHA-256 over the canonical text, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def derive_id(*parts: object) -> UUID:
    """Make the id that these parts always have; nothing in Alfred's rows is random."""
    return uuid5(NAMESPACE, "/".join(str(part) for part in parts))


def plain(value: Any) -> Any:
    """Turn dates, ids and decimal numbers inside a value into text, as JSON will hold them."""
    if type(value) in _JSON_SCALARS:
        return value
    if type(value) in _TEXTUAL:
        return _plain(value)
    return json.loads(canonical(value))


def _plain(value: object) -> str:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, UUID | Decimal | timedelta):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no canonical text")


_ENCODER = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_plain
)
