"""The embedded PostgreSQL server: started when needed, kept running, stopped on request."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from alfred.errors import StoreFailed
from alfred.store.account import Account, server_account
from alfred.store.address import Address
from alfred.store.data_directory import (
    START_LOG,
    SUPERUSER,
    DataDirectory,
    start_failure,
)
from alfred.store.driver_errors import is_refusal, is_starting
from alfred.store.file_lock import file_lock
from alfred.store.installation import (
    Installation,
    find_installation,
    is_open_to_all,
    shared_installation,
)
from alfred.store.postmaster import Postmaster, end_processes, read_postmaster, serves
from alfred.store.socket_directory import SOCKET_NAME

DATABASE = "alfred"
LOCK_TIMEOUT_S = 180.0
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 30.0
# The socket is made before the server says it is ready; one that is missing now was removed.
DEAF_TIMEOUT_S = 0.5
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)

Progress = Callable[[str], None]
"""Gets a sentence for a person before a step that takes time."""


def silent(_: str) -> None:
    """Show no progress."""


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """How a server is run. Without `durable` a crash of the machine loses data: tests only."""

    durable: bool = True
    installation: Installation = field(default_factory=find_installation)
    system_directory: Path = Path("/var/lib/alfred")


@dataclass(frozen=True, kw_only=True)
class ServerStatus:
    """What `alfred db status` shows. `version` is the data's; `size_bytes` counts its files."""

    running: bool
    pid: int | None
    version: str | None
    data_directory: Path | None
    size_bytes: int
    socket_directory: Path | None


class EmbeddedServer:
    """The server of one home directory. Any number of processes may use one at the same time."""

    def __init__(
        self, home: Path, *, options: ServerOptions | None = None, progress: Progress = silent
    ) -> None:
        self._home = home.absolute()
        self._options = options
        self._progress = progress

    def ensure(self) -> Address:
        """Return the address of the running server, creating and starting it if need be.

        Errors: `store.start`, `store.version`, `store.disk_full`, `store.busy`,
        `store.authentication` (its password file is lost), `store.platform`.
        """
        with self._translated():
            options = self._options or ServerOptions()
            files = self._files(server_account(), options)
            if (data := files.find()) and (found := self._running(files, data)):
                return found
            with self._lock(files):
                return self._start(files, options)

    def stop(self) -> bool:
        """Stop the server and return whether one was running; open connections are closed.

        Errors: `store.busy`, `store.start` when its processes survive even SIGKILL.
        """
        with self._translated():
            if not self._home.is_dir():
                return False
            files = self._files(server_account(), self._options or ServerOptions())
            with self._lock(files):
                data = files.find()
                if data is None or not end_processes(data, timeout_s=STOP_TIMEOUT_S):
                    return False
                files.clear(data)
                return True

    def status(self) -> ServerStatus:
        """Say whether the server runs and how large its data is, without starting anything."""
        # Looking needs no account to run the server as, which asking for might create.
        link = self._home / "postgres"
        data = link.resolve() if link.is_dir() else None
        postmaster = read_postmaster(data) if data else None
        return ServerStatus(
            running=postmaster is not None and postmaster.is_ready,
            pid=postmaster.pid if postmaster else None,
            version=_read_version(data) if data else None,
            data_directory=data,
            size_bytes=_size(data) if data else 0,
            socket_directory=postmaster.socket_directory if postmaster else None,
        )

    def _files(self, account: Account, options: ServerOptions) -> DataDirectory:
        if not self._home.is_dir():
            # Where root lets another user run the server, that user must be able to walk through.
            is_shared = account.is_other and is_open_to_all(_existing_parent(self._home))
            self._home.mkdir(parents=True, exist_ok=True, mode=0o711 if is_shared else 0o700)
        return DataDirectory(self._home.resolve(), account, options.system_directory)

    @contextmanager
    def _lock(self, files: DataDirectory) -> Generator[None]:
        def say() -> None:
            self._progress("Waiting for another process that starts or stops the database …")

        with file_lock(files.lock, timeout_s=LOCK_TIMEOUT_S, on_wait=say):
            yield

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except OSError as exc:
            if exc.errno in FULL_DISK:
                raise start_failure("nothing can be written", "No space left on device") from exc
            raise StoreFailed(
                "store.start",
                f"The embedded server's files in {self._home} cannot be used: {exc}.",
                hint="Set ALFRED_HOME to a directory that you can write.",
            ) from exc

    def _running(self, files: DataDirectory, data: Path) -> Address | None:
        """Return the address when the server answers right now."""
        postmaster = read_postmaster(data)
        if postmaster is None or not postmaster.is_ready:
            return None
        address = _address(files, postmaster)
        return address if self._answers(address) else None

    def _answers(self, address: Address) -> bool:
        """Ask the server for something. False means: not there, or not ready yet.

        Errors: `store.authentication` when it does not know the password.
        """
        try:
            with psycopg.connect(address.in_database("postgres").admin_dsn()) as connection:
                return connection.execute("SELECT 1").fetchone() == (1,)
        except psycopg.OperationalError as exc:
            if is_starting(exc):
                return False
            if "connection slots" in str(exc) or "too many clients" in str(exc):
                return True
            if is_refusal(exc):
                raise StoreFailed(
                    "store.authentication",
                    f"The embedded server refuses the password in {self._home}.",
                    hint="Restore postgres.password from a backup of Alfred's home.",
                ) from exc
            return False

    def _start(self, files: DataDirectory, options: ServerOptions) -> Address:
        data = files.find()
        if data is None:
            self._progress(f"Creating the database in {files.home} …")
            installation = self._installation(files, options)
            data = files.create(installation, durable=options.durable)
        else:
            files.check(data)
            files.password()
            if found := self._wait(files, data):
                return found
            installation = self._installation(files, options)
        self._progress("Starting the database …")
        # Nothing answers: what still runs here is an orphan, or was left behind by a crash.
        end_processes(data, timeout_s=STOP_TIMEOUT_S)
        files.clear(data)
        files.configure(data, durable=options.durable)
        pid = _launch(files.account, installation, data)
        if found := self._wait(files, data, pid):
            return found
        raise start_failure("PostgreSQL did not start", _log_tail(data))

    def _installation(self, files: DataDirectory, options: ServerOptions) -> Installation:
        if not files.account.is_other:
            return options.installation
        options.system_directory.mkdir(parents=True, exist_ok=True, mode=0o755)
        return shared_installation(options.installation, options.system_directory)

    def _wait(self, files: DataDirectory, data: Path, pid: int | None = None) -> Address | None:
        """Wait until the server answers; None once its process is gone or stays deaf.

        `pid` is a process just launched, which may not have written its pid file yet.
        """
        begin = time.monotonic()
        deaf_since: float | None = None
        while (now := time.monotonic()) - begin < START_TIMEOUT_S:
            postmaster = read_postmaster(data)
            if postmaster is None and not (pid and serves(pid, data)):
                return None
            if postmaster and postmaster.is_ready:
                if self._answers(address := _address(files, postmaster)):
                    return address
                deaf_since = deaf_since or now
                if now - deaf_since > DEAF_TIMEOUT_S and not _has_socket(postmaster):
                    return None
            time.sleep(0.01)
        return None


def _launch(account: Account, installation: Installation, data: Path) -> int:
    """Start the server detached from this process and return its pid.

    The shell's child outlives the shell, so that no process of ours has the server for a child:
    it would stay a zombie after its end, and look alive.
    """
    script = 'umask 077; exec 3>&1 >>"$2" 2>&1 </dev/null; "$0" -D "$1" 3>&- & echo $! >&3'
    arguments = ["/bin/sh", "-c", script, installation.program("postgres"), data, data / START_LOG]
    done = account.run(arguments, cwd=data, timeout_s=30)
    if not done.stdout.strip().isdecimal():
        raise start_failure("PostgreSQL did not start", done.stderr)
    return int(done.stdout)


def _address(files: DataDirectory, postmaster: Postmaster) -> Address:
    password = files.password()
    return Address(
        parameters={"host": str(postmaster.socket_directory), "port": str(postmaster.port)},
        user=SUPERUSER,
        password=password,
        dbname=DATABASE,
        secret=password.encode(),
        embedded=True,
    )


def _has_socket(postmaster: Postmaster) -> bool:
    return (postmaster.socket_directory / SOCKET_NAME).is_socket()


def _existing_parent(path: Path) -> Path:
    return next(parent for parent in path.parents if parent.is_dir())


def _read_version(data: Path) -> str | None:
    try:
        return (data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        return None


def _size(data: Path) -> int:
    total = 0
    for folder, _, names in os.walk(data):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                continue
    return total


def _log_tail(data: Path) -> str:
    if shutil.disk_usage(data).free < 1_000_000:
        # The log is on the same disk and could not be written either.
        return "No space left on device"
    logs = [data / START_LOG, *(data / "log").glob("server-*.log")]
    written = sorted((log for log in logs if log.is_file()), key=lambda log: log.stat().st_mtime)
    lines = [line for log in written for line in log.read_text(errors="replace").splitlines()]
    return " / ".join(lines[-8:])
