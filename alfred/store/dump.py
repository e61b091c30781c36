"""Dumps of a whole database to one file, and their restoration."""

from __future__ import annotations

import os
import secrets
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from psycopg import errors, sql

from alfred.errors import StoreFailed
from alfred.store.address import Address
from alfred.store.driver_errors import translated
from alfred.store.installation import find_installation
from alfred.store.roles import MAINTENANCE_DATABASE, provision

# pg_restore writes settings into its script that older servers do not know.
MIN_RESTORE_VERSION = 170_000
ATTEMPTS = 3
TABLES = """
    SELECT count(*) FROM pg_class
    WHERE relkind IN ('r', 'p') AND relnamespace NOT IN (
        SELECT oid FROM pg_namespace WHERE nspname ~ '^pg_' OR nspname = 'information_schema'
    )
"""


def dump(address: Address, path: Path) -> int:
    """Write the whole database to a file of mode 0600, whole or not at all; return its bytes.

    Errors: `store.dump`, `store.version` (a server newer than Alfred's pg_dump), `store.disk_full`,
    and those of a connection that fails.
    """
    _check_version(address, _server_version(address), writing=False)
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        # Made here and not by pg_dump, which would leave it readable to others.
        with os.fdopen(_create_private(unfinished), "wb") as file:
            with _connection_string(address) as dsn:
                _run("pg_dump", ["--format=custom", f"--file={unfinished}", f"--dbname={dsn}"])
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError as exc:
        raise _failed(f"{path} cannot be written: {exc.strerror or exc}") from exc
    finally:
        # Where the folder cannot be written there is nothing to remove, and its error is told.
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
    return path.stat().st_size


def restore(address: Address, path: Path, *, replace: bool = False) -> None:
    """Fill an empty database from a dump; with `replace` exchange one that is not empty.

    The exchange works on the embedded server: the dump goes into a new database, which takes the
    place of the old one in one step once it is complete. A failure changes nothing. Open
    connections to the old database are closed.

    Errors: `store.dump`, `store.embedded_only`, `store.version`, `store.disk_full`, and those of
    `provision`.
    """
    _check_archive(path)
    # The dump's privileges name roles, and the embedded server's database may not exist yet.
    provision(address)
    _check_version(address, _server_version(address), writing=True)
    tables = _count_tables(address)
    if tables == 0:
        _restore_into(address, path)
    elif not replace:
        raise StoreFailed(
            "store.dump",
            f"{address} is not empty: it has {tables} tables, and nothing was restored.",
            hint="Add --replace to replace it, or restore into an empty database.",
        )
    elif not address.embedded:
        raise StoreFailed(
            "store.embedded_only",
            f"{address} is not empty, and Alfred replaces only its own embedded database.",
            hint="Create an empty database there and name it in ALFRED_DATABASE_URL.",
        )
    else:
        _restore_beside(address, path)


def _restore_beside(address: Address, path: Path) -> None:
    fresh = address.in_database(f"{address.dbname}_{secrets.token_hex(4)}")
    old = f"{fresh.dbname}_old"
    try:
        provision(fresh)
        _restore_into(fresh, path)
        with translated(address), _maintenance(address) as connection:
            _exchange(connection, address.dbname, fresh.dbname, old)
    finally:
        # Whichever is left over: the new one after a failure, the old one after success.
        with translated(address), _maintenance(address) as connection:
            for name in (fresh.dbname, old):
                statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
                connection.execute(statement.format(sql.Identifier(name)))


def _restore_into(address: Address, path: Path) -> None:
    with _connection_string(address) as dsn:
        arguments = ["--exit-on-error", "--single-transaction", f"--dbname={dsn}", str(path)]
        _run("pg_restore", arguments)
    # Privileges on the database itself are not part of a dump.
    provision(address)


@contextmanager
def _maintenance(address: Address) -> Generator[psycopg.Connection]:
    dsn = address.in_database(MAINTENANCE_DATABASE).admin_dsn()
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def _exchange(connection: psycopg.Connection, name: str, fresh: str, old: str) -> None:
    """Rename both databases in one step, which needs a moment without other connections."""
    query = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s"
    for _ in range(ATTEMPTS):
        connection.execute(query, (name,)).fetchall()
        try:
            with connection.transaction():
                _rename(connection, name, old)
                _rename(connection, fresh, name)
        except errors.ObjectInUse:
            continue
        return
    raise StoreFailed(
        "store.busy",
        f"Other processes keep connecting to the database {name!r}; nothing was replaced.",
        hint="Stop them, for example `alfred serve`, and repeat the command.",
    )


def _rename(connection: psycopg.Connection, old: str, new: str) -> None:
    statement = sql.SQL("ALTER DATABASE {} RENAME TO {}")
    connection.execute(statement.format(sql.Identifier(old), sql.Identifier(new)))


def _server_version(address: Address) -> int:
    with translated(address), psycopg.connect(address.admin_dsn()) as connection:
        return connection.info.server_version


def _check_version(address: Address, version: int, *, writing: bool) -> None:
    major = find_installation().major
    if version // 10_000 > major or (writing and version < MIN_RESTORE_VERSION):
        what = "restore into" if writing else "dump"
        raise StoreFailed(
            "store.version",
            f"{address} runs PostgreSQL {version // 10_000}, which Alfred's programs of version "
            f"{major} cannot {what}.",
            hint="Use the server's own pg_dump and pg_restore.",
        )


def _count_tables(address: Address) -> int:
    with translated(address), psycopg.connect(address.admin_dsn()) as connection:
        row = connection.execute(TABLES).fetchone()
        return row[0] if row else 0


def _check_archive(path: Path) -> None:
    if not path.is_file():
        raise _failed(f"{path} is not a file")
    _run("pg_restore", ["--list", str(path)])


def _create_private(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


@contextmanager
def _connection_string(address: Address) -> Generator[str]:
    """Lend a connection string without password, which every user of the machine could read."""
    if address.password is None:
        yield address.visible_dsn(None)
        return
    with tempfile.TemporaryDirectory(prefix="alfred-") as folder:
        passfile = Path(folder) / "pgpass"
        with os.fdopen(_create_private(passfile), "w") as file:
            escaped = address.password.replace("\\", "\\\\").replace(":", "\\:")
            file.write(f"*:*:*:*:{escaped}\n")
        yield address.visible_dsn(str(passfile))


def _run(program: str, arguments: Sequence[str]) -> None:
    command = [str(find_installation().program(program)), *arguments]
    done = subprocess.run(  # noqa: S603 - a fixed program of the installation
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode == 0:
        return
    said = done.stderr.strip() or f"it ended with {done.returncode}"
    if "No space left on device" in said:
        raise StoreFailed(
            "store.disk_full", f"The disk is full: {program}: {said}", hint="Free some space."
        )
    raise _failed(f"{program}: {said}")


def _failed(what: str) -> StoreFailed:
    return StoreFailed(
        "store.dump",
        f"{what}.",
        hint="Nothing was changed; `alfred db dump FILE` writes files that can be restored.",
    )
