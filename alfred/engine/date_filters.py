"""Filters for dates: words are resolved by code, against the message's time and zone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

from alfred.engine.dates import resolve_date
from alfred.engine.sandbox import Filter, WithVariables


def as_date(words: Any, variables: Mapping[str, Any]) -> str | None:
    """Resolve words such as "next Friday" to an ISO date; None where they name none."""
    if not isinstance(words, str):
        return None
    given = variables["input"]
    resolved = resolve_date(
        words,
        received_at=datetime.fromisoformat(given["received_at"]),
        timezone=given["timezone"],
        language=given["language"],
    )
    return resolved.isoformat() if resolved else None


def days_before(day: Any, variables: Mapping[str, Any], *counts: int) -> list[str]:
    """List the dates that lie these numbers of days before a date and after the message."""
    if not isinstance(day, str):
        return []
    today = datetime.fromisoformat(variables["input"]["received_at"]).date()
    dates = (date.fromisoformat(day) - timedelta(days=count) for count in sorted(counts))
    return [found.isoformat() for found in dates if found > today]


FILTERS: Mapping[str, Filter] = {
    "as_date": WithVariables(as_date),
    "days_before": WithVariables(days_before),
}
"""What every manifest's templates may use beside Jinja's own."""
