"""The private directory of the embedded server's socket: short, and without special characters."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
from pathlib import Path

from alfred.store.account import Account

PORT = 5432
SOCKET_NAME = f".s.PGSQL.{PORT}"
# The shortest limit of any supported system: 103 bytes on macOS, 107 on Linux.
MAX_SOCKET_PATH_BYTES = 103
# libpq takes a comma for a list and "@" for an abstract name; a space or quote breaks others.
PLAIN_PATH = re.compile(r"[A-Za-z0-9/._-]+")
SHORT_PARENT = Path("/tmp")  # noqa: S108 - what is made there is 0700 and checked


def socket_directory(data: Path, account: Account) -> Path:
    """Choose and make the directory, beside the data where its path allows it.

    Clients read the choice from the server's pid file, so that it need not be the same twice.
    """
    digest = hashlib.sha256(os.fsencode(data)).hexdigest()[:12]
    name = f"alfred-{account.uid}-{digest}"
    places = (data.parent / "socket", Path(tempfile.gettempdir()) / name, SHORT_PARENT / name)
    for candidate in places:
        if _is_fit(candidate) and _make_private(candidate, account):
            return candidate
    # Somebody else has made directories of these names.
    made = Path(tempfile.mkdtemp(prefix="alfred-", dir=SHORT_PARENT))
    account.own(made)
    return made


def _is_fit(directory: Path) -> bool:
    text = str(directory / SOCKET_NAME)
    return bool(PLAIN_PATH.fullmatch(text)) and len(text) <= MAX_SOCKET_PATH_BYTES


def _make_private(directory: Path, account: Account) -> bool:
    """Make a directory for one user alone; False where another's stands in its place."""
    try:
        directory.mkdir(mode=0o700)
        account.own(directory)
    except FileExistsError:
        pass
    found = directory.lstat()
    is_private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    return is_private and found.st_uid == account.uid
