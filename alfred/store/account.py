"""The system user as whom the embedded server runs: oneself, or for root a dedicated one."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from alfred.errors import StoreFailed

SYSTEM_USER = "alfred-postgres"

# The programs get no variable of ours: PGPORT, PGOPTIONS or a locale would change what they do.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True)
class Account:
    """A system user by name and ids. `is_other` says that commands must switch to it."""

    name: str
    uid: int
    gid: int
    is_other: bool

    def run(
        self, arguments: Sequence[str | Path], *, cwd: Path, timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a program as this user, in a session of its own, and return what it printed.

        Errors: `store.start` when it cannot be run or does not end in time.
        """
        try:
            return subprocess.run(  # noqa: S603 - a fixed program of the installation
                [str(argument) for argument in arguments],
                cwd=cwd,
                env=ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout_s,
                check=False,
                start_new_session=True,
                umask=0o077,
                user=self.uid if self.is_other else None,
                group=self.gid if self.is_other else None,
                extra_groups=() if self.is_other else None,
            )
        except (OSError, subprocess.TimeoutExpired) as exc:
            raise StoreFailed(
                "store.start",
                f"{arguments[0]} could not be run as {self.name}: {exc}.",
                hint="Set ALFRED_DATABASE_URL to use a PostgreSQL server of your own.",
            ) from exc

    def own(self, path: Path) -> None:
        """Give a path, not what it may link to, to this user."""
        if self.is_other:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)


def server_account() -> Account:
    """Choose who runs the server, creating the dedicated user where root has none yet.

    Errors: `store.platform` when root cannot create it.
    """
    if os.geteuid() != 0:
        return Account(_name_of(os.geteuid()), os.geteuid(), os.getegid(), is_other=False)
    entry = _entry(SYSTEM_USER) or _create_system_user()
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, is_other=True)


def _entry(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _create_system_user() -> pwd.struct_passwd:
    program = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    said = "there is no useradd"
    if program:
        command = [program, "--system", "--user-group", "--no-create-home"]
        command += ["--home-dir", "/nonexistent", "--shell", "/bin/false", SYSTEM_USER]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        said = done.stderr.strip() or f"useradd ended with {done.returncode}"
    # Another process may be creating the same user at this moment.
    for _ in range(20):
        if entry := _entry(SYSTEM_USER):
            return entry
        if not program:
            break
        time.sleep(0.1)
    raise StoreFailed(
        "store.platform",
        f"PostgreSQL refuses to run as root, and the user {SYSTEM_USER} cannot be created: {said}.",
        hint="Run Alfred as an ordinary user, or set ALFRED_DATABASE_URL.",
    )
