"""Counts and shares that a sentence writes in words: two, a dozen, half, doubled, 三个, 两成."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

from alfred.nodes.checkable_text import taken

_SMALL = (
    *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES = {
    **{word: number for number, word in enumerate(_SMALL, start=2)},
    **{word: 10 * number for number, word in enumerate(_TENS, start=2)},
    **{"a": 1, "one": 1, "dozen": 12, "hundred": 100, "thousand": 1000},
    **{"million": 10**6, "billion": 10**9, "both": 2},
}
_SCALE = "dozen|hundred|thousand|million|billion"
_FIRST, _ONES = "|".join((*_TENS, *_SMALL)), "|".join(("one", *_SMALL[:8]))
_COUNT = re.compile(
    rf"(?<![\w-])(?:(?P<first>{_FIRST})(?:[- ](?P<ones>{_ONES})(?![\w-]))?"
    rf"(?:[- ](?P<scale>{_SCALE}))?|(?:a|one) (?P<alone>{_SCALE})|(?P<both>both))"
    r"(?:[- ](?P<unit>percent|milliseconds?|seconds?|minutes?|hours?|days?|times|fold))?(?![\w])",
    re.IGNORECASE,
)
_SCALED = re.compile(
    rf"(?<![\w.\-])(?P<digits>\d+(?:\.\d+)?) (?P<scale>{_SCALE})s?(?!\w)", re.IGNORECASE | re.ASCII
)
_TWICE = re.compile(r"\btwice\b", re.IGNORECASE)
_SHARE = re.compile(
    r"\b(?:half|halves|halved|halving|thirds|two-thirds|quarters|three-quarters|dozens|hundreds"
    r"|thousands|millions|billions|doubled?|doubles|doubling|tripled?|triples|tripling"
    r"|quadrupled?|(?:two|three|four|five|six|ten|hundred)fold)\b(?!-)"
    r"|(?<=\ba )(?:third|quarter|fifth|tenth)(?= of\b)|(?<=\bone )(?:third|quarter)(?= of\b)"
    r"|[一二两三四五六七八九十百]+分之[一二两三四五六七八九十百]+|一半|大半|过半"
    r"|(?:翻|成|一)倍|翻[一二两三四五六七八九十]?番|[几数上][十百千万亿]+|[一二两三四五六七八九十]成(?!功|为)",
    re.IGNORECASE,
)
_CHINESE_COUNT = re.compile(
    r"(?<![第一二两三四五六七八九十百千万亿几数星期周])(?P<digit>[二两三四五六七八九]|十(?=[个台次条名位项]))"
    r"(?P<unit>个?小时|分钟|毫秒|秒钟?|天|倍|(?=[个台次条名位项种组份遍处批]))"
)
_CLOCK = re.compile(
    r"[一二两三四五六七八九十]{1,3}点(?:半|钟|整|[一二三四五六七八九十]{1,3}分)"
    r"|(?:上午|下午|早上|晚上|凌晨|中午)[一二两三四五六七八九十]{1,3}点"
)
_DIGITS = {each: value for value, each in enumerate("二三四五六七八九十", start=2)} | {"两": 2}

Counted = Callable[[str, Decimal, str], None]
"""Takes a count as written, its value, and the word of its unit, which may be empty."""


def take_counts(text: str, add: Counted) -> str:
    """Hand over each count in words; return what is left."""

    def english(found: re.Match[str]) -> bool:
        parts = {name: (part or "").lower() for name, part in found.groupdict().items()}
        value = _VALUES.get(parts["first"] or parts["both"], 0) + _VALUES.get(parts["ones"], 0)
        value = (value or 1) * _VALUES.get(parts["scale"] or parts["alone"], 1)
        add(found[0], Decimal(value), parts["unit"])
        return True

    def scaled(found: re.Match[str]) -> bool:
        value = Decimal(found["digits"]) * _VALUES[found["scale"].lower()]
        add(found[0], value, "")
        return True

    def twice(found: re.Match[str]) -> bool:
        add(found[0], Decimal(2), "times")
        return True

    def chinese(found: re.Match[str]) -> bool:
        add(found[0], Decimal(_DIGITS[found["digit"]]), found["unit"])
        return True

    for pattern, take in (
        (_SCALED, scaled),
        (_COUNT, english),
        (_TWICE, twice),
        (_CHINESE_COUNT, chinese),
    ):
        text = taken(pattern, text, take)
    return text


def take_shares(text: str, add: Callable[[str], None]) -> str:
    """Hand over shares, growth, vague amounts and hours in words; return what is left.

    Evidence has to use the same word: what a share is of, and how exact it is, no number tells.
    """

    def share(found: re.Match[str]) -> bool:
        add(found[0])
        return True

    return taken(_SHARE, taken(_CLOCK, text, share), share)
