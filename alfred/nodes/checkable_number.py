"""Numbers in a text with their units, and when two of them say the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from alfred.nodes.checkable_text import taken

_UNITS = {
    **dict.fromkeys(("ms", "msec", "millis", "millisecond", "milliseconds", "毫秒"), "ms"),
    **dict.fromkeys(("us", "μs", "microsecond", "microseconds", "微秒"), "us"),
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds", "纳秒"), "ns"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "秒", "秒钟"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes", "分钟"), "min"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "小时", "个小时"), "h"),
    **dict.fromkeys(("d", "day", "days", "天"), "d"),
    **dict.fromkeys(("%", "percent", "pct"), "%"),
    "times": "x",
    **dict.fromkeys(("x", "fold", "倍"), "fold"),
    **{each: each for each in ("b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib")},
    **{each: each for each in ("ki", "mi", "gi", "ti", "k", "g", "qps", "rps", "rpm")},
    **dict.fromkeys(("byte", "bytes", "字节"), "b"),
}
_SCALES = {"k": 10**3, "M": 10**6, "g": 10**9}
"""Units that may also stand for so many ones."""
_TIMES_OF_TEN = {"千": 3, "万": 4, "百万": 6, "千万": 7, "亿": 8}
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+"
_NUMBER = rf"[-+]?(?:{_DIGITS})(?:[eE][-+]?\d{{1,3}})?"
_WHOLE = re.compile(rf"({_NUMBER})([A-Za-zμ%]*)(?:/s|/sec)?", re.ASCII)
_COUNTED = re.compile(r"[xX](\d+)", re.ASCII)
_SPACED = re.compile(
    rf"(?<![A-Za-z0-9_.\-+=:/@,])({_NUMBER})"
    r"(?:\s{1,2}([A-Za-z]+|%)|\s{0,2}(百万|千万|[千万亿])?\s?"
    r"(毫秒|微秒|纳秒|秒钟|秒|分钟|个小时|小时|天|倍|字节)?)(?![A-Za-z0-9_%]|\.\d)",
    re.ASCII,
)
_CHINESE_PERCENT = re.compile(rf"百分之\s?(?:({_NUMBER})|([零〇一二两三四五六七八九十百点]+))")
_CHINESE = re.compile(
    r"[零〇一二两三四五六七八九十百千万亿]{2,}(秒|分钟|小时|个小时|天|倍|毫秒|\s?%|个百分点)?"
)
_NOT_NUMBERS = ("万一", "千万", "万千", "一一")
_ONES = {**{c: i for i, c in enumerate("零一二三四五六七八九")}, "〇": 0, "两": 2}
_TENS = {"十": 10, "百": 100, "千": 1000}
_GROUPS = {"万": 10**4, "亿": 10**8}
_RANGE = re.compile(rf"({_NUMBER})(?:-|/|~|\.\.|->|:|,|=|\+)({_NUMBER}[A-Za-zμ%]*)", re.ASCII)


@dataclass(frozen=True)
class Quantity:
    """A number and its unit, in one spelling; the unit is empty where none is written."""

    value: Decimal
    unit: str = ""

    def says(self, other: Quantity) -> bool:
        """Say whether a text that gives `other` holds this number.

        A unit that only one of them names does no harm, but where it makes another number of it:
        35 is neither 35 %, nor 35 times as much, nor 35 thousand. A count of times may be written
        as a multiple.
        """
        scale = _SCALES.get(self.unit)
        if scale and not other.unit:
            return self.value * scale == other.value
        if self.value != other.value:
            return False
        if self.unit == other.unit or (self.unit, other.unit) == ("x", "fold"):
            return True
        return not self.unit or not (other.unit or self.unit in ("%", "fold"))


Added = Callable[[str, Quantity], None]


def take_spaced(text: str, add: Added) -> str:
    """Hand over numbers in words, and numbers whose unit stands apart; return what is left."""

    def percent(found: re.Match[str]) -> bool:
        value = _decimal(found[1]) if found[1] else _chinese(found[2])
        if value is not None:
            add(found[0], Quantity(value, "%"))
        return value is not None

    def words(found: re.Match[str]) -> bool:
        numeral = found[0].removesuffix(found[1] or "")
        value = None if found[0] in _NOT_NUMBERS else _chinese(numeral)
        if value is not None and set(numeral) & set("十百千万亿"):
            unit = (found[1] or "").strip()
            add(found[0], Quantity(value, "%" if unit == "个百分点" else _UNITS.get(unit, "")))
            return True
        return False

    def spaced(found: re.Match[str]) -> bool:
        word = (found[2] or found[4] or "").lower()
        value = _decimal(found[1])
        if value is None or not (found[3] or word in _UNITS):
            return False
        scaled = value.scaleb(_TIMES_OF_TEN[found[3]]) if found[3] else value
        add(found[0].strip(), Quantity(scaled, _UNITS.get(word, "")))
        return True

    text = taken(_CHINESE_PERCENT, text, percent)
    return taken(_SPACED, taken(_CHINESE, text, words), spaced)


def read_number(written: str) -> Quantity | None:
    """Read one word as a number with the unit that is glued to it; None where it is no number."""
    if counted := _COUNTED.fullmatch(written):
        return Quantity(Decimal(counted[1]).normalize(), "x")
    found = _WHOLE.fullmatch(written)
    if found is None:
        return None
    value = _decimal(found[1])
    if value is None or (found[2] and found[2].lower() not in _UNITS):
        return None
    if found[2] == "M":
        return Quantity(value, "M")
    return Quantity(value, _UNITS.get(found[2].lower(), "") if found[2] else "")


def read_unit(word: str) -> str:
    """Write the word of a unit in its one spelling; empty where it is none."""
    return _UNITS.get(word.lower(), "")


def read_range(written: str) -> tuple[Quantity, Quantity] | None:
    """Read two numbers that are joined, as in 3/5 or 10-20ms; the unit stands for both."""
    found = _RANGE.fullmatch(written)
    if found is None:
        return None
    first, second = read_number(found[1]), read_number(found[2].lstrip("+"))
    if first is None or second is None:
        return None
    return Quantity(first.value, second.unit), second


def _decimal(written: str) -> Decimal | None:
    try:
        value = Decimal(written.replace(",", ""))
    except InvalidOperation:
        return None
    return value.normalize() if value.is_finite() else None


def _chinese(numeral: str) -> Decimal | None:
    """Read a numeral in Chinese characters; None for what counts nothing, such as two ones."""
    whole, _, decimals = numeral.partition("点")
    total, section, digit = 0, 0, None
    for character in whole:
        if character in _GROUPS:
            total += (section + (digit or 0)) * _GROUPS[character]
            section, digit = 0, None
        elif character in _TENS:
            section += (1 if digit is None else digit) * _TENS[character]
            digit = None
        elif digit:
            return None
        else:
            digit = _ONES[character]
    value = str(total + section + (digit or 0))
    if decimals and not set(decimals) <= set(_ONES):
        return None
    fraction = "".join(str(_ONES[character]) for character in decimals)
    return Decimal(f"{value}.{fraction}" if fraction else value).normalize()
