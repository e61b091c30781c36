"""What a log says most: templates counted, errors first, in time for the first look."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alfred.errors import ProbeFailed
from alfred.probes.log_entry import LogEntry
from alfred.probes.log_files import LogFiles, LogSettings
from alfred.probes.log_patterns import MAX_PATTERNS, LogPatterns, mine, template_of
from alfred.probes.probe import Window
from alfred.probes.toolbox import Toolbox

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
HOUR = Window(start=NOON - timedelta(hours=1), end=NOON)


def at(seconds_before: float, text: str, level: Any = "") -> LogEntry:
    return LogEntry(NOON - timedelta(seconds=seconds_before), text, level)


def log(folder: Path, name: str, *texts: str) -> str:
    path = folder / f"{name}.log"
    lines = (
        f"{(NOON - timedelta(seconds=600 - n)):%Y-%m-%dT%H:%M:%SZ} {text}\n"
        for n, text in enumerate(texts)
    )
    path.write_text("".join(lines))
    return str(path)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("took 31 ms", "took 4,500.25 ms"),
        (
            "order 0f8fad5b-d9cb-469f-a165-70867728950e",
            "order 7c9e6679-7425-40de-944b-e07fc1f90ae7",
        ),
        ("block 0x1f", "block 0xdeadBEEF"),
        ("commit 9fceb02d0ae5", "commit 85c8d6b7a01f"),
        ('user "ann" left', 'user "bob and carol" left'),
        ("from 10.0.0.7:4431", "from 192.168.1.250:80"),
    ],
)
def test_lines_that_differ_in_values_are_one_kind(one: str, other: str) -> None:
    assert template_of(one) == template_of(other)


@pytest.mark.parametrize(
    ("one", "other"), [("pool empty", "pool full"), ("don't stop", "don't wait"), ("ab", "cd")]
)
def test_lines_that_differ_in_words_are_two(one: str, other: str) -> None:
    assert template_of(one) != template_of(other)


def test_errors_come_first_then_the_most_frequent() -> None:
    entries = [at(90 - n, f"served {n}") for n in range(50)]
    entries += [at(30 - n, f"retry {n}", "warning") for n in range(3)]
    entries += [at(20, "pool of 5 exhausted", "error"), at(10, "pool of 9 exhausted", "error")]
    first, second, third = mine(entries)
    assert (first.count, first.example) == (2, "pool of 9 exhausted")
    assert (first.first, first.last) == (entries[-2].moment, entries[-1].moment)
    assert (second.count, third.count) == (3, 50)


@given(st.lists(st.text(max_size=30), max_size=30))
def test_every_line_is_counted_once(texts: list[str]) -> None:
    patterns = mine(at(60, text) for text in texts)
    assert sum(pattern.count for pattern in patterns) == len(texts)
    assert len({pattern.template for pattern in patterns}) == len(patterns)


async def test_a_pattern_is_a_line_with_count_times_and_example(tmp_path: Path) -> None:
    texts = [*(f"INFO served in {n} ms" for n in range(20)), "ERROR pool exhausted: 5 in use"]
    files = LogFiles(LogSettings(sources={"pay": log(tmp_path, "pay", *texts)}))
    finding = await LogPatterns(files).look({"source": "pay"}, HOUR)
    assert finding.lines == (
        "1 line, 11:50:20Z: ERROR pool exhausted: 5 in use",
        "20 lines like this, 11:50:00Z to 11:50:19Z: INFO served in 19 ms",
    )
    assert finding.asked == (
        "21 lines in log pay of 2 kinds. Looked at from 2026-05-04T11:00:00Z to 12:00:00Z."
    )
    errors = await LogPatterns(files).look({"source": "pay", "level": "error"}, HOUR)
    assert len(errors.lines) == 1


async def test_the_first_look_asks_the_log_of_the_service_or_every_log(tmp_path: Path) -> None:
    sources = {
        "pay": log(tmp_path, "pay", "ERROR pool exhausted"),
        "mail": log(tmp_path, "mail", "INFO sent 3"),
    }
    toolbox = Toolbox([LogPatterns(LogFiles(LogSettings(sources=sources)))])
    (of_service,) = await toolbox.first_look(HOUR, {"service": "pay"})
    assert of_service["arguments"] == {"source": "pay"}
    (of_all,) = await toolbox.first_look(HOUR, {"service": "another"})
    assert of_all["lines"] == [
        "pay: 1 line, 11:50:00Z: ERROR pool exhausted",
        "mail: 1 line, 11:50:00Z: INFO sent 3",
    ]


async def test_a_log_that_is_missing_does_not_hide_the_others(tmp_path: Path) -> None:
    sources = {"gone": str(tmp_path / "gone.log"), "pay": log(tmp_path, "pay", "INFO up")}
    files = LogFiles(LogSettings(sources=sources))
    finding = await LogPatterns(files).look({}, HOUR)
    assert finding.lines == ("pay: 1 line, 11:50:00Z: INFO up",)
    assert "gone.log cannot be read: No such file or directory." in finding.asked
    with pytest.raises(ProbeFailed):
        await LogPatterns(files).look({"source": "gone"}, HOUR)


async def test_many_kinds_are_cut_and_a_quiet_log_says_nothing(tmp_path: Path) -> None:
    words = ["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op", "qr", "st"]
    files = LogFiles(LogSettings(sources={"pay": log(tmp_path, "pay", *words)}))
    finding = await LogPatterns(files).look({}, HOUR)
    assert len(finding.lines) == MAX_PATTERNS
    assert finding.truncated
    later = Window(start=NOON + timedelta(hours=2), end=NOON + timedelta(hours=3))
    quiet = await LogPatterns(files).look({}, later)
    assert quiet.lines == ()
    assert quiet.asked.startswith("0 lines in log pay")
