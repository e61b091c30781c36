"""What a log says at one moment: its line, the lines that belong to it, and how bad it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, cast

from alfred.probes.log_time import LogClock

Level = Literal["error", "warning", ""]
LEVELS = ("error", "warning")
_TIME_FIELDS = ("time", "timestamp", "@timestamp", "ts", "t", "datetime", "asctime", "date")
_LEVEL_FIELDS = ("level", "severity", "lvl", "levelname", "log.level")
_TEXT_FIELDS = ("msg", "message", "event", "text", "log")
_ERROR = re.compile(
    r"(?<![a-z])(?:fatal|critical|crit|panic|emerg|error|err|severe|traceback)(?![a-z])|错误|严重"
    r"|\" 5\d\d (?=\d|-)|^[EF]\d{4} ",
    re.IGNORECASE,
)
_WARNING = re.compile(
    r"(?<![a-z])(?:warn|warning)(?![a-z])|警告|\" 4\d\d (?=\d|-)|^W\d{4} ", re.IGNORECASE
)
_HINTS = (
    *("err", "warn", "fatal", "crit", "panic", "emerg", "severe", "traceback"),
    *("错误", "严重", "警告", '" 4', '" 5'),
)
"""One of these stands in every line that the two expressions find; asking first is cheaper."""
_LEVEL_WITHIN_CHARS = 160
_NUMBERED = {"50": "error", "60": "error", "40": "warning"}
"""Levels that some programs write as numbers into JSON."""


@dataclass
class LogEntry:
    """One entry; `text` is its line without the time, `more` the lines that follow without one."""

    moment: datetime
    text: str
    level: Level
    more: list[str] = field(default_factory=list[str])

    @property
    def said(self) -> str:
        """The line and, for a stack trace, its last line, which names the error."""
        last = next((line.strip() for line in reversed(self.more) if line.strip()), "")
        return f"{self.text} | {last}" if last else self.text

    def contains(self, words: str) -> bool:
        """Say whether words stand in the entry; upper and lower case are the same."""
        wanted = words.casefold()
        return wanted in self.text.casefold() or any(wanted in m.casefold() for m in self.more)


def is_at_least(level: Level, wanted: str) -> bool:
    """Say whether a level is the wanted one or worse; no wish takes everything."""
    return not wanted or level in ("error", wanted)


def read_entries(lines: Iterable[str], clock: LogClock) -> Iterator[LogEntry]:
    """Join lines into entries, in their order; lines before the first time belong to none."""
    current: LogEntry | None = None
    for line in lines:
        entry = read_entry(line, clock)
        if entry is not None:
            if current is not None:
                yield current
            current = entry
        elif current is not None and line.strip():
            current.more.append(line)
    if current is not None:
        yield current


def read_entry(line: str, clock: LogClock) -> LogEntry | None:
    """Read one line as an entry; None where it has no time."""
    if line.startswith("{") and (fields := _fields(line)) is not None:
        return _from_fields(fields, clock)
    found = clock.find(line)
    if found is None or line[:1].isspace():
        return None
    moment, begins, ends = found
    text = f"{line[:begins].rstrip(' [(')} {line[ends:].lstrip(' ])')}".strip()
    return LogEntry(moment, text or line, level_of(line))


def level_of(line: str) -> Level:
    """Say how bad a line is by the words at its beginning, or an HTTP status."""
    head = line[:_LEVEL_WITHIN_CHARS]
    lowered = head.lower()
    if head[:1] not in "EFW" and not any(hint in lowered for hint in _HINTS):
        return ""
    if _ERROR.search(head):
        return "error"
    return "warning" if _WARNING.search(head) else ""


def _fields(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _from_fields(fields: Mapping[str, Any], clock: LogClock) -> LogEntry | None:
    named = next(((k, fields[k]) for k in _TIME_FIELDS if k in fields), None)
    moment = clock.read(named[1]) if named else None
    if named is None or moment is None:
        return None
    level_field = next((k for k in _LEVEL_FIELDS if k in fields), "")
    text_field = next((k for k in _TEXT_FIELDS if k in fields), "")
    stated = str(fields.get(level_field, ""))
    rest = {k: v for k, v in fields.items() if k not in (named[0], level_field, text_field)}
    parts = [_shown_level(stated), str(fields.get(text_field, ""))]
    parts += (f"{name}={_shown(value)}" for name, value in rest.items())
    text = " ".join(part for part in parts if part)
    level = level_of(_shown_level(stated)) if level_field else level_of(text)
    return LogEntry(moment, text, level)


def _shown_level(stated: str) -> str:
    return _NUMBERED.get(stated, stated).upper()


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
