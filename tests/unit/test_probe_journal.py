"""How `journalctl` is called, and what happens when it misbehaves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from alfred.errors import ProbeFailed
from alfred.probes.journal import JournalSearch, JournalSettings, command_line
from alfred.probes.probe import Window
from alfred.probes.tool_call import ToolCall
from alfred.probes.toolbox import Toolbox

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
HOUR = Window(start=NOON - timedelta(hours=1), end=NOON)


def program(folder: Path, script: str) -> str:
    path = folder / "journalctl"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


async def ask(command: str, *, timeout_s: float = 10.0, max_bytes: int = 4_000_000) -> ToolCall:
    settings = JournalSettings(
        units=("pay.service",), command=command, timeout_s=timeout_s, max_bytes=max_bytes
    )
    toolbox = Toolbox([JournalSearch(settings)])
    return await toolbox.call("journal", {"unit": "pay.service"}, HOUR, [], round_=1)


def test_the_command_only_reads_and_names_the_window() -> None:
    settings = JournalSettings(units=("pay.service",), directory=Path("/srv/journal"))
    assert command_line(settings, "pay.service", HOUR) == [
        "journalctl",
        "--quiet",
        "--no-pager",
        "--output=json",
        "--all",
        "--reverse",
        "--output-fields=MESSAGE,PRIORITY,SYSLOG_IDENTIFIER,_PID",
        "--unit=pay.service",
        "--since=@1777892400.000000",
        "--until=@1777896000.000000",
        "--directory=/srv/journal",
    ]


@pytest.mark.parametrize("units", [(), ("",), ("--vacuum-size=1",)])
def test_units_that_are_none_are_refused(units: tuple[str, ...]) -> None:
    with pytest.raises(ProbeFailed) as caught:
        JournalSearch(JournalSettings(units=units))
    assert caught.value.code == "probe.settings"


async def test_a_journal_that_hangs_is_killed(tmp_path: Path) -> None:
    command = program(tmp_path, f"echo $$ > {tmp_path}/pid; sleep 600")
    call = await ask(command, timeout_s=1.0)
    assert call["outcome"] == "timeout"
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


async def test_a_journal_without_end_is_cut_at_its_newest_entries(tmp_path: Path) -> None:
    moment = int((NOON - timedelta(minutes=1)).timestamp() * 1_000_000)
    entry = f'{{"__REALTIME_TIMESTAMP":"{moment}","MESSAGE":"up","PRIORITY":"6"}}'
    call = await ask(program(tmp_path, f"yes '{entry}'"), max_bytes=50_000)
    assert call["outcome"] == "ok"
    assert call["truncated"]
    assert "What was before 11:59:00Z was not read: it is too much." in call["asked"]


@pytest.mark.parametrize("printed", ["not json", "[]", '{"MESSAGE":"no time"}', "3"])
async def test_what_is_no_entry_is_no_answer(tmp_path: Path, printed: str) -> None:
    call = await ask(program(tmp_path, f"echo '{printed}'"))
    assert call["outcome"] == "failed"
    assert call["error"].startswith("probe.answer: journalctl printed what is not an entry")


async def test_a_refusal_of_journalctl_is_passed_on(tmp_path: Path) -> None:
    call = await ask(program(tmp_path, "echo 'No permission to read.' >&2; exit 1"))
    assert call["error"].startswith(
        "probe.unreachable: journalctl cannot read the journal: No permission to read."
    )


async def test_a_machine_without_journalctl_is_told(tmp_path: Path) -> None:
    call = await ask(str(tmp_path / "none"))
    assert call["outcome"] == "failed"
    assert "is not installed on this machine" in call["error"]


async def test_what_ends_a_line_elsewhere_does_not_end_an_entry(tmp_path: Path) -> None:
    moment = int((NOON - timedelta(minutes=1)).timestamp() * 1_000_000)
    entry = f'{{"__REALTIME_TIMESTAMP":"{moment}","MESSAGE":"a\u2028b\x85c","PRIORITY":"6"}}'
    call = await ask(program(tmp_path, f"echo '{entry}'"))
    assert call["lines"] == ["11:59:00Z a b c"]


@pytest.mark.parametrize("number", ["9" * 30, "-" + "9" * 30, "9" * 5_000])
async def test_a_moment_out_of_the_calendar_is_no_entry(tmp_path: Path, number: str) -> None:
    entry = f'{{"__REALTIME_TIMESTAMP":"{number}","MESSAGE":"a"}}'
    call = await ask(program(tmp_path, f"echo '{entry}'"))
    assert call["outcome"] == "failed"
