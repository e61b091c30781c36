"""When a line of a log was written: the notations that programs use, read with a zone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

_WITHIN_CHARS = 120
"""A time is looked for only at a line's beginning; later on, it belongs to what is said."""
_ISO = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    r"\s?(Z|UTC|[+-]\d\d:?\d\d)?"
)
_COMMON = re.compile(r"\[(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-]\d{4})\]")
_SYSLOG = re.compile(r"(?:<\d{1,3}>)?([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.\d+)?")
_KLOG = re.compile(r"[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.\d+")
_EPOCH = re.compile(r"\[?(\d{10}(?:\.\d{1,9})?)\]?(?=\s)")
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}

_Find = Callable[[str], re.Match[str] | None]


class LogClock:
    """Reads the times of one log.

    `zone` is that of times without one; `latest` is the moment that a time without a year comes
    before, or at most a day after.
    """

    def __init__(self, zone: tzinfo, latest: datetime) -> None:
        self._zone = zone
        self._latest = latest
        self._notations: tuple[tuple[_Find, Callable[[re.Match[str]], datetime]], ...] = (
            (_ISO.search, self._iso),
            (_COMMON.search, self._common),
            (_SYSLOG.match, self._syslog),
            (_KLOG.match, self._klog),
            (_EPOCH.match, lambda match: moment_of_epoch(float(match.group(1)))),
        )

    def find(self, line: str) -> tuple[datetime, int, int] | None:
        """Find a line's time, and where in the line it begins and ends; None where it has none."""
        head = line[:_WITHIN_CHARS]
        for pattern, read in self._notations:
            if match := pattern(head):
                try:
                    return read(match), *match.span()
                except (ValueError, KeyError, OverflowError):
                    return None
        return None

    def read(self, value: object) -> datetime | None:
        """Read the value of a field that holds a time: text, or seconds, milli- or nanoseconds."""
        if isinstance(value, bool):
            return None
        if isinstance(value, int | float):
            try:
                return moment_of_epoch(value)
            except (ValueError, OverflowError):
                return None
        found = self.find(value) if isinstance(value, str) else None
        return found[0] if found else None

    def _iso(self, match: re.Match[str]) -> datetime:
        year, month, day, hour, minute, second, fraction, zone = match.groups()
        naive = datetime(  # noqa: DTZ001  # the zone follows, where there is one
            int(year), int(month), int(day), int(hour), int(minute), int(second),
            int((fraction or "0")[:6].ljust(6, "0")),
        )  # fmt: skip
        if zone in ("Z", "UTC"):
            return naive.replace(tzinfo=UTC)
        if zone:
            return naive.replace(tzinfo=_offset(zone))
        return naive.replace(tzinfo=self._zone)

    def _common(self, match: re.Match[str]) -> datetime:
        day, month, year, *clock, zone = match.groups()
        hour, minute, second = map(int, clock)
        return datetime(
            int(year), _MONTHS[month], int(day), hour, minute, second, tzinfo=_offset(zone)
        )

    def _syslog(self, match: re.Match[str]) -> datetime:
        month, day, *clock = match.groups()
        return self._of_a_year(_MONTHS[month], int(day), clock)

    def _klog(self, match: re.Match[str]) -> datetime:
        month, day, *clock = match.groups()
        return self._of_a_year(int(month), int(day), clock)

    def _of_a_year(self, month: int, day: int, clock: list[str]) -> datetime:
        hour, minute, second = map(int, clock)
        year = self._latest.astimezone(self._zone).year
        limit = self._latest + timedelta(days=1)
        for candidate in (year + 1, year, year - 1, year - 2, year - 3, year - 4):
            try:
                moment = datetime(candidate, month, day, hour, minute, second, tzinfo=self._zone)
            except ValueError:  # 29 February, in a year that has none
                continue
            if moment <= limit:
                return moment
        raise ValueError("no such day")


def moment_of_epoch(value: float) -> datetime:
    """Read seconds since 1970, or milli-, micro- or nanoseconds where the number is that large."""
    if not math.isfinite(value):
        raise ValueError("infinity, not a time")
    seconds = value
    while abs(seconds) >= 1e11:
        seconds /= 1000
    if seconds < 1e8:
        raise ValueError("a number, not a time")
    return datetime.fromtimestamp(seconds, UTC)


@lru_cache(64)
def _offset(text: str) -> tzinfo:
    return datetime.strptime(text, "%z").tzinfo or UTC
