"""Searching real log files: bounded, backwards, and honest about what could not be read."""

from __future__ import annotations

import gzip
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from alfred.errors import ProbeFailed
from alfred.probes.log_files import MAX_CHARS, MAX_ENTRIES, LogFiles, LogSearch, LogSettings
from alfred.probes.log_tail import BLOCK_BYTES
from alfred.probes.probe import Finding, Window
from alfred.probes.tool_call import ToolCall
from alfred.probes.toolbox import Toolbox, misfit

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
HOUR = Window(start=NOON - timedelta(hours=1), end=NOON)


def stamp(seconds_before: float) -> str:
    return (NOON - timedelta(seconds=seconds_before)).strftime("%Y-%m-%dT%H:%M:%SZ")


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    os.utime(path, (NOON.timestamp(), NOON.timestamp()))
    return path


async def search(path: Path | str, *, max_bytes: int = 8_000_000, **arguments: Any) -> Finding:
    files = LogFiles(LogSettings(sources={"pay": str(path)}, max_bytes=max_bytes))
    return await LogSearch(files).look({"source": "pay", **arguments}, HOUR)


async def call(path: Path | str, **arguments: Any) -> ToolCall:
    toolbox = Toolbox([LogSearch(LogFiles(LogSettings(sources={"pay": str(path)})))])
    return await toolbox.call("logs", {"source": "pay", **arguments}, HOUR, [], round_=1)


async def test_lines_of_the_window_are_told_the_newest_last(tmp_path: Path) -> None:
    log = write(
        tmp_path / "pay.log",
        f"{stamp(4000)} ERROR before the window",
        f"{stamp(600)} ERROR pool exhausted after 3000 ms",
        "PoolTimeout: none free",
        f"{stamp(60)} INFO recovered",
        f"{stamp(-5)} ERROR after the question",
    )
    finding = await search(log)
    assert finding.lines == (
        "2 lines in log pay, 11:50:00Z to 11:59:00Z:",
        "11:50:00Z ERROR pool exhausted after 3000 ms | PoolTimeout: none free",
        "11:59:00Z INFO recovered",
    )
    assert finding.where == str(log)
    assert (finding.start, finding.end) == (
        NOON - timedelta(seconds=600),
        NOON - timedelta(seconds=60),
    )
    assert not finding.truncated


async def test_words_are_literal_and_levels_include_what_is_worse(tmp_path: Path) -> None:
    log = write(
        tmp_path / "pay.log",
        f"{stamp(30)} INFO pool.size is 5",
        f"{stamp(20)} WARN pool slow",
        f"{stamp(10)} ERROR pool empty",
    )
    assert (await search(log, contains="pool.*")).lines == ()
    assert len((await search(log, contains="POOL.size")).lines) == 1
    assert (await search(log, level="warning")).lines[0].startswith("2 warnings and errors in log")
    assert (await search(log, level="error")).lines == ("11:59:50Z ERROR pool empty",)


async def test_nothing_found_says_what_was_searched(tmp_path: Path) -> None:
    found = await call(write(tmp_path / "pay.log", f"{stamp(30)} INFO up"), contains="panic")
    assert found["outcome"] == "empty"
    assert found["asked"] == (
        "lines with 'panic' in log pay from 2026-05-04T11:00:00Z to 12:00:00Z: 0 entries of 1."
    )


async def test_the_newest_survive_where_there_are_too_many(tmp_path: Path) -> None:
    lines = [f"{stamp(3000 - n)} INFO request {n} {'x' * 300}" for n in range(1000)]
    found = await call(write(tmp_path / "pay.log", *lines))
    assert found["lines"][0].startswith("1000 lines in log pay, 11:10:00Z to 11:26:39Z; the newest")
    assert "request 999 " in found["lines"][-1]
    assert found["truncated"]
    assert sum(map(len, found["lines"])) <= MAX_CHARS + 200
    assert len(found["lines"]) == MAX_ENTRIES + 1


async def test_a_large_file_is_read_from_its_end_within_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "pay.log"
    lines = (f"{stamp(3599 - n * 0.0899)} INFO request {n:06}" for n in range(40_000))
    write(path, *lines)
    every = await search(path)
    assert every.lines[0].startswith("40000 lines in log pay, 11:00:01Z to 11:59:56Z")
    cut = await search(path, max_bytes=BLOCK_BYTES + 1000)
    assert cut.truncated
    assert "request 039999" in cut.lines[-1]
    assert "Z was not read: it is too much." in cut.asked


async def test_lines_across_the_borders_of_blocks_stay_whole(tmp_path: Path) -> None:
    long = "y" * (BLOCK_BYTES * 2)
    log = write(
        tmp_path / "pay.log",
        f"{stamp(50)} first",
        f"{stamp(40)} {long} end",
        f"{stamp(30)} 支付" * 3,
        f"{stamp(20)} last",
    )
    finding = await search(log, contains=" end")
    assert len(finding.lines) == 1
    assert (await search(log)).lines[0].startswith("4 lines in log pay, 11:59:10Z to 11:59:40Z")


async def test_a_file_without_an_end_of_line_and_an_empty_one_are_read(tmp_path: Path) -> None:
    path = tmp_path / "pay.log"
    path.write_text(f"{stamp(30)} INFO up")
    assert (await search(path)).lines == ("11:59:30Z INFO up",)
    path.write_text("")
    assert (await search(path)).lines == ()


async def test_rotated_and_packed_files_are_read_as_one_log(tmp_path: Path) -> None:
    write(tmp_path / "pay.log", f"{stamp(30)} INFO three")
    write(tmp_path / "pay.log.1", f"{stamp(300)} INFO two")
    with gzip.open(tmp_path / "pay.log.2.gz", "wt") as packed:
        packed.write(f"{stamp(3000)} INFO one\n")
    os.utime(tmp_path / "pay.log.2.gz", (NOON.timestamp(),) * 2)
    stale = write(tmp_path / "pay.log.3", f"{stamp(10)} INFO of a file not written since")
    os.utime(stale, (NOON.timestamp() - 90_000,) * 2)
    finding = await search(tmp_path / "pay.log*")
    assert [line.split()[-1] for line in finding.lines[1:]] == ["one", "two", "three"]


async def test_a_packed_file_that_is_cut_off_is_told(tmp_path: Path) -> None:
    whole = gzip.compress(f"{stamp(30)} INFO up\n".encode() * 1000)
    (tmp_path / "pay.log.gz").write_bytes(whole[:50])
    found = await call(tmp_path / "pay.log.gz")
    assert found["outcome"] == "failed"
    assert "pay.log.gz cannot be read: it is damaged." in found["error"]


async def test_broken_characters_are_shown_as_such(tmp_path: Path) -> None:
    path = tmp_path / "pay.log"
    path.write_bytes(f"{stamp(30)} INFO caf".encode() + b"\xe9 \x1b[31mred\x00\n")
    assert (await search(path)).lines == ("11:59:30Z INFO caf� [31mred",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (bytes(range(256)) * 40 + b"\x00" * 2000, "is not text."),
        (b"no time\nin any line\n", "No line of {path} has a time that is understood."),
    ],
)
async def test_what_is_no_log_is_told(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "pay.log"
    path.write_bytes(content)
    found = await call(path)
    assert found["outcome"] == "failed"
    assert said.format(path=path) in found["error"]


async def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    for name in ("none.log", "none*.log"):
        found = await call(tmp_path / name)
        assert found["outcome"] == "failed"
        assert f"{name} cannot be read: No such file or directory." in found["error"]


async def test_a_pipe_or_a_folder_never_holds_up_the_search(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "folder.log").mkdir()
    for name in ("pipe.log", "folder.log"):
        found = await call(tmp_path / name)
        assert f"{name} is no regular file." in found["error"]


async def test_one_file_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    write(tmp_path / "pay.log", f"{stamp(30)} INFO up")
    (tmp_path / "pay.log.1").symlink_to(tmp_path / "gone")
    finding = await search(tmp_path / "pay.log*")
    assert finding.lines == ("11:59:30Z INFO up",)
    assert finding.asked.endswith("pay.log.1 cannot be read: No such file or directory.")


async def test_secrets_are_masked_before_lines_are_cut(tmp_path: Path) -> None:
    padding = "x" * 215
    log = write(tmp_path / "pay.log", f"{stamp(30)} {padding} password=hunter2hunter2")
    assert "hunter" not in (await search(log)).lines[0]


def test_only_configured_sources_can_be_asked() -> None:
    probe = LogSearch(LogFiles(LogSettings(sources={"pay": "/var/log/pay.log"})))
    assert misfit(probe, {"source": "/etc/shadow"}) != ""
    assert misfit(probe, {"source": "pay", "contains": "x" * 81}) != ""
    assert misfit(probe, {"source": "pay", "contains": "x" * 80, "level": "error"}) == ""


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (LogSettings(sources={}), "No log files are configured"),
        (LogSettings(sources={"a": "b"}, zone="Moon/Base"), "'Moon/Base' is not the name"),
        (LogSettings(sources={"a": "b"}, zone="../etc/passwd"), "is not the name of a time zone"),
    ],
)
def test_mistakes_of_the_settings_are_named(settings: LogSettings, said: str) -> None:
    with pytest.raises(ProbeFailed, match=said) as caught:
        LogFiles(settings)
    assert caught.value.code == "probe.settings"


async def test_a_time_that_is_infinite_or_out_of_the_calendar_is_none(tmp_path: Path) -> None:
    log = write(
        tmp_path / "pay.log",
        *('{"ts": 1e999, "msg": "a"}', '{"ts": -Infinity, "msg": "b"}', '{"ts": NaN, "msg": "c"}'),
        *(f'{{"ts": {"9" * 4_000}, "msg": "d"}}', '{"ts": 1e308, "msg": "e"}'),
        *("0001-01-01T00:00:00+14:00 f", "9999-12-31T23:59:59-14:00 g"),
        f"{stamp(5)} paid",
    )
    assert (await search(log)).lines == ("11:59:55Z paid",)


async def test_a_line_longer_than_the_limit_is_said_to_be_unread(tmp_path: Path) -> None:
    log = tmp_path / "pay.log"
    with log.open("wb") as file:
        file.write(f"{stamp(9)} ".encode())
        file.truncate(10_000_000_000)  # a hole, which takes no room
        file.seek(0, os.SEEK_END)
        file.write(b"x" * 9_000_000)
    os.utime(log, (NOON.timestamp(), NOON.timestamp()))
    finding = await search(log)
    assert finding.lines == ()
    assert finding.truncated
    assert "was not read: it is too much" in finding.asked


async def test_what_would_steer_a_terminal_or_split_a_line_is_not_told(tmp_path: Path) -> None:
    said = "\x1b[2J\x1b]0;owned\x07paid\r\n".rstrip("\n")
    log = write(tmp_path / "pay.log", f"{stamp(5)} {said}\x9b31m\u2066\u202e\U000e0041end")
    answer = await call(log)
    assert answer["lines"] == ["11:59:55Z [2J ]0;owned paid 31m end"]


async def test_arguments_that_look_like_options_or_patterns_are_words(tmp_path: Path) -> None:
    log = write(tmp_path / "pay.log", f"{stamp(5)} --output=/tmp/x", f"{stamp(4)} other")
    assert len((await search(log, contains="--output=/tmp/x")).lines) == 1
    assert (await search(log, contains=".*")).lines == ()
    assert (await call(log, source="../../etc/passwd"))["outcome"] == "refused"
