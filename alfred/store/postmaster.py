"""The server's processes, as the system sees them: which belong to a data directory, which live."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from alfred.errors import StoreFailed

PID_FILE = "postmaster.pid"
PROGRAMS = ("postgres", "initdb")


@dataclass(frozen=True)
class Postmaster:
    """A living server, from its own pid file."""

    pid: int
    socket_directory: Path
    port: int
    is_ready: bool


def read_postmaster(data: Path) -> Postmaster | None:
    """Read the pid file of a data directory; None unless it is whole and its process serves it.

    A recorded pid proves little: after a crash the number may belong to any other program, to a
    zombie, or to the server of another directory.
    """
    try:
        lines = (data / PID_FILE).read_text(errors="replace").splitlines()
        pid, port, sockets = int(lines[0]), int(lines[3]), lines[4].strip()
        status = lines[7].strip()
    except (FileNotFoundError, IndexError, ValueError):
        return None
    if pid <= 0 or not sockets or not serves(pid, data):
        return None
    return Postmaster(pid, Path(sockets), port, status == "ready")


def serves(pid: int, data: Path) -> bool:
    """Say whether a process lives and is a PostgreSQL server on this data directory."""
    try:
        return _is_server_of(psutil.Process(pid), data)
    except psutil.NoSuchProcess:
        return False


def _is_server_of(process: psutil.Process, data: Path) -> bool:
    try:
        if process.name() not in PROGRAMS or process.status() == psutil.STATUS_ZOMBIE:
            return False
        # Every server process works in the data directory, also once that was moved or deleted.
        if process.cwd().removesuffix(" (deleted)") == str(data):
            return True
        return str(data) in process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def server_processes(data: Path) -> list[psutil.Process]:
    """Find every living server process of a data directory, recorded or orphaned."""
    return [process for process in psutil.process_iter() if _is_server_of(process, data)]


def end_processes(data: Path, *, timeout_s: float) -> bool:
    """End the server of a data directory: in order first, then without mercy.

    PostgreSQL takes SIGINT as "roll back and shut down", SIGQUIT as "leave now, recover later".
    Returns whether there was any process; none is left.
    Errors: `store.start` when one survives, which only the system can bring about.
    """
    found = server_processes(data)
    if not found:
        return False
    if leaders := [process for process in found if _is_postmaster(process)]:
        _signal(leaders, signal.SIGINT)
        _wait_for_end(found, data, timeout_s)
    # What is left has no postmaster that would pass a signal on.
    for number in (signal.SIGQUIT, signal.SIGKILL):
        if not (found := server_processes(data)):
            break
        _signal(found, number)
        _wait_for_end(found, data, 2.0)
    if found := server_processes(data):
        raise StoreFailed(
            "store.start",
            f"The processes {', '.join(str(p.pid) for p in found)} on {data} do not end.",
            hint="They wait for the disk or for another user's permission; end them by hand.",
        )
    return True


def _is_postmaster(process: psutil.Process) -> bool:
    """Say whether this is the parent of the others, which alone keeps its command line."""
    try:
        return "-D" in process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def _signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue


def _wait_for_end(processes: list[psutil.Process], data: Path, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while any(_is_server_of(process, data) for process in processes):
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)
