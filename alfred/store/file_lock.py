"""A lock between processes: a file that one of them holds; the system frees it when it dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from alfred.errors import StoreFailed


@contextmanager
def file_lock(path: Path, *, timeout_s: float, on_wait: Callable[[], None]) -> Generator[None]:
    """Hold the lock at `path`; `on_wait` is called once if another process has it.

    Errors: `store.busy` after `timeout_s` seconds.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _acquire(handle, path, timeout_s, on_wait)
        yield
    finally:
        os.close(handle)


def _acquire(handle: int, path: Path, timeout_s: float, on_wait: Callable[[], None]) -> None:
    deadline = time.monotonic() + timeout_s
    waited = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            if not waited:
                on_wait()
                waited = True
            if time.monotonic() > deadline:
                raise StoreFailed(
                    "store.busy",
                    f"Another process has held {path} for {timeout_s:.0f} s.",
                    hint="Wait until the other `alfred` command has ended, or end it.",
                ) from exc
            time.sleep(0.02)
        else:
            return
