"""Reads a file of deployments, one JSON object a line, as a pipeline appends them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from alfred.errors import ProbeFailed
from alfred.probes.regular_file import open_regular
from alfred.probes.said import say_count, say_text

MAX_BYTES = 1_000_000
"""How much is read, from the end: the newest stand there."""


@dataclass(frozen=True, kw_only=True)
class DeployMarker:
    """One deployment; `version` and `by` may be unknown, empty."""

    time: datetime
    service: str
    version: str = ""
    by: str = ""

    def __str__(self) -> str:
        time = self.time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        version = f" version {say_text(self.version, 80)}" if self.version else ""
        by = f" by {say_text(self.by, 40)}" if self.by else ""
        return f"{time} deployment of {say_text(self.service, 80)}{version}{by}"


def read_markers(path: Path, since: datetime, until: datetime) -> tuple[list[DeployMarker], str]:
    """Read the deployments of a time, and say what could not be read; empty where all could.

    Errors: `probe.unreachable` where the file is missing, `probe.answer` where no line is one.
    """
    lines, wrong = _tail(path), 0
    found: list[DeployMarker] = []
    for line in lines:
        marker = _marker(line)
        if marker is None:
            wrong += 1
        elif since <= marker.time <= until:
            found.append(marker)
    if wrong and wrong == len(lines):
        message = f"{path} holds no deployments: no line has a time and a service."
        hint = 'Write {"time": "2026-03-02T14:00:00Z", "service": "…", "version": "…"} a line.'
        raise ProbeFailed("probe.answer", message, hint=hint)
    return found, f"{say_count(wrong, 'line')} of deployments" if wrong else ""


def _tail(path: Path) -> list[str]:
    try:
        with open_regular(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - MAX_BYTES))
            read = file.read(MAX_BYTES).decode("utf-8", errors="replace")
    except OSError as exc:
        message = f"The deployments cannot be read from {path}: {exc.strerror}."
        raise ProbeFailed("probe.unreachable", message) from exc
    lines = read.split("\n")
    whole = lines[1:] if size > MAX_BYTES else lines
    return [line for line in whole if line.strip()]


def _marker(line: str) -> DeployMarker | None:
    try:
        value = json.loads(line)
        fields = cast("dict[str, Any]", value if isinstance(value, dict) else {})
        time = datetime.fromisoformat(str(fields["time"]))
        service = str(fields["service"])
    except (ValueError, KeyError, RecursionError):
        return None
    if time.tzinfo is None or not service:
        return None
    version, by = (fields.get(name) for name in ("version", "by"))
    return DeployMarker(time=time, service=service, version=str(version or ""), by=str(by or ""))
