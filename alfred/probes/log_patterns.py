"""A probe that shows what a log says most: its lines, sorted into templates and counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alfred.errors import ProbeFailed
from alfred.probes.log_entry import LEVELS, Level, LogEntry, is_at_least
from alfred.probes.log_files import LogFiles, LogQuestion, remarks
from alfred.probes.log_tail import LogReading
from alfred.probes.probe import Finding, Window
from alfred.probes.said import say_count, say_text, say_time, say_window
from alfred.probes.tool_call import Kind

MAX_PATTERNS = 8
MAX_TEMPLATES = 5_000
"""How many templates are told apart; a log of noise must not fill the memory."""
MAX_BYTES = 3_000_000
"""How much is read, of all logs together: half a second's work, so that the first look has it."""
MAX_MASKED_CHARS = 300
_MASKS = re.compile(
    r"(?P<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"|(?P<quoted>\"[^\"]{0,200}\"|(?<!\w)'[^']{0,200}')"
    r"|(?P<hex>0x[0-9a-f]+|(?<![0-9a-z])(?=[a-f]*[0-9])[0-9a-f]{8,}(?![0-9a-z]))"
    r"|(?P<number>[0-9][0-9.,:]*)",
    re.IGNORECASE,
)
_SHOWN = {"uuid": "<uuid>", "quoted": "<text>", "hex": "<hex>", "number": "<n>"}


@dataclass
class LogPattern:
    """A template, how often it came, when first and last, and the newest line it stands for."""

    template: str
    level: Level
    count: int
    first: datetime
    last: datetime
    example: str


def mine(entries: Iterable[LogEntry]) -> list[LogPattern]:
    """Sort entries into templates: errors first, then warnings, the most frequent first.

    Shapes: `entries` oldest first. Numbers, hexadecimal words, UUIDs and quoted text are masked;
    after MAX_TEMPLATES, lines of a new form are left out.
    """
    patterns: dict[tuple[Level, str], LogPattern] = {}
    for entry in entries:
        said = entry.said
        key = (entry.level, template_of(said))
        pattern = patterns.get(key)
        if pattern is not None:
            pattern.count += 1
            pattern.last, pattern.example = entry.moment, said
        elif len(patterns) < MAX_TEMPLATES:
            patterns[key] = LogPattern(key[1], entry.level, 1, entry.moment, entry.moment, said)
    severity = {"error": 0, "warning": 1, "": 2}
    return sorted(patterns.values(), key=lambda p: (severity[p.level], -p.count, p.template))


def template_of(text: str) -> str:
    """Mask what differs from one line of a kind to the next."""
    return _MASKS.sub(lambda match: _SHOWN[str(match.lastgroup)], text[:MAX_MASKED_CHARS])


class LogPatterns:
    """`log_patterns`: what a log, or every log, says most in the window; errors come first."""

    name = "log_patterns"
    kind: Kind = "logs"
    description = "Most frequent kinds of log lines, errors first, with count and times."
    is_primary = True

    def __init__(self, files: LogFiles) -> None:
        self._files = files
        self.timeout_s = files.settings.timeout_s
        self.parameters: Mapping[str, Any] = {
            "type": "object",
            "properties": {
                "source": {"type": "string", "enum": files.names},
                "level": {"type": "string", "enum": list(LEVELS)},
            },
            "required": [],
            "additionalProperties": False,
        }

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        asked, level = str(arguments.get("source", "")), str(arguments.get("level", ""))
        sources = [asked] if asked else self._files.names
        readings, problems = await self._read(sources, window)
        lines: list[str] = []
        parts: list[str] = []
        kept: list[LogEntry] = []
        is_cut = any(reading.truncated for reading in readings.values())
        for source, reading in readings.items():
            found = [entry for entry in reading.entries if is_at_least(entry.level, level)]
            patterns = mine(found)
            shown = max(2, MAX_PATTERNS // len(readings)) if len(readings) > 1 else MAX_PATTERNS
            prefix = f"{source}: " if len(sources) > 1 else ""
            lines += (prefix + _line(pattern, window) for pattern in patterns[:shown])
            is_cut |= len(patterns) > shown
            question = LogQuestion(source=source, level=level)
            kinds = say_count(len(patterns), "kind")
            parts.append(f"{len(found)} {question} of {kinds}.{remarks(reading, window)}")
            kept += found
        return Finding(
            asked=f"{' '.join([*parts, *problems])} Looked at {say_window(window)}.",
            where=", ".join(self._files.where(source) for source in sources),
            lines=tuple(lines),
            start=min((entry.moment for entry in kept), default=None),
            end=max((entry.moment for entry in kept), default=None),
            truncated=is_cut,
        )

    async def _read(
        self, sources: list[str], window: Window
    ) -> tuple[dict[str, LogReading], list[str]]:
        """Read sources one after the other; one that cannot be read is a sentence, all an error."""
        readings: dict[str, LogReading] = {}
        failures: list[ProbeFailed] = []
        for source in sources:
            try:
                readings[source] = await self._files.read(source, window, MAX_BYTES // len(sources))
            except ProbeFailed as error:
                failures.append(error)
        if not readings:
            raise failures[0]
        return readings, [failure.message for failure in failures]

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> Mapping[str, Any]:
        service = scope.get("service", "")
        return {"source": service} if service in self._files.names else {}

    async def aclose(self) -> None:
        """Nothing stays open between two questions."""


def _line(pattern: LogPattern, window: Window) -> str:
    first, last = say_time(pattern.first, window), say_time(pattern.last, window)
    if pattern.count == 1:
        return f"1 line, {first}: {say_text(pattern.example)}"
    return f"{pattern.count} lines like this, {first} to {last}: {say_text(pattern.example)}"
