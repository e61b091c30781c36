"""Dates in English words."""

from __future__ import annotations

import re
from datetime import date, timedelta
from re import Match

from alfred.engine.calendar_days import (
    Moment,
    Reading,
    add_months,
    add_working_days,
    coming_weekday,
    day,
    end_of_month,
    end_of_named_month,
    weekday_of_week,
    without_year,
)

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NUMBERS = {
    word: number
    for number, word in enumerate(str.split("one two three four five six seven eight nine ten"), 1)
} | {"a": 1, "an": 1, "twelve": 12, "fourteen": 14, "fifteen": 15, "thirty": 30}
_MONTH = (
    r"(?<![a-z])(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])\.?"
)
_WEEKDAY = (
    r"(mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?"
    r"|sat(?:urday)?|sun(?:day)?)(?![a-z])"
)
_NTH = r"(\d{1,2})(?:st|nd|rd|th)?"
_NUMBER = rf"(\d{{1,4}}|{'|'.join(_NUMBERS)})[ -]"
_COUNT = _NUMBER + r"(business |working |calendar )?"
_UNIT = r"(day|week|fortnight|month|year)s?(?![a-z])"
_NOW = r"(?! (?:of|after|before|following|prior|from (?!now|today)))"
"""A span of time counted from an event that nobody dated names no day."""


def _day_month(match: Match[str], moment: Moment) -> date | None:
    return _resolved(match[4] or match[3], _month(match[2]), int(match[1]), moment)


def _month_day(match: Match[str], moment: Moment) -> date | None:
    return _resolved(match[4], _month(match[1]), int(match[3] or match[2]), moment)


def _resolved(year: str | None, month: int, number: int, moment: Moment) -> date | None:
    if year is None:
        return without_year(month, number, moment)
    return day(int(year) + (2000 if len(year) == 2 else 0), month, number)


def _month(name: str) -> int:
    return _MONTHS.index(name[:3]) + 1


def _end_of_month(match: Match[str], moment: Moment) -> date | None:
    month, year = _month(match[1]), match[2]
    return end_of_month(int(year), month) if year else end_of_named_month(month, moment)


def _middle_of_month(match: Match[str], moment: Moment) -> date | None:
    return _resolved(match[2], _month(match[1]), 15, moment)


def _end_of(match: Match[str], moment: Moment) -> date:
    """A week ends on Friday: the earlier of its two ends is the safe one."""
    ahead, unit, today = int(match[1] == "next "), match[2], moment.today
    if unit == "week":
        return weekday_of_week(today, 4, ahead)
    if unit == "month":
        month = add_months(today.replace(day=1), ahead)
        return end_of_month(month.year, month.month)
    return date(today.year + ahead, 12, 31)


def _end_of_this(match: Match[str], moment: Moment) -> date:
    if match[0].startswith(("month", "eom")):
        return end_of_month(moment.today.year, moment.today.month)
    return date(moment.today.year, 12, 31)


def _day_after_tomorrow(match: Match[str], moment: Moment) -> date:
    return moment.today + timedelta(days=2)


def _named_day(match: Match[str], moment: Moment) -> date:
    ahead = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}[match[0]]
    return moment.today + timedelta(days=ahead)


def _ahead(match: Match[str], moment: Moment) -> date:
    return _counted(_count(match[1]), match[2], match[3], moment)


def _ahead_or_ago(match: Match[str], moment: Moment) -> date:
    count = _count(match[1])
    return _counted(-count if match[4] == "ago" else count, match[2], match[3], moment)


def _count(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS[word]


def _counted(count: int, kind: str | None, unit: str, moment: Moment) -> date:
    if kind in ("business ", "working "):
        return add_working_days(moment.today, max(0, count))
    if unit in ("month", "year"):
        return add_months(moment.today, count * (12 if unit == "year" else 1))
    return moment.today + timedelta(days=count * {"day": 1, "week": 7, "fortnight": 14}[unit])


def _weeks_from_weekday(match: Match[str], moment: Moment) -> date:
    coming = coming_weekday(moment.today, _DAYS.index(match[2][:3]))
    return coming + timedelta(weeks=_count(match[1]))


def _weekday(match: Match[str], moment: Moment) -> date | None:
    """`next Friday` is the Friday of next week, `Friday` and `this Friday` the coming one."""
    which, weekday = (match[1] or "").strip(), _DAYS.index(match[2][:3])
    if which in ("every", "each"):
        return None
    if which in ("next", "last"):
        return weekday_of_week(moment.today, weekday, 1 if which == "next" else -1)
    return coming_weekday(moment.today, weekday)


_YEAR = r"(?:,? ?(?:of )?(\d{4})(?!\d))?"
_SHORT_OR_FULL_YEAR = rf"(?:-(\d{{2}})(?!\d| ?(?:{'|'.join(_MONTHS)}))|[ ,-]*(\d{{4}})(?!\d))?"
_RANGE = rf"(?: ?(?:-|to|until) ?{_NTH}(?![\d:]))?"
DATES: tuple[Reading, ...] = (
    (re.compile(rf"end of {_MONTH}{_YEAR}"), _end_of_month),
    (re.compile(rf"mid(?:dle of)?[ -]{_MONTH}{_YEAR}"), _middle_of_month),
    (re.compile(rf"(?<![\d.:]){_NTH}(?: of)?[ -]?{_MONTH}{_SHORT_OR_FULL_YEAR}"), _day_month),
    (re.compile(rf"{_MONTH} ?{_NTH}(?![\d:]){_RANGE}{_YEAR}"), _month_day),
)
DAYS: tuple[Reading, ...] = (
    (re.compile(r"end of (?:the |this )?(next )?(week|month|year)"), _end_of),
    (re.compile(r"(?<![a-z])(?:month[ -]end|eom|year[ -]end|eoy)(?![a-z])"), _end_of_this),
    (re.compile(r"day after tomorrow"), _day_after_tomorrow),
    (re.compile(r"(?<![a-z])(?:today|tonight|tomorrow|yesterday)(?![a-z])"), _named_day),
    (
        re.compile(rf"(?<![a-z])(?:in|within|next)(?: the)?(?: next)? {_COUNT}{_UNIT}{_NOW}"),
        _ahead,
    ),
    (re.compile(rf"(?<![a-z\d]){_COUNT}{_UNIT} (from now|from today|later|ago)"), _ahead_or_ago),
    (re.compile(rf"(?<![a-z\d]){_NUMBER}weeks? from {_WEEKDAY}"), _weeks_from_weekday),
)
WEEKDAYS: tuple[Reading, ...] = (
    (
        re.compile(rf"(?<![a-z])(this |next |last |every |each )?(?:coming )?{_WEEKDAY}"),
        _weekday,
    ),
)
