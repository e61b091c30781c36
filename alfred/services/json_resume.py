"""Experience as a JSON Resume, the form that other tools for résumés read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

SCHEMA = "https://raw.githubusercontent.com/jsonresume/resume-schema/v1.0.0/schema.json"
_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)(?:\s*[-./年]\s*(0?[1-9]|1[0-2])(?!\d))?")


def json_resume(experience: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Write experience as a JSON Resume; what was not told is left out, never guessed.

    Shapes: each experience has organization, role, period, summary. The period's words are kept
    beside the dates that stand in them, in the field `period`, which the schema allows.
    """
    return {"$schema": SCHEMA, "work": [_work(row) for row in experience]}


def _work(row: Mapping[str, Any]) -> dict[str, str]:
    start, end = _dates(row["period"] or "")
    told = {
        "name": row["organization"],
        "position": row["role"],
        "startDate": start,
        "endDate": end,
        "summary": row["summary"],
        "period": row["period"],
    }
    return {name: value for name, value in told.items() if value}


def _dates(period: str) -> tuple[str | None, str | None]:
    """Read the first and the second year of a period, each with its month where one is given."""
    found = [f"{year}-{int(month):02}" if month else year for year, month in _DAY.findall(period)]
    return (found[0] if found else None), (found[1] if len(found) == 2 else None)
