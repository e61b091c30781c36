"""Days and moments as people type and read them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo
from typing import Any

import click

_MAX_DAYS = 3660
_UNITS = {"": 1, "d": 1, "w": 7, "m": 30, "y": 365}


class Days(click.ParamType[timedelta]):
    """A span of days: `14`, `14d`, `2w`, `3m` (of 30 days), `1y`."""

    name = "days"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Read a span; usage error for what is none, or longer than ten years."""
        if isinstance(value, timedelta):
            return value
        found = re.fullmatch(r"\s*(\d{1,4})\s*([dwmy]?)\s*", str(value).lower(), re.ASCII)
        days = int(found[1]) * _UNITS[found[2]] if found else _MAX_DAYS + 1
        if days > _MAX_DAYS:
            self.fail(f"{value!r} is no span such as 14d, 2w or 3m, of ten years at most.")
        return timedelta(days=days)


def local_time(moment: datetime, zone: tzinfo | None) -> str:
    """Write a moment in the user's zone, to the minute."""
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M}"
