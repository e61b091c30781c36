"""The embedded server's files: where they lie, how they are made, what the server is told."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from alfred.errors import StoreFailed
from alfred.store.account import Account
from alfred.store.installation import MAJOR, Installation, is_open_to_all
from alfred.store.postmaster import PID_FILE, end_processes
from alfred.store.secret_file import read_or_create_secret, read_secret
from alfred.store.socket_directory import PORT, socket_directory

SUPERUSER = "postgres"
START_LOG = "start.log"
UNFINISHED = ".postgres.new-"
CONFIGURATION = "alfred.conf"
# Which characters are letters, for full text search; sorting is PostgreSQL's own C.UTF-8. macOS
# has no locale of that name.
CHARACTER_CLASSES = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
HOST_RULES = (
    "# Written by Alfred: one socket, and never without a password.\nlocal all all scram-sha-256\n"
)

# Statements and the details of errors carry a user's words, so the log gets neither.
SERVER_SETTINGS = """\
# Written by Alfred at every start; use ALTER SYSTEM for changes of your own.
listen_addresses = ''
port = {port}
unix_socket_directories = '{sockets}'
unix_socket_permissions = 0700
max_connections = 100
shared_buffers = '64MB'
huge_pages = off
io_method = sync
jit = off
wal_level = minimal
max_wal_senders = 0
max_wal_size = '256MB'
timezone = 'UTC'
log_timezone = 'UTC'
cluster_name = 'alfred'
password_encryption = 'scram-sha-256'
logging_collector = on
log_directory = 'log'
log_filename = 'server-%u.log'
log_rotation_age = '1d'
log_rotation_size = 0
log_truncate_on_rotation = on
log_min_error_statement = panic
log_error_verbosity = terse
"""
FORGETFUL_SETTINGS = """\
fsync = off
synchronous_commit = off
full_page_writes = off
"""


@dataclass(frozen=True)
class DataDirectory:
    """The files of one embedded server, found from Alfred's home.

    `home/postgres` is the data directory, or for root, when no other user can look into `home`, a
    link to one below `system_directory`.
    """

    home: Path
    account: Account
    system_directory: Path

    @property
    def link(self) -> Path:
        return self.home / "postgres"

    @property
    def lock(self) -> Path:
        return self.home / "postgres.lock"

    @property
    def password_file(self) -> Path:
        return self.home / "postgres.password"

    def find(self) -> Path | None:
        """Return the data directory with links resolved; None where there is none yet.

        Errors: `store.start` for a link that leads nowhere, since a new and empty database in its
        place would look like the loss of the old one.
        """
        if not self.link.is_dir():
            if self.link.is_symlink():
                raise StoreFailed(
                    "store.start",
                    f"{self.link} links to {os.readlink(self.link)}, which is not there.",
                    hint="Bring that directory back, or remove the link for an empty database.",
                )
            return None
        return self.link.resolve()

    def password(self) -> str:
        """Return the superuser's password.

        Errors: `store.authentication` when its file is gone.
        """
        if found := read_secret(self.password_file):
            return found
        raise StoreFailed(
            "store.authentication",
            f"{self.password_file}, the password of the embedded server, is missing.",
            hint="Restore the file from a backup of Alfred's home.",
        )

    def check(self, data: Path) -> None:
        """Refuse a data directory of another version or another user.

        Errors: `store.version`, `store.start`.
        """
        owner = data.stat().st_uid
        if owner != self.account.uid:
            raise StoreFailed(
                "store.start",
                f"{data} belongs to user id {owner}, but the server runs as {self.account.name}.",
                hint="Run Alfred as the user who created it, or set another ALFRED_HOME.",
            )
        version = (data / "PG_VERSION").read_text().strip()
        if version == str(MAJOR):
            return
        newer = version.isdecimal() and int(version) > MAJOR
        hint = "Install the Alfred that created it or a newer one."
        if not newer:
            hint = "Dump it with the Alfred that created it, then restore the dump with this one."
        raise StoreFailed(
            "store.version",
            f"{data} was created by PostgreSQL {version}; this Alfred brings {MAJOR}.",
            hint=hint,
        )

    def create(self, installation: Installation, *, durable: bool) -> Path:
        """Make a new cluster and return its directory; a crash half-way leaves nothing in place.

        Errors: `store.start`, `store.disk_full`.
        """
        place = self._new_place()
        for leftover in place.parent.glob(f"{UNFINISHED}*"):
            # The initdb of a killed process runs on, and would write into what is removed here.
            end_processes(leftover / "data", timeout_s=5)
            shutil.rmtree(leftover)
        # A server may still run on a directory that was deleted under it; it would later remove
        # the socket of the new one.
        end_processes(place, timeout_s=10)
        unfinished = place.with_name(f"{UNFINISHED}{secrets.token_hex(4)}")
        data = unfinished / "data"
        for directory in (unfinished, data):
            directory.mkdir(mode=0o700)
            self.account.own(directory)
        try:
            self._initialize(installation, data, durable=durable)
            data.rename(place)
        finally:
            shutil.rmtree(unfinished)
        if place != self.link:
            self.link.symlink_to(place)
        return place.resolve()

    def _new_place(self) -> Path:
        if not self.account.is_other or is_open_to_all(self.home):
            return self.link
        digest = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:16]
        self.system_directory.mkdir(parents=True, exist_ok=True, mode=0o755)
        # A home that was deleted and made again starts empty, as anywhere else: the old data
        # stays, under another name, but nothing serves it any more.
        for earlier in self.system_directory.glob(f"{digest}-*"):
            end_processes((earlier / "postgres").resolve(), timeout_s=10)
        directory = self.system_directory / f"{digest}-{secrets.token_hex(4)}"
        directory.mkdir(mode=0o700)
        self.account.own(directory)
        return directory / "postgres"

    def _initialize(self, installation: Installation, data: Path, *, durable: bool) -> None:
        password_copy = data.with_name("password")
        write_owned(password_copy, read_or_create_secret(self.password_file), self.account)
        arguments = [
            installation.program("initdb"),
            f"--pgdata={data}",
            f"--username={SUPERUSER}",
            f"--pwfile={password_copy}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            f"--locale={CHARACTER_CLASSES}",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--lc-messages=C",
            "--data-checksums",
            # The password has 256 random bits; stretching protects guessable ones only.
            "--set=scram_iterations=1",
            *([] if durable else ["--no-sync"]),
        ]
        done = self.account.run(arguments, cwd=data, timeout_s=300)
        if done.returncode != 0:
            raise start_failure("initdb failed", done.stderr)
        write_owned(data / "pg_hba.conf", HOST_RULES, self.account)
        with (data / "postgresql.conf").open("a") as file:
            file.write(f"\ninclude '{CONFIGURATION}'\n")

    def configure(self, data: Path, *, durable: bool) -> None:
        """Write the server's settings, if they changed: on a full disk it can still start."""
        sockets = socket_directory(data, self.account)
        text = SERVER_SETTINGS.format(port=PORT, sockets=sockets)
        text += "" if durable else FORGETFUL_SETTINGS
        path = data / CONFIGURATION
        if not path.exists() or path.read_text() != text:
            write_owned(path, text, self.account)

    def clear(self, data: Path) -> None:
        """Remove what a dead server left: its pid file, its sockets, the log of its start."""
        (data / PID_FILE).unlink(missing_ok=True)
        (data / START_LOG).unlink(missing_ok=True)
        for leftover in socket_directory(data, self.account).glob(".s.PGSQL.*"):
            leftover.unlink()


def write_owned(path: Path, text: str, account: Account) -> None:
    """Write a file of mode 0600 for the server's user, whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        account.own(unfinished)
        os.replace(unfinished, path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def start_failure(what: str, said: str) -> StoreFailed:
    """Tell a full disk from every other reason why the server's programs failed."""
    if "No space left on device" in said or "Disk quota exceeded" in said:
        return StoreFailed(
            "store.disk_full",
            f"The disk is full: {what}.",
            hint="Free at least 200 MB, or set ALFRED_HOME to another disk.",
        )
    return StoreFailed(
        "store.start",
        f"{what}: {said.strip() or 'it left no message'}",
        hint="Run `alfred doctor`, or set ALFRED_DATABASE_URL to a server of your own.",
    )
