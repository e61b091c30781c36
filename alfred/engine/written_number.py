"""The ways people write a number, so that it can be found where a model read it."""

from __future__ import annotations

import math
from decimal import Decimal

_LARGEST = 1e15
"""Beyond this a float no longer holds every digit, so nothing could be compared."""
_STYLES = (("", ".,"), (",", "."), (".", ","), (" ", ".,"), ("'", "."))
"""Mark between thousands, and the decimal marks that go with it."""


def written_forms(value: float) -> list[str]:
    """List how a number may be written: 1000, 1,000, 1.000, 1 000, 1'000, 1000.00, 1000,00.

    Words and units (ten, 1k, 1千) are not among them. An infinite number has no form.
    """
    if not math.isfinite(value) or abs(value) >= _LARGEST:
        return []
    sign = "-" if value < 0 else ""
    whole, _, decimals = f"{abs(Decimal(str(value))):f}".partition(".")
    decimals = decimals.rstrip("0")
    # Never filled up to three decimals: 1,000 is a thousand.
    endings = list(dict.fromkeys((decimals, decimals.ljust(1, "0"), decimals.ljust(2, "0"))))
    forms: list[str] = []
    for separator, points in _STYLES:
        if separator and len(whole) < 4:
            continue
        number = sign + (f"{int(whole):,}".replace(",", separator) if separator else whole)
        forms += [number + point + ending for ending in endings if ending for point in points]
        if not decimals:
            forms.append(number)
    return forms
