"""Runs a fixed command without a shell and reads what it prints, bounded in bytes and time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio import StreamReader
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from alfred.errors import ProbeFailed

MAX_BYTES = 2_000_000
MAX_ERROR_BYTES = 8_000
CHUNK = 65_536
ENDS_WITHIN_S = 2.0


@dataclass(frozen=True, kw_only=True)
class CommandOutput:
    """What a command printed; `code` is None where it was ended for printing too much."""

    text: str
    error: str
    code: int | None
    truncated: bool

    @property
    def complaint(self) -> str:
        """The last line of what it said on standard error."""
        lines = [line.strip() for line in self.error.splitlines() if line.strip()]
        return lines[-1] if lines else f"it ended with code {self.code} and said nothing"


async def run_command(
    argv: Sequence[str],
    *,
    max_bytes: int = MAX_BYTES,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> CommandOutput:
    """Run a command to its end, or until it has printed `max_bytes`; then it is killed.

    Whoever waits for it bounds the time: cancelled, the command is killed with all it started.
    Its standard input is empty. `env` replaces the whole environment; None hands it on. Bytes that
    are no UTF-8 become U+FFFD. Errors: `probe.unreachable` where the command is missing or may not
    be run.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    except FileNotFoundError as exc:
        message = f"{argv[0]} is not installed on this machine."
        hint = "Install it, or take its tools out of the tools file."
        raise ProbeFailed("probe.unreachable", message, hint=hint) from exc
    except OSError as exc:
        message = f"{argv[0]} cannot be run: {exc.strerror}."
        raise ProbeFailed("probe.unreachable", message) from exc
    try:
        return await _read_out(process, max_bytes)
    finally:
        await _end(process)


async def _read_out(process: Process, max_bytes: int) -> CommandOutput:
    assert process.stdout is not None
    assert process.stderr is not None
    complaining = asyncio.create_task(_drain(process.stderr, MAX_ERROR_BYTES))
    try:
        printed, is_more = await _read(process.stdout, max_bytes)
        if is_more:
            return CommandOutput(text=_text(printed), error="", code=None, truncated=True)
        complaint = await complaining
    finally:
        complaining.cancel()
        await asyncio.wait({complaining})
    code = await process.wait()
    return CommandOutput(text=_text(printed), error=_text(complaint), code=code, truncated=False)


async def _read(stream: StreamReader, max_bytes: int) -> tuple[bytes, bool]:
    read = bytearray()
    while chunk := await stream.read(CHUNK):
        read += chunk
        if len(read) > max_bytes:
            return bytes(read[:max_bytes]), True
    return bytes(read), False


async def _drain(stream: StreamReader, max_bytes: int) -> bytes:
    """Read to the end and keep the beginning, so that the command never waits for a reader."""
    kept = bytearray()
    while chunk := await stream.read(CHUNK):
        kept += chunk[: max_bytes - len(kept)]
    return bytes(kept)


async def _end(process: Process) -> None:
    """Kill a command that was not read to its end, with its children, and wait until it is gone.

    What still waits in its pipes is read and dropped, or they would stay open.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    if process.returncode is not None and process.stdout.at_eof() and process.stderr.at_eof():
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(ENDS_WITHIN_S):
            await asyncio.gather(_drain(process.stdout, 0), _drain(process.stderr, 0))
            await process.wait()


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")
