"""What was changed shortly before the first alert: no cause, but where to look next."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from alfred.nodes.diagnosis_phrases import phrase
from alfred.nodes.diagnosis_shapes import FindingKind, mapping, text, texts

BEFORE = timedelta(hours=1)
MAX_COINCIDENCES = 2
_FIRING_SINCE = re.compile(r"\bfiring since (\S+?Z)\b")
_TIME = re.compile(r"(?<![\dT:-])(?:(\d{4}-\d\d-\d\d)T)?(\d\d:\d\d:\d\d)Z")


def coincidences_of(
    finding: FindingKind,
    trace: Sequence[Mapping[str, Any]],
    admitted: Sequence[str],
    incident: Mapping[str, Any],
    language: Literal["zh", "en"],
) -> list[dict[str, Any]]:
    """List the changes of the hour before the first alert, the latest first.

    Code alone reads them off the admitted evidence, and both lines are quoted. Where a cause is
    established, or nothing is wrong, there is none.
    """
    if finding in ("cause", "no_fault"):
        return []
    calls = [call for call in trace if text(call, "id") in admitted]
    day = text(mapping(incident, "window"), "end")[:10]
    alerts = sorted(_moments(calls, "alerts", day, _FIRING_SINCE), key=lambda each: each[0])
    if not alerts:
        return []
    began, alert, alert_id = alerts[0]
    changes = [
        each for each in _moments(calls, "changes", day, None) if began - BEFORE <= each[0] <= began
    ]
    changes.sort(key=lambda each: each[0], reverse=True)
    return [
        {
            "text": phrase(language, "coincidence", change=change, alert=alert),
            "evidence": list(dict.fromkeys((change_id, alert_id))),
        }
        for _, change, change_id in changes[:MAX_COINCIDENCES]
    ]


def _moments(
    calls: Sequence[Mapping[str, Any]], kind: str, day: str, said: re.Pattern[str] | None
) -> Iterator[tuple[datetime, str, str]]:
    """Read the time of each line of a kind of calls, with the line and the call's id."""
    for call in calls:
        if call.get("kind") != kind:
            continue
        for line in texts(call, "lines"):
            where = said.search(line) if said else None
            if said is not None and where is None:
                continue
            found = _TIME.search(where[1] if where else line)
            if found is not None and (moment := _moment(found[1] or day, found[2])):
                yield moment, line, text(call, "id")


def _moment(day: str, clock: str) -> datetime | None:
    try:
        return datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=UTC)
    except ValueError:
        return None
