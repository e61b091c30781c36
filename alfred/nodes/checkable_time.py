"""Times and dates in a text, and when two of them say the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from alfred.nodes.checkable_text import taken

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
# A dash after minutes alone joins two times: 13:00-14:00.
_ZONE = r"(?P<z>Z|UTC|GMT|(?(s)[+-]|\+)\d\d:?\d\d)?"
_DATES = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        r"(?<!\d)(?P<y>\d{4})[-/](?P<m>\d{1,2})[-/](?P<d>\d{1,2})(?!\d)(?:T(?=\d))?",
        r"(?:(?P<y>\d{4})\s?年\s?)?(?<!\d)(?P<m>\d{1,2})\s?月\s?(?P<d>\d{1,2})\s?[日号]",
        rf"(?<![\d.])(?P<d>\d{{1,2}})[\s/-](?P<n>{_MONTH})(?:[\s/,-]+(?P<y>\d{{4}}):?)?(?![\w])",
        rf"\b(?P<n>{_MONTH})\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<y>\d{{4}}))?(?![\d:])",
    )
)
_CLOCK = re.compile(
    r"(?<![A-Za-z0-9_:.])(?P<h>[01]?\d|2[0-4]):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d)(?:[.,]\d+)?)?"
    rf"\s?{_ZONE}(?P<half>\s?[AaPp]\.?[Mm]\b\.?)?(?![\d:])",
    re.ASCII,
)
_HALF_DAY = re.compile(r"(?<![\w.:])(?P<h>1[0-2]|0?[1-9])\s?(?P<half>[AaPp]\.?[Mm])\b", re.ASCII)
_CHINESE = re.compile(
    r"(?P<half>上午|早上|凌晨|中午|下午|晚上)?\s?(?<!\d)(?P<h>[01]?\d|2[0-4])\s?[点时]"
    r"(?:(?P<m>[0-5]?\d)\s?分?|(?P<half_hour>半))?(?:钟)?"
)


@dataclass(frozen=True)
class Moment:
    """A time of the day; what is not said is None. `zone` in minutes east of Greenwich."""

    hour: int
    minute: int
    second: int | None = None
    zone: int | None = None

    def says(self, other: Moment) -> bool:
        """Say whether a text that gives `other` holds this time, at this time's own precision."""
        if (self.hour, self.minute) != (other.hour, other.minute):
            return False
        if self.second is not None and self.second != (other.second or 0):
            return False
        return self.zone is None or other.zone is None or self.zone == other.zone


@dataclass(frozen=True)
class Day:
    """A date; the year may be left out."""

    month: int
    day: int
    year: int | None = None

    def says(self, other: Day) -> bool:
        """Say whether a text that gives `other` holds this date."""
        if (self.month, self.day) != (other.month, other.day):
            return False
        return self.year is None or self.year == other.year


Added = Callable[[str, Moment | Day], None]


def take_times(text: str, add: Added) -> str:
    """Hand over each date and time of a text, as written and as read; return what is left."""

    def day(found: re.Match[str]) -> bool:
        read = _day(found)
        if read is not None:
            add(found[0].strip(" T:"), read)
        return read is not None

    def clock(found: re.Match[str]) -> bool:
        read = _moment(found)
        if read is not None:
            add(found[0].strip(), read)
        return read is not None

    for pattern in _DATES:
        text = taken(pattern, text, day)
    for pattern in (_CLOCK, _HALF_DAY, _CHINESE):
        text = taken(pattern, text, clock)
    return text


def _day(found: re.Match[str]) -> Day | None:
    parts = found.groupdict()
    name = parts.get("n")
    month = [*_MONTHS].index(name[:3].lower()) + 1 if name else int(parts["m"])
    day, year = int(parts["d"]), parts.get("y")
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return Day(month, day, int(year) if year else None)


def _moment(found: re.Match[str]) -> Moment | None:
    parts = found.groupdict()
    minute = 30 if parts.get("half_hour") else int(parts.get("m") or 0)
    second = parts.get("s")
    hour = _hour(int(parts["h"]), (parts.get("half") or "").strip().lower().replace(".", ""))
    if hour > 24 or minute > 59:
        return None
    return Moment(hour % 24, minute, int(second) if second else None, _zone(parts.get("z")))


def _hour(hour: int, half: str) -> int:
    if half in ("pm", "下午", "晚上") and hour < 12:
        return hour + 12
    return 0 if half in ("am", "凌晨") and hour == 12 else hour


def _zone(written: str | None) -> int | None:
    if not written:
        return None
    if written[0] not in "+-":
        return 0
    minutes = int(written[1:3]) * 60 + int(written[-2:])
    return -minutes if written[0] == "-" else minutes
