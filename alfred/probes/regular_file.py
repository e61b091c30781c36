"""Opens a configured file for reading, without ever waiting for a pipe or a device."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

MAX_SECRET_BYTES = 16_000


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file. Errors: OSError, also where it is a pipe, a device or a folder.

    What it is is asked of the open file: a name can mean something else a moment later.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as exc:
        raise OSError(errno.EINVAL, "its name holds a NUL") from exc
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file")
    return os.fdopen(descriptor, "rb")


def read_secret(path: Path) -> str:
    """Read a file that holds one secret and nothing else, without the space around it.

    Errors: OSError; ValueError where it is empty, longer than MAX_SECRET_BYTES, no UTF-8, or not
    on one line without control characters. No error repeats what the file holds.
    """
    with open_regular(path) as file:
        raw = file.read(MAX_SECRET_BYTES + 1)
    try:
        text = raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    if not text or len(raw) > MAX_SECRET_BYTES or not text.isprintable():
        raise ValueError("it does not hold one line")
    return text
