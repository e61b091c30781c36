"""The recorded run of the demonstration's system, for machines that cannot run it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

from alfred.probes.replay import CALLS_FILE, SPECS_FILE

RECORDED = Path(__file__).parent / "recorded"
MOMENTS_FILE = "moments.json"
LOOK_BACK = timedelta(minutes=10)
"""What `--since 10m` asks for."""
ASKED_FOR = "Why is checkout slow since {time}?"

_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_CLOCK = re.compile(r"(?<![\d:T-])(\d\d):(\d\d):(\d\d)Z")


def move_recording(folder: Path, now: datetime) -> datetime:
    """Copy the recording so that it was asked at `now`; return when the fault began then.

    Every time in it moves by the same span; nothing else changes.
    """
    moments = json.loads((RECORDED / MOMENTS_FILE).read_text(encoding="utf-8"))
    span = now - datetime.fromisoformat(moments["asked_at"])
    # By whole seconds, so that times that are told without fractions move as far as the others.
    whole = timedelta(seconds=int(span.total_seconds()))
    folder.mkdir(parents=True)
    shutil.copy(RECORDED / SPECS_FILE, folder)
    with (folder / CALLS_FILE).open("w", encoding="utf-8") as copy:
        for line in (RECORDED / CALLS_FILE).read_text(encoding="utf-8").splitlines():
            moved = _in_texts(json.loads(line), lambda text: move_times(text, whole))
            copy.write(json.dumps(moved, ensure_ascii=False) + "\n")
    return datetime.fromisoformat(moments["broken_at"]) + whole


def move_times(text: str, span: timedelta) -> str:
    """Move every moment in ISO 8601 and every clock time such as 14:03:20Z in a text."""

    def moved_moment(found: re.Match[str]) -> str:
        moment = datetime.fromisoformat(found[0]) + span
        timespec = "microseconds" if moment.microsecond % 1000 else "milliseconds"
        shown = moment.isoformat(timespec=timespec if "." in found[0] else "seconds")
        return shown.replace("+00:00", "Z") if found[0].endswith("Z") else shown

    def moved_clock(found: re.Match[str]) -> str:
        day = timedelta(hours=int(found[1]), minutes=int(found[2]), seconds=int(found[3]))
        seconds = int((day + span).total_seconds()) % 86_400
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}Z"

    return _CLOCK.sub(moved_clock, _ISO.sub(moved_moment, text))


def _in_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_in_texts(item, change) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {name: _in_texts(item, change) for name, item in fields.items()}
    return value
