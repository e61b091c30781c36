"""Dates that a model copied as words, resolved by code against the time of the message."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from zoneinfo import ZoneInfo

from alfred.engine import chinese_dates, english_dates, numeric_dates
from alfred.engine.calendar_days import Moment, Reading

MAX_CHARS = 300
"""Longer words are a text that may mention days, and no date."""
_MAX_YEARS = 100
_RANGE = re.compile(
    r"[\s日号]*(?:\([^()]{0,12}\))?\s*(?:-{1,2}|~|至|到|to|until|till|through)[\s日号]*"
)
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−～〜", "-"))

# Earlier tiers are more exact: "Friday, 15 January" is the day it names, whatever its weekday.
_TIERS: tuple[tuple[Reading, ...], ...] = (
    (*numeric_dates.WITH_YEAR, *chinese_dates.DATES, *english_dates.DATES),
    numeric_dates.WITHOUT_YEAR,
    (*chinese_dates.DAYS, *english_dates.DAYS),
    (*chinese_dates.WEEKDAYS, *english_dates.WEEKDAYS),
)
_CHINESE_TIERS = (*_TIERS[:2], numeric_dates.WITHOUT_YEAR_CHINESE, *_TIERS[2:])


def resolve_date(words: str, *, received_at: datetime, timezone: str, language: str) -> date | None:
    """Resolve words such as "下周五" or "by 15 Jan" to the day they mean.

    A day without a year is the next one, unless it passed within the last two weeks; a weekday
    is the coming one; "next Friday" and 下周五 are next week's, weeks beginning on Monday; of a
    range its end counts. A date with a time is taken as written. 03/04/2027 is nobody's to
    know, except in Chinese without the year (3/4 is 4 March).
    Shapes: `language` is `zh` or `en` and only decides such orders; both are always understood.
    Errors: none for any words; None where they name no day, several, or one beyond a hundred
            years. A `received_at` without an offset is the caller's mistake (ValueError).
    """
    if received_at.utcoffset() is None:
        raise ValueError(f"received_at={received_at!r} has no offset from UTC")
    text = _folded(words)
    if len(text) > MAX_CHARS:
        return None
    moment = Moment(received_at.astimezone(ZoneInfo(timezone)).date(), language)
    for readings in _CHINESE_TIERS if language == "zh" else _TIERS:
        matches = _matches(text, readings)
        if matches:
            found = _day_of(text, matches, moment)
            return found if found and _is_near(found, moment.today) else None
    return None


def _folded(words: str) -> str:
    text = unicodedata.normalize("NFKC", words[: 4 * MAX_CHARS]).casefold().translate(_DASHES)
    return chinese_dates.arabic_numerals(" ".join(text.split()))


_Match = tuple[re.Match[str], Reading]


def _matches(text: str, readings: Sequence[Reading]) -> list[_Match]:
    """Find what the readings match, in order; where two overlap, the earlier listed one counts."""
    found: list[_Match] = []
    for reading in readings:
        for match in reading[0].finditer(text):
            if all(match.end() <= m.start() or match.start() >= m.end() for m, _ in found):
                found.append((match, reading))
    return sorted(found, key=lambda each: each[0].start())


def _day_of(text: str, matches: list[_Match], moment: Moment) -> date | None:
    days: list[date] = []
    end_of_last = 0
    for match, (_, meaning) in matches:
        try:
            found = meaning(match, moment)
        except (ValueError, OverflowError):
            return None  # beyond the years that the calendar has
        if found is None:
            return None
        if days and found != days[-1]:
            if not _RANGE.fullmatch(text, end_of_last, match.start()):
                return None
            days.pop()
        days.append(found)
        moment = replace(moment, before=found)
        end_of_last = match.end()
    return days[-1]


def _is_near(found: date, today: date) -> bool:
    return abs(found.year - today.year) <= _MAX_YEARS
