"""Days as people mean them: the end of a month, the coming Friday, a day without a year."""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from re import Match, Pattern

GRACE_DAYS = 14
"""A day without a year that passed at most this long ago is meant as past, not next year's."""


@dataclass(frozen=True)
class Moment:
    """What a date in words is resolved against.

    `today` is the day of the message in its zone; `before` is the date read just before in the
    same words, from which the end of a range takes its year and month.
    """

    today: date
    language: str
    before: date | None = None


Reading = tuple[Pattern[str], Callable[[Match[str], Moment], date | None]]
"""A pattern and what it means; None where the words name no single day."""


def day(year: int, month: int, number: int) -> date | None:
    """Make a date; None where the calendar has no such day."""
    try:
        return date(year, month, number)
    except ValueError:
        return None


def without_year(month: int, number: int, moment: Moment) -> date | None:
    """Choose the year of a day: the first that is not past, or that follows `moment.before`."""
    earliest = moment.before or moment.today - timedelta(days=GRACE_DAYS)
    for year in (earliest.year, earliest.year + 1):
        found = day(year, month, number)
        if found and found >= earliest:
            return found
    return None


def end_of_month(year: int, month: int) -> date:
    return date(year, month, calendar.monthrange(year, month)[1])


def end_of_named_month(month: int, moment: Moment) -> date | None:
    """The last day of a month without a year, chosen as for a day without a year."""
    if not 1 <= month <= 12:
        return None
    end = end_of_month(moment.today.year, month)
    is_past = end < moment.today - timedelta(days=GRACE_DAYS)
    return end_of_month(end.year + 1, month) if is_past else end


def add_months(start: date, months: int) -> date:
    """Go so many months on; the 31st becomes the last day of a shorter month."""
    index = start.year * 12 + start.month - 1 + months
    year, month = divmod(index, 12)
    return date(year, month + 1, min(start.day, calendar.monthrange(year, month + 1)[1]))


def add_working_days(start: date, count: int) -> date:
    """Go so many days on, Saturdays and Sundays not counted; holidays are nobody's to know."""
    weeks, rest = divmod(count, 5)
    found = start + timedelta(weeks=weeks)
    while rest or found.weekday() >= 5:
        found += timedelta(days=1)
        rest -= found.weekday() < 5 and rest > 0
    return found


def weekday_of_week(today: date, weekday: int, weeks: int) -> date:
    """The weekday (Monday is 0) of the week so many weeks from this one; weeks begin on Monday."""
    return today - timedelta(days=today.weekday()) + timedelta(days=weekday, weeks=weeks)


def coming_weekday(today: date, weekday: int) -> date:
    """The next such weekday, today included."""
    return today + timedelta(days=(weekday - today.weekday()) % 7)
