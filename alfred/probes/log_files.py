"""A probe that searches configured log files for literal words, within the window."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from alfred.errors import ProbeFailed
from alfred.probes.log_entry import LEVELS, LogEntry, is_at_least
from alfred.probes.log_tail import LogReading, read_log
from alfred.probes.log_time import LogClock
from alfred.probes.probe import Finding, Window
from alfred.probes.said import say_count, say_text, say_time, say_window
from alfred.probes.tool_call import Kind

MAX_WORDS_CHARS = 80
MAX_ENTRIES = 20
MAX_CHARS = 5_000
"""How much is told, below what a call may hold: there the newest would be cut off."""


@dataclass(frozen=True, kw_only=True)
class LogSettings:
    """Where logs are: `sources` maps a name to a path or a glob; a service's name is a good one.

    `zone` is that of times that have none. `max_bytes` is read of a source at most.
    """

    sources: Mapping[str, str]
    zone: str = "UTC"
    timeout_s: float = 10.0
    max_bytes: int = 8_000_000


@dataclass(frozen=True, kw_only=True)
class LogQuestion:
    """What is looked for: entries of a level or worse, with literal words; empty takes all."""

    source: str
    level: str = ""
    words: str = ""

    def takes(self, entry: LogEntry) -> bool:
        """Say whether an entry is one of those asked for."""
        return is_at_least(entry.level, self.level) and entry.contains(self.words)

    def __str__(self) -> str:
        level = {"error": "errors", "warning": "warnings and errors"}.get(self.level, "lines")
        words = f" with {say_text(self.words, MAX_WORDS_CHARS)!r}" if self.words else ""
        return f"{level}{words} in log {self.source}"


class LogFiles:
    """The configured log files; every probe of them shares this."""

    def __init__(self, settings: LogSettings) -> None:
        self.settings = settings
        if not settings.sources:
            raise ProbeFailed(
                "probe.settings",
                "No log files are configured.",
                hint="Name some under sources, or leave the section out.",
            )
        try:
            self._zone = ZoneInfo(settings.zone)
        except (ZoneInfoNotFoundError, ValueError) as exc:
            raise ProbeFailed(
                "probe.settings",
                f"{settings.zone!r} is not the name of a time zone.",
                hint="Write one like Europe/Berlin or Asia/Shanghai.",
            ) from exc

    @property
    def names(self) -> list[str]:
        """The names of the sources."""
        return list(self.settings.sources)

    async def read(self, source: str, window: Window, max_bytes: int | None = None) -> LogReading:
        """Read what a source says in a window, off the event loop.

        `max_bytes` narrows the limit of the settings. Errors: `ProbeFailed`.
        """
        clock = LogClock(self._zone, window.end)
        limit = self.settings.max_bytes
        limit = limit if max_bytes is None else min(limit, max_bytes)
        return await asyncio.to_thread(
            read_log, self.settings.sources[source], window, clock, limit
        )

    def where(self, source: str) -> str:
        """Name where a source is."""
        return self.settings.sources[source]


class LogSearch:
    """`logs`: the newest lines of a log in the window, with literal words, of a level or worse."""

    name = "logs"
    kind: Kind = "logs"
    description = "Newest lines of a log that contain literal words."
    is_primary = True

    def __init__(self, files: LogFiles) -> None:
        self._files = files
        self.timeout_s = files.settings.timeout_s
        self.parameters: Mapping[str, Any] = {
            "type": "object",
            "properties": {
                "source": {"type": "string", "enum": files.names},
                "contains": {"type": "string", "maxLength": MAX_WORDS_CHARS},
                "level": {"type": "string", "enum": list(LEVELS)},
            },
            "required": ["source"],
            "additionalProperties": False,
        }

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        question = LogQuestion(
            source=str(arguments["source"]),
            level=str(arguments.get("level", "")),
            words=str(arguments.get("contains", "")),
        )
        reading = await self._files.read(question.source, window)
        found = [entry for entry in reading.entries if question.takes(entry)]
        return tell_newest(found, question, window, reading, self._files.where(question.source))

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> None:
        return None

    async def aclose(self) -> None:
        """Nothing stays open between two questions."""


def tell_newest(
    found: Sequence[LogEntry],
    question: LogQuestion,
    window: Window,
    reading: LogReading,
    where: str,
) -> Finding:
    """Tell how many entries were found, and the newest of them, the newest last."""
    lines: list[str] = []
    chars = 0
    for entry in reversed(found[-MAX_ENTRIES:]):
        line = f"{say_time(entry.moment, window)} {say_text(entry.said)}"
        chars += len(line)
        if chars > MAX_CHARS:
            break
        lines.append(line)
    if len(found) > 1:
        span = f"{say_time(found[0].moment, window)} to {say_time(found[-1].moment, window)}"
        rest = f"; the newest {len(lines)}:" if len(lines) < len(found) else ":"
        lines.append(f"{len(found)} {question}, {span}{rest}")
    return Finding(
        asked=f"{question} {say_window(window)}: {say_count(len(found), 'entry', 'entries')}"
        f" of {len(reading.entries)}.{remarks(reading, window)}",
        where=where,
        lines=tuple(reversed(lines)),
        start=found[0].moment if found else None,
        end=found[-1].moment if found else None,
        truncated=reading.truncated or len(lines) - 1 < len(found) > 1,
    )


def remarks(reading: LogReading, window: Window) -> str:
    """Say what could not be read, and from when on the log is known if not from the beginning."""
    said = [f" {problem}" for problem in reading.problems[:3]]
    if reading.truncated:
        known = reading.entries[0].moment if reading.entries else window.end
        said.insert(0, f" What was before {say_time(known, window)} was not read: it is too much.")
    return "".join(said)
