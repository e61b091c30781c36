"""Lines of logs become entries: when, how bad, and with the lines that belong to them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alfred.probes.log_entry import level_of, read_entries, read_entry
from alfred.probes.log_time import LogClock, moment_of_epoch

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
CLOCK = LogClock(UTC, NOON)


@pytest.mark.parametrize(
    ("line", "moment", "text"),
    [
        ("2026-05-04T11:05:01Z INFO up", "11:05:01", "INFO up"),
        ("2026-05-04 11:05:01,250 INFO up", "11:05:01.250", "INFO up"),
        ("2026-05-04T13:05:01.123456789+02:00 up", "11:05:01.123456", "up"),
        ("2026-05-04 19:05:01 +0800 up", "11:05:01", "up"),
        ("2026/05/04 11:05:01 [error] 7#7: up", "11:05:01", "[error] 7#7: up"),
        ("[2026-05-04 11:05:01] up", "11:05:01", "up"),
        ("time=2026-05-04T11:05:01Z level=info msg=up", "11:05:01", "time= level=info msg=up"),
        (
            '10.0.0.9 - - [04/May/2026:13:05:01 +0200] "GET /pay HTTP/1.1" 503 7',
            "11:05:01",
            '10.0.0.9 - - "GET /pay HTTP/1.1" 503 7',
        ),
        ("May  4 11:05:01 host app[7]: up", "11:05:01", "host app[7]: up"),
        ("<13>May 14 11:05:01 host app: up", None, ""),
        ("E0504 11:05:01.123456 7 a.go:1] up", "11:05:01", "7 a.go:1] up"),
        ("1777892701.250 200 GET /", "11:05:01.250", "200 GET /"),
    ],
)
def test_the_usual_notations_of_time_are_read(line: str, moment: str | None, text: str) -> None:
    entry = read_entry(line, CLOCK)
    assert entry is not None
    if moment is None:  # a day that is still to come was one of the year before
        assert entry.moment.year == 2025
        return
    assert entry.moment == datetime.fromisoformat(f"2026-05-04T{moment}+00:00")
    assert entry.text == text


@pytest.mark.parametrize(
    "line",
    ["", "no time", "  2026-05-04T11:05:01Z indented", "2026-13-45T99:99:99Z", "Foo 99 11:05:01 x"],
)
def test_what_has_no_time_of_its_own_is_no_entry(line: str) -> None:
    assert read_entry(line, CLOCK) is None


def test_a_time_without_zone_is_in_that_of_the_settings() -> None:
    clock = LogClock(ZoneInfo("Asia/Shanghai"), NOON)
    entry = read_entry("2026-05-04 19:05:01 up", clock)
    assert entry is not None
    assert entry.moment == datetime(2026, 5, 4, 11, 5, 1, tzinfo=UTC)


def test_a_day_without_year_is_the_last_one_that_has_been() -> None:
    clock = LogClock(UTC, datetime(2027, 1, 1, 0, 30, tzinfo=UTC))
    entry = read_entry("Dec 31 23:59:00 host app: up", clock)
    assert entry is not None
    assert entry.moment == datetime(2026, 12, 31, 23, 59, tzinfo=UTC)
    leap = read_entry("Feb 29 10:00:00 host app: up", clock)
    assert leap is not None
    assert leap.moment == datetime(2024, 2, 29, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize("value", [1777892701, 1777892701000, 1777892701000000, 1777892701 * 10**9])
def test_epochs_are_read_in_any_unit(value: int) -> None:
    assert moment_of_epoch(value) == datetime(2026, 5, 4, 11, 5, 1, tzinfo=UTC)


def test_json_lines_are_told_as_words() -> None:
    line = '{"ts": 1777892701.5, "lvl": "error", "msg": "pool 满", "pool": {"size": 5}, "n": 3}'
    entry = read_entry(line, CLOCK)
    assert entry is not None
    assert entry.text == 'ERROR pool 满 pool={"size": 5} n=3'
    assert entry.level == "error"
    assert entry.moment == datetime(2026, 5, 4, 11, 5, 1, 500_000, tzinfo=UTC)


def test_json_that_says_its_level_is_believed() -> None:
    info = read_entry('{"time": "2026-05-04T11:05:01Z", "level": "info", "msg": "no error"}', CLOCK)
    numbered = read_entry('{"time": "2026-05-04T11:05:01Z", "level": 50, "msg": "x"}', CLOCK)
    assert info is not None
    assert numbered is not None
    assert (info.level, numbered.level) == ("", "error")


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("INFO all is well", ""),
        ("ERROR no connection", "error"),
        ("level=warn msg=slow", "warning"),
        ("WARNING slow", "warning"),
        ("[crit] disk", "error"),
        ("an errorless run", ""),
        ('"GET / HTTP/1.1" 503 12', "error"),
        ('"GET / HTTP/1.1" 404 -', "warning"),
        ('"GET / HTTP/1.1" 200 500', ""),
        ("服务错误", "error"),
    ],
)
def test_a_level_is_read_from_words_or_status(line: str, level: str) -> None:
    assert level_of(line) == level


def test_a_stack_trace_belongs_to_the_line_before() -> None:
    lines = [
        "an end of what came before",
        "2026-05-04T11:05:01Z ERROR failed",
        "Traceback (most recent call last):",
        '  File "pay.py", line 7',
        "PoolTimeout: no connection",
        "",
        "2026-05-04T11:05:02Z INFO next",
    ]
    first, second = read_entries(lines, CLOCK)
    assert first.said == "ERROR failed | PoolTimeout: no connection"
    assert first.contains("pay.PY")
    assert not first.contains("pay.*")
    assert second.said == "INFO next"


_ZONES = st.integers(-14, 14).map(lambda hours: timezone(timedelta(hours=hours)))
_MOMENTS = st.datetimes(timezones=_ZONES)


@given(_MOMENTS)
def test_every_iso_time_is_read_back(moment: datetime) -> None:
    entry = read_entry(f"{moment.isoformat()} up", CLOCK)
    assert entry is not None
    assert entry.moment == moment


@given(st.text(max_size=200))
def test_no_line_is_too_odd(line: str) -> None:
    for text in (line, f"2026-05-04T11:05:01Z {line}", f'{{"time": {line}', f"Feb 30 {line}"):
        list(read_entries(text.split("\n"), CLOCK))
