"""Reads log files from their end, back to the beginning of a window, within a budget of bytes."""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from glob import glob
from pathlib import Path
from typing import BinaryIO

from alfred.errors import ProbeFailed
from alfred.probes.log_entry import LogEntry, read_entries, read_entry
from alfred.probes.log_time import LogClock
from alfred.probes.probe import Window
from alfred.probes.regular_file import open_regular

BLOCK_BYTES = 262_144
MAX_FILES = 50
MAX_UNPACKED_BYTES = 64_000_000
JUNK_SHARE = 0.05
"""Share of NUL bytes in a block at which a file is no text."""


@dataclass
class LogReading:
    """The entries of a window, oldest first, and what could not be read, as sentences."""

    entries: list[LogEntry] = field(default_factory=list[LogEntry])
    files: int = 0
    lines: int = 0
    problems: list[str] = field(default_factory=list[str])
    truncated: bool = False


@dataclass
class _Budget:
    """How many bytes may still be read, and whether a file had more than that."""

    bytes_left: int
    ran_out: bool = False


def read_log(pattern: str, window: Window, clock: LogClock, max_bytes: int) -> LogReading:
    """Read what the files that a path or a glob names say in a window, the newest files first.

    Errors: `ProbeFailed` when no file is there or none can be read.
    """
    reading, budget = LogReading(), _Budget(max_bytes)
    paths = _newest_first(pattern, reading)
    for path, changed_at in paths:
        if reading.files and changed_at < window.start:
            break
        if budget.bytes_left <= 0:
            reading.truncated = True
            break
        _read_file(path, window, clock, budget, reading)
    if not reading.files:
        why = " ".join(reading.problems) or f"No file is at {pattern}."
        raise ProbeFailed("probe.unreachable", why, hint="Check its path in the tools file.")
    reading.entries.sort(key=lambda entry: entry.moment)
    return reading


def _newest_first(pattern: str, reading: LogReading) -> list[tuple[Path, datetime]]:
    """Find the files with when they were last written; what vanished meanwhile is left out."""
    found: list[tuple[Path, datetime]] = []
    for name in glob(pattern) or [pattern]:
        try:
            told = Path(name).stat()
        except OSError as exc:
            reading.problems.append(f"{name} cannot be read: {exc.strerror}.")
            continue
        if not stat.S_ISREG(told.st_mode):
            reading.problems.append(f"{name} is no regular file.")
            continue
        found.append((Path(name), datetime.fromtimestamp(told.st_mtime, UTC)))
    found.sort(key=lambda pair: (pair[1], pair[0].name), reverse=True)
    reading.truncated |= len(found) > MAX_FILES
    return found[:MAX_FILES]


def _read_file(
    path: Path, window: Window, clock: LogClock, budget: _Budget, reading: LogReading
) -> None:
    try:
        with open_regular(path) as file:
            packed = path.suffix == ".gz"
            blocks = _unpacked(file, budget) if packed else _blocks_from_the_end(file, budget)
            lines = _back_to(blocks, window, clock)
    except (OSError, EOFError, zlib.error) as exc:
        reason = (exc.strerror if isinstance(exc, OSError) else None) or "it is damaged"
        reading.problems.append(f"{path} cannot be read: {reason}.")
        return
    except _NotText:
        reading.problems.append(f"{path} is not text.")
        return
    entries = list(read_entries(lines, clock))
    if lines and not entries:
        reading.problems.append(f"No line of {path} has a time that is understood.")
        return
    reading.files += 1
    reading.lines += len(lines)
    reading.truncated |= budget.ran_out
    reading.entries += (e for e in entries if window.start <= e.moment <= window.end)


class _NotText(Exception):
    """A file holds something else than text."""


def _back_to(blocks: Iterator[bytes], window: Window, clock: LogClock) -> list[str]:
    """Read lines backwards until they are older than the window."""
    kept: list[list[str]] = []
    for block in blocks:
        if block.count(b"\0") > len(block) * JUNK_SHARE:
            raise _NotText
        kept.append(block.decode("utf-8", errors="replace").split("\n"))
        first = next(filter(None, (read_entry(line, clock) for line in kept[-1])), None)
        if first is not None and first.moment < window.start:
            break
    return [line for lines in reversed(kept) for line in lines]


def _blocks_from_the_end(file: BinaryIO, budget: _Budget) -> Iterator[bytes]:
    """Yield blocks of whole lines, the last of the file first."""
    place, beginning = file.seek(0, os.SEEK_END), b""
    while place:
        size = min(BLOCK_BYTES, place, budget.bytes_left)
        if not size:
            budget.ran_out = True
            return
        place -= size
        budget.bytes_left -= size
        file.seek(place)
        block = file.read(size) + beginning
        if place:
            beginning, newline, block = block.partition(b"\n")
            if not newline:
                continue
        if whole := block.rstrip(b"\n"):
            yield whole


def _unpacked(file: BinaryIO, budget: _Budget) -> Iterator[bytes]:
    """Yield a packed file's end as one block: it can be unpacked from its beginning only."""
    kept: deque[bytes] = deque()
    size = read = 0
    with gzip.open(file) as unpacked:
        while chunk := unpacked.read(BLOCK_BYTES):
            kept.append(chunk)
            size, read = size + len(chunk), read + len(chunk)
            while size - len(kept[0]) > budget.bytes_left:
                size -= len(kept.popleft())
                budget.ran_out = True
            if read > MAX_UNPACKED_BYTES:
                budget.ran_out = True
                break
    budget.bytes_left = max(0, budget.bytes_left - size)
    if whole := b"".join(kept).rstrip(b"\n"):
        yield whole
