"""The driver's errors, translated once into ours; those that a service acts on pass through."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from alfred.engine.database import Role
from alfred.errors import StoreFailed
from alfred.store.address import Address

# Texts of a refused connection: there libpq gives no SQLSTATE, only a sentence. libpq's own are
# always English; for a server that speaks another language `used_password` decides.
REFUSED = (
    "password authentication failed",
    "authentication failed",
    "no password supplied",
    "no pg_hba.conf entry",
    "is not permitted to log in",
)
STARTING = ("the database system is", "not yet accepting connections")
LOST = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,
    errors.ConnectionException,
    psycopg.InterfaceError,
)


@contextmanager
def translated(address: Address, login: str | None = None) -> Generator[None]:
    """Turn the driver's errors into `StoreFailed` while the block runs.

    `login` is who connects, the address's administrator when None. Unique violations, deadlocks,
    serialization failures and whatever else says something about the statement pass through.
    """
    try:
        yield
    except psycopg.Error as exc:
        failure = _translate(exc, address, login or address.user or "")
        if failure is None:
            raise
        raise failure from exc


def is_starting(error: psycopg.OperationalError) -> bool:
    """Say whether the server is there but not ready: starting, recovering or shutting down."""
    return any(text in str(error) for text in STARTING)


def is_refusal(error: psycopg.Error) -> bool:
    """Say whether the server answered and refused the login."""
    text = str(error)
    if any(words in text for words in REFUSED) or ("role " in text and "does not exist" in text):
        return True
    if error.pgconn is None or "FATAL" in text:
        return False
    return bool(error.pgconn.used_password) and "server closed" not in text


def _translate(error: psycopg.Error, address: Address, login: str) -> StoreFailed | None:
    match error:
        case errors.DiskFull():
            code = "store.disk_full"
            message = f"The disk of {address} is full; nothing of this transaction was written."
            hint = "Free some space and repeat the command."
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.InvalidSchemaName():
            code = "store.not_migrated"
            message = f"{address} lacks what this Alfred expects: {_first_line(error)}."
            hint = "Run `alfred db migrate`."
        case errors.InsufficientPrivilege() | errors.ReadOnlySqlTransaction():
            code = "store.privilege"
            message = f"The login {login!r} may not do this in {address}: {_first_line(error)}."
            hint = (
                "Use a login that may; `alfred db migrate` gives Alfred's own the rights they need."
            )
        case errors.LockNotAvailable():
            return _busy(f"A row or lock in {address} stayed locked by another process.")
        case errors.QueryCanceled():
            return _busy(f"A statement in {address} took longer than {login!r} may.")
        case _:
            return _translate_connection(error, address, login)
    return StoreFailed(code, message, hint=hint)


def _translate_connection(error: psycopg.Error, address: Address, login: str) -> StoreFailed | None:
    text = str(error)
    if isinstance(error, LOST):
        return unreachable(address, _first_line(error))
    # A refused connection has no SQLSTATE; with one, it is the statement that failed.
    is_refused_connection = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
    if isinstance(error, errors.TooManyConnections) or (
        is_refused_connection and ("too many c" in text or "connection slots" in text)
    ):
        return _busy(f"{address} has no connection left.")
    if not is_refused_connection:
        return None
    if "database " in text and "does not exist" in text:
        return StoreFailed(
            "store.unreachable",
            f"The server answers, but there is no {address}.",
            hint="Create the database, or correct its name in ALFRED_DATABASE_URL.",
        )
    return (
        _refused(address, login) if is_refusal(error) else unreachable(address, _first_line(error))
    )


def unreachable(address: Address, why: str) -> StoreFailed:
    """Say that nothing answers at an address."""
    hint = "Check host and port in ALFRED_DATABASE_URL, and that the server runs."
    if address.embedded:
        hint = "Run `alfred db status`; the next command starts the embedded server again."
    return StoreFailed("store.unreachable", f"{address} does not answer: {why}.", hint=hint)


def _refused(address: Address, login: str) -> StoreFailed:
    hint = "Correct user and password in ALFRED_DATABASE_URL."
    if login in {role.value for role in Role} or address.embedded:
        hint = "Run `alfred db migrate`, which sets the passwords of Alfred's roles again."
    who = f"the login {login!r}" if login else "the login"
    return StoreFailed("store.authentication", f"{address} refuses {who}.", hint=hint)


def _busy(message: str) -> StoreFailed:
    return StoreFailed("store.busy", message, hint="Repeat the command in a moment.")


def _first_line(error: psycopg.Error) -> str:
    said = error.diag.message_primary or str(error).strip().partition("\n")[0]
    return said.strip().rstrip(".")
