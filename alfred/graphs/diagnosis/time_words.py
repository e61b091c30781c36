"""Since when: a duration, a clock time or a moment, as people write it in a question or option."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from alfred.errors import InputRefused
from alfred.probes.probe import Window

DEFAULT_LOOKBACK = timedelta(hours=1)
LONGEST_LOOKBACK = timedelta(days=31)
_UNITS = {
    **dict.fromkeys(("s", "sec", "second", "seconds", "秒"), timedelta(seconds=1)),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes", "分钟"), timedelta(minutes=1)),
    **dict.fromkeys(("h", "hour", "hours", "小时", "个小时"), timedelta(hours=1)),
    **dict.fromkeys(("d", "day", "days", "天"), timedelta(days=1)),
}
_DURATION = re.compile(
    r"(\d{1,5})\s*(" + "|".join(sorted(_UNITS, key=len, reverse=True)) + r")(?![a-z])"
)
_LAST = re.compile(r"(?i)\b(?:last|past)\s+(?=\d)|(?:过去|最近|近)\s*(?=\d)")
_LAST_UNIT = re.compile(r"(?i)\b(?:last|past) (hour|day)\b|(?:过去|最近)一(?:个)?(小时|天)")
_CLOCK = re.compile(r"(?<!\d)([01]?\d|2[0-3]):([0-5]\d)(?!\d)")
_SINCE_CLOCK = re.compile(r"(?i)\b(?:since|from|after|around|at)\s+(?=\d)|(?:从|自)\s*(?=\d)")


def read_since(words: str, now: datetime) -> datetime:
    """Read the option `--since`: `2h`, `30 min`, `14:00`, or a moment in ISO 8601.

    A clock time is the latest one that is past; a moment without a zone is meant in that of `now`.
    Errors: `input.unreadable` for anything else, for what lies ahead or more than 31 days back.
    """
    text = words.strip().lower()
    start: datetime | None = None
    if found := _DURATION.fullmatch(text):
        start = now - int(found[1]) * _UNITS[found[2]]
    elif found := _CLOCK.fullmatch(text):
        start = _latest(now, int(found[1]), int(found[2]))
    else:
        start = _moment(words.strip(), now)
    if start is None:
        raise InputRefused(
            "input.unreadable",
            f"{words!r} is no time to look back to.",
            hint="Write 30m, 2h, 1d, 14:00, or a moment such as 2026-03-02T14:00.",
        )
    if not now - LONGEST_LOOKBACK <= start < now:
        raise InputRefused(
            "input.unreadable",
            f"{words!r} is {start:%Y-%m-%d %H:%M %Z}; it must lie in the last 31 days.",
            hint="Give a time that is past, at most 31 days ago.",
        )
    return start


def window_of(question: str, now: datetime) -> Window:
    """Read since when from a question's own words; the last hour where it says nothing of it."""
    return Window(start=start_of(question, now) or now - DEFAULT_LOOKBACK, end=now)


def start_of(question: str, now: datetime) -> datetime | None:
    """Read since when, if a question says it itself."""
    if (found := _LAST.search(question)) and (
        length := _DURATION.match(question.lower(), found.end())
    ):
        span = min(int(length[1]) * _UNITS[length[2]], LONGEST_LOOKBACK)
        return now - span if span else None
    if found := _LAST_UNIT.search(question):
        return now - _UNITS[(found[1] or found[2]).lower()]
    if (found := _SINCE_CLOCK.search(question)) and (clock := _CLOCK.match(question, found.end())):
        return _latest(now, int(clock[1]), int(clock[2]))
    if (clock := _CLOCK.search(question)) and re.match(
        r"\s*(?:起|开始|以来|之后|以后)", question[clock.end() :]
    ):
        return _latest(now, int(clock[1]), int(clock[2]))
    return None


def _latest(now: datetime, hour: int, minute: int) -> datetime:
    today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return today if today < now else today - timedelta(days=1)


def _moment(text: str, now: datetime) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)
