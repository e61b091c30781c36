"""Dates in digits: year first, or day and month in the order the reader has to know."""

from __future__ import annotations

import re
from datetime import date
from re import Match

from alfred.engine.calendar_days import Moment, Reading, day, without_year

_START, _END = r"(?<![\d/.-])", r"(?!\d|[/-]\d)"
_PLAUSIBLE_YEARS = range(-2, 6)
"""Years from now in which a date with a two-digit year is looked for."""


def _year_first(match: Match[str], moment: Moment) -> date | None:
    return day(int(match[1]), int(match[2]), int(match[3]))


def _year_last(match: Match[str], moment: Moment) -> date | None:
    """Take the one order that gives a day; with dots the day stands first everywhere."""
    first, mark, second, year = int(match[1]), match[2], int(match[3]), int(match[4])
    by_day, by_month = day(year, second, first), day(year, first, second)
    if mark == ".":
        return by_day or by_month
    return _only(by_day, by_month)


def _short_year(match: Match[str], moment: Moment) -> date | None:
    first, second, third = int(match[1]), int(match[3]), int(match[4])
    readings = (
        day(2000 + third, second, first),
        day(2000 + third, first, second),
        day(2000 + first, second, third) if match[2] != "/" else None,
    )
    return _only(*(found for found in readings if _is_plausible(found, moment)))


def _no_year(match: Match[str], moment: Moment) -> date | None:
    """Chinese puts the month first; elsewhere the order must follow from the numbers."""
    first, second = int(match[1]), int(match[2])
    by_month = without_year(first, second, moment)
    if moment.language == "zh":
        return by_month
    return _only(by_month, without_year(second, first, moment))


def _month_first(match: Match[str], moment: Moment) -> date | None:
    return without_year(int(match[1]), int(match[2]), moment)


def _only(*readings: date | None) -> date | None:
    distinct = {found for found in readings if found}
    return distinct.pop() if len(distinct) == 1 else None


def _is_plausible(found: date | None, moment: Moment) -> bool:
    return found is not None and found.year - moment.today.year in _PLAUSIBLE_YEARS


WITH_YEAR: tuple[Reading, ...] = (
    (re.compile(_START + r"(\d{4}) ?[-/.] ?(\d{1,2}) ?[-/.] ?(\d{1,2})" + _END), _year_first),
    (re.compile(_START + r"((?:19|20)\d{2})(\d{2})(\d{2})(?!\d)"), _year_first),
    (re.compile(_START + r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})" + _END), _year_last),
    (re.compile(_START + r"(\d{1,2})([-/.])(\d{1,2})\2(\d{2})" + _END), _short_year),
)
WITHOUT_YEAR: tuple[Reading, ...] = (
    (re.compile(_START + r"(?!24/7(?!\d))(\d{1,2})/(\d{1,2})" + _END), _no_year),
)
WITHOUT_YEAR_CHINESE: tuple[Reading, ...] = (
    (
        re.compile(_START + r"(\d{1,2})[.-](\d{1,2})" + _END + r"(?! ?[%万千百亿元k年个天人])"),
        _month_first,
    ),
)
"""Only read where the text is Chinese: elsewhere 3.5 and 10-12 are no days."""
