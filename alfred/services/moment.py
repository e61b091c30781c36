"""Dates and moments as arguments, bounded to what a calendar of people holds."""

from __future__ import annotations

from datetime import date
from typing import Annotated, TypeVar

from pydantic import AfterValidator, AwareDatetime

_FIRST_YEAR, _LAST_YEAR = 1950, 2200
AnyDate = TypeVar("AnyDate", bound=date)


def _near(value: AnyDate) -> AnyDate:
    if not _FIRST_YEAR <= value.year <= _LAST_YEAR:
        raise ValueError(f"the year {value.year} is not between {_FIRST_YEAR} and {_LAST_YEAR}")
    return value


Day = Annotated[date, AfterValidator(_near)]
"""A calendar day, ISO 8601 in JSON."""
Moment = Annotated[AwareDatetime, AfterValidator(_near)]
"""A moment with its offset from UTC, ISO 8601 in JSON."""
