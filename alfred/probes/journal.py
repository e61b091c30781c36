"""A probe that searches the systemd journal through `journalctl`, which can only read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from alfred.errors import ProbeFailed
from alfred.probes.command_output import run_command
from alfred.probes.log_entry import LEVELS, Level, LogEntry, level_of
from alfred.probes.log_files import MAX_WORDS_CHARS, LogQuestion, tell_newest
from alfred.probes.log_tail import LogReading
from alfred.probes.probe import Finding, Window
from alfred.probes.tool_call import Kind

_FIELDS = "MESSAGE,PRIORITY,SYSLOG_IDENTIFIER,_PID"
_NO_ENTRY = (
    *(ValueError, KeyError, TypeError, AttributeError),
    *(OverflowError, RecursionError, OSError),
)
"""What reading something else than an entry raises; a moment far out of the calendar too."""
_ERROR_PRIORITY, _WARNING_PRIORITY = 3, 4


@dataclass(frozen=True, kw_only=True)
class JournalSettings:
    """Which units may be asked about, and where the journal is if not in its usual place.

    `directory` or `file` is handed to `journalctl`; neither asks the journal of this machine.
    """

    units: tuple[str, ...]
    directory: Path | None = None
    file: Path | None = None
    timeout_s: float = 10.0
    max_bytes: int = 4_000_000
    command: str = "journalctl"


class JournalSearch:
    """`journal`: the newest entries of a unit in the window, with literal words."""

    name = "journal"
    kind: Kind = "logs"
    description = "Newest journal entries of a systemd unit that contain literal words."
    is_primary = True

    def __init__(self, settings: JournalSettings) -> None:
        wrong = [unit for unit in settings.units if not unit or unit.startswith("-")]
        if wrong or not settings.units:
            raise ProbeFailed(
                "probe.settings",
                f"{wrong[0]!r} is no name of a unit." if wrong else "No units are configured.",
                hint="Name units like checkout.service under units, or leave the section out.",
            )
        self._settings = settings
        self.timeout_s = settings.timeout_s
        self.parameters: Mapping[str, Any] = {
            "type": "object",
            "properties": {
                "unit": {"type": "string", "enum": list(settings.units)},
                "contains": {"type": "string", "maxLength": MAX_WORDS_CHARS},
                "level": {"type": "string", "enum": list(LEVELS)},
            },
            "required": ["unit"],
            "additionalProperties": False,
        }

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        unit, level = str(arguments["unit"]), str(arguments.get("level", ""))
        question = LogQuestion(source=unit, level=level, words=str(arguments.get("contains", "")))
        output = await run_command(
            command_line(self._settings, unit, window), max_bytes=self._settings.max_bytes
        )
        if output.code not in (0, None):
            raise ProbeFailed(
                "probe.unreachable",
                f"journalctl cannot read the journal: {output.complaint}.",
                hint="Alfred's user must be in the group systemd-journal, or name a directory.",
            )
        reading = _read(output.text, is_cut=output.truncated)
        reading.entries = [e for e in reading.entries if window.start <= e.moment <= window.end]
        found = [entry for entry in reading.entries if question.takes(entry)]
        return tell_newest(found, question, window, reading, self._where())

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> None:
        return None

    async def aclose(self) -> None:
        """Nothing stays open between two questions."""

    def _where(self) -> str:
        place = self._settings.file or self._settings.directory
        return f"the journal in {place}" if place else "the journal of this machine"


def command_line(settings: JournalSettings, unit: str, window: Window) -> list[str]:
    """Write the command; it runs without a shell and prints the newest entries first.

    The level is no part of it: what a service prints is informational to the journal, whatever
    it says.
    """
    argv = [settings.command, "--quiet", "--no-pager", "--output=json", "--all", "--reverse"]
    argv += [f"--output-fields={_FIELDS}", f"--unit={unit}"]
    argv += [f"--since=@{window.start.timestamp():.6f}", f"--until=@{window.end.timestamp():.6f}"]
    if settings.file:
        argv.append(f"--file={settings.file}")
    elif settings.directory:
        argv.append(f"--directory={settings.directory}")
    return argv


def _read(text: str, *, is_cut: bool) -> LogReading:
    """Read entries, one JSON object a line; of an output that was cut, the last is incomplete."""
    lines = [line for line in text.split("\n")[: -1 if is_cut else None] if line]
    reading = LogReading(files=1, lines=len(lines), truncated=is_cut)
    for line in reversed(lines):
        try:
            fields = cast("dict[str, Any]", json.loads(line))
            reading.entries.append(_entry(fields))
        except _NO_ENTRY as exc:
            raise ProbeFailed(
                "probe.answer", "journalctl printed what is not an entry of a journal."
            ) from exc
    return reading


def _entry(fields: Mapping[str, Any]) -> LogEntry:
    moment = datetime.fromtimestamp(int(fields["__REALTIME_TIMESTAMP"]) / 1_000_000, UTC)
    message, *more = _text(fields.get("MESSAGE")).split("\n")
    program = _text(fields.get("SYSLOG_IDENTIFIER"))
    priority = _text(fields.get("PRIORITY"))
    text = f"{program}: {message}" if program else message
    return LogEntry(moment, text, _level(priority, message), more)


def _level(priority: str, message: str) -> Level:
    """Take the worse of what the journal states and what the message says of itself."""
    stated = int(priority) if priority.isdecimal() else _ERROR_PRIORITY + 3
    if stated <= _ERROR_PRIORITY:
        return "error"
    said = level_of(message)
    return said or ("warning" if stated == _WARNING_PRIORITY else "")


def _text(value: object) -> str:
    """Read a field: text, the bytes of what is no UTF-8, or the first of several values."""
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if items and all(isinstance(item, int) and 0 <= item < 256 for item in items):
            return bytes(items).decode("utf-8", errors="replace")
        return _text(items[0]) if items else ""
    return value if isinstance(value, str) else ""
