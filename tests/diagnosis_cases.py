"""Small recorded cases for tests of the evaluation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FIELDS: Mapping[str, Any] = {
    "language": "en",
    "question": "Why is mill slow?",
    "asked_at": "2026-05-04T10:00:00+00:00",
    "since": "1h",
    "scope": {"service": "mill"},
    "healthy": False,
    "failing_tools": False,
    "decisive": [{"tool": "metric"}],
    "truth": {"object": [["mill"]], "cause": [["pool"], ["4", "four"]], "forbidden": ["flood"]},
}


def metric_call(**fields: Any) -> dict[str, Any]:
    """Make a recorded call of the metric `pool`."""
    return {
        "tool": "metric",
        "arguments": {"name": "pool"},
        "asked": "range query pool_limit",
        "where": "prometheus",
        "start": "2026-05-04T09:00:00Z",
        "end": "2026-05-04T10:00:00Z",
        "lines": ["pool_limit of mill last 4"],
        **fields,
    }


CALLS: Sequence[Mapping[str, Any]] = (
    {
        "tool": "alerts",
        "asked": "firing alerts",
        "where": "prometheus",
        "lines": ["MillSlow firing, value 9"],
        "first_look": True,
    },
    metric_call(),
)
_NAMES = {"name": {"type": "string", "enum": ["pool", "load"]}}
TOOLS: Sequence[Mapping[str, Any]] = (
    {"name": "alerts", "kind": "alerts", "description": "Firing alerts.", "is_primary": False},
    {
        "name": "metric",
        "kind": "metrics",
        "description": "A metric.",
        "parameters": {
            "type": "object",
            "properties": _NAMES,
            "required": ["name"],
            "additionalProperties": False,
        },
    },
)


def write_case(folder: Path, *, calls: Sequence[Mapping[str, Any]] = CALLS, **fields: Any) -> Path:
    """Write a case into a folder of its own; `fields` stand in place of FIELDS."""
    folder.mkdir(parents=True)
    # JSON is YAML too.
    (folder / "case.yaml").write_text(json.dumps({**FIELDS, **fields}), encoding="utf-8")
    (folder / "specs.yaml").write_text(json.dumps({"tools": TOOLS}), encoding="utf-8")
    lines = "".join(f"{json.dumps(call)}\n" for call in calls)
    (folder / "calls.jsonl").write_text(lines, encoding="utf-8")
    return folder
