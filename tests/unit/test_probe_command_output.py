"""Commands that probes run: bounded, killed with all they started, missing ones told."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from alfred.errors import ProbeFailed
from alfred.probes.command_output import run_command


def script(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


async def gone(pid: int) -> bool:
    for _ in range(200):
        if not is_alive(pid):
            return True
        await asyncio.sleep(0.01)
    return False


async def test_a_command_is_read_to_its_end_with_its_code_and_complaint() -> None:
    code = "import sys; print('zwölf'); print('a\\nno such pod', file=sys.stderr); sys.exit(3)"
    done = await run_command(script(code))
    assert (done.text, done.code, done.truncated) == ("zwölf\n", 3, False)
    assert done.complaint == "no such pod"


async def test_a_command_that_says_nothing_is_told_by_its_code() -> None:
    done = await run_command(script("raise SystemExit(7)"))
    assert done.complaint == "it ended with code 7 and said nothing"


async def test_a_command_that_prints_without_end_is_cut_off_and_killed(tmp_path: Path) -> None:
    code = (
        f"import os; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "while True: print('x' * 1000)"
    )
    done = await run_command(script(code), max_bytes=5_000)
    assert done.truncated
    assert len(done.text) == 5_000
    assert await gone(int((tmp_path / "pid").read_text()))


async def test_a_command_that_complains_without_end_does_not_fill_the_memory() -> None:
    code = "import sys; sys.stderr.write('y' * 1_000_000); print('done')"
    done = await run_command(script(code))
    assert done.text == "done\n"
    assert len(done.error) == 8_000


async def test_a_cancelled_command_is_killed_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(pids)!r} + '.new', 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        f"os.rename({str(pids)!r} + '.new', {str(pids)!r})\n"
        "time.sleep(60)"
    )
    running = asyncio.create_task(run_command(script(code)))
    while not pids.exists():
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    for pid in pids.read_text().split():
        assert await gone(int(pid))


async def test_a_command_gets_exactly_the_environment_it_is_given_and_no_input() -> None:
    code = "import os, sys; print(sorted(os.environ), repr(sys.stdin.read()))"
    done = await run_command(script(code), env={"LC_ALL": "C.UTF-8", "ONLY": "1"})
    assert done.text.strip() == "['LC_ALL', 'ONLY'] ''"


async def test_a_missing_or_forbidden_command_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProbeFailed, match="is not installed on this machine"):
        await run_command([str(tmp_path / "nothing")])
    with pytest.raises(ProbeFailed, match="cannot be run: Permission denied"):
        await run_command([str(tmp_path)])
