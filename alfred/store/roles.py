"""The four logins of the database, and what nobody but the owner may do in it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg import errors, sql

from alfred.engine.database import Role
from alfred.errors import StoreFailed
from alfred.store.address import Address
from alfred.store.advisory_lock import advisory_lock
from alfred.store.driver_errors import translated
from alfred.store.scram import scram_verifier

MIN_SERVER_VERSION = 150_000
"""PostgreSQL 15 is the first that lets nobody create objects in the schema `public` unasked."""

MAINTENANCE_DATABASE = "postgres"
ADVISORY_LOCK = 0x616C_6672_6F6C  # any constant; it only must not be used for anything else
WAIT_FOR_OTHERS_S = 60.0
FORBIDDEN_ATTRIBUTES: dict[str, LiteralString] = {
    "rolsuper": "NOSUPERUSER",
    "rolbypassrls": "NOBYPASSRLS",
    "rolcreaterole": "NOCREATEROLE",
    "rolcreatedb": "NOCREATEDB",
    "rolreplication": "NOREPLICATION",
}
# Writing a large object needs no table, so that no privilege on tables stops it.
LARGE_OBJECT_WRITERS = (
    "lo_creat",
    "lo_create",
    "lo_export",
    "lo_from_bytea",
    "lo_import",
    "lo_open",
    "lo_put",
    "lo_truncate",
    "lo_truncate64",
    "lo_unlink",
    "lowrite",
)
ROLE_SETTINGS: dict[Role, dict[str, str]] = {
    Role.OWNER: {"timezone": "UTC"},
    Role.WRITER: {"timezone": "UTC", "idle_in_transaction_session_timeout": "60s"},
    Role.RUNTIME: {"timezone": "UTC", "idle_in_transaction_session_timeout": "60s"},
    Role.READER: {
        "timezone": "UTC",
        "idle_in_transaction_session_timeout": "60s",
        "default_transaction_read_only": "on",
        "statement_timeout": "30s",
    },
}
MIN_LOCK_TIMEOUT_MS = 10_000

_Connection = psycopg.Connection[tuple[Any, ...]]


def provision(address: Address) -> tuple[str, ...]:
    """Create or repair the database's logins, privileges and extension; return what stays weak.

    Safe to repeat and to run from several processes at once. An embedded database that does not
    exist yet is created. On a server where the administrator is no superuser, the returned
    sentences say which protection could not be set.

    Errors: `store.privilege`, `store.pgvector`, `store.version`, `store.encoding`, and those of a
    connection that fails.
    """
    with (
        translated(address),
        _alone(address),
        psycopg.connect(address.admin_dsn(), autocommit=True) as connection,
    ):
        _check_server(connection, address)
        with connection.transaction():
            _create_extension(connection, address)
            for role in Role:
                _provision_role(connection, address, role)
            _secure_database(connection, address)
            return _secure_large_objects(connection, address)


@contextmanager
def _alone(address: Address) -> Generator[None]:
    """Keep other processes from provisioning; create the embedded database where it is missing.

    Roles belong to the whole server, so that for the embedded one the lock is taken in the one
    database that everybody shares.
    """
    guarded = address.in_database(MAINTENANCE_DATABASE) if address.embedded else address
    with (
        psycopg.connect(guarded.admin_dsn(), autocommit=True) as connection,
        advisory_lock(connection, ADVISORY_LOCK, timeout_s=WAIT_FOR_OTHERS_S),
    ):
        if address.embedded:
            _create_database(connection, address)
        yield


def _create_database(connection: _Connection, address: Address) -> None:
    query = "SELECT FROM pg_database WHERE datname = %s"
    if connection.execute(query, (address.dbname,)).fetchone() is None:
        _run(connection, "CREATE DATABASE {}", sql.Identifier(address.dbname))
    # The roles need no other database of this server.
    for name in (MAINTENANCE_DATABASE, "template1"):
        _run(connection, "REVOKE ALL ON DATABASE {} FROM PUBLIC", sql.Identifier(name))


def _check_server(connection: _Connection, address: Address) -> None:
    version = connection.info.server_version
    if version < MIN_SERVER_VERSION:
        raise StoreFailed(
            "store.version",
            f"{address} runs PostgreSQL {version // 10_000}; Alfred needs 15 or newer.",
            hint="Upgrade the server, or unset ALFRED_DATABASE_URL to use the embedded one.",
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreFailed(
            "store.encoding",
            f"{address} stores text as {encoding}, which cannot hold every language.",
            hint="Create the database with ENCODING 'UTF8' TEMPLATE template0.",
        )


def _create_extension(connection: _Connection, address: Address) -> None:
    query = "SELECT FROM pg_available_extensions WHERE name = 'vector'"
    if connection.execute(query).fetchone() is None:
        raise StoreFailed(
            "store.pgvector",
            f"The server of {address} does not have the extension pgvector.",
            hint="Install pgvector there, or unset ALFRED_DATABASE_URL to use the embedded server.",
        )
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
    except errors.InsufficientPrivilege as exc:
        raise _not_allowed(address, "create the extension vector") from exc


def _provision_role(connection: _Connection, address: Address, role: Role) -> None:
    name = sql.Identifier(role.value)
    verifier = sql.Literal(scram_verifier(address.password_of(role)))
    columns = ", ".join(FORBIDDEN_ATTRIBUTES)
    query = sql.SQL("SELECT {} FROM pg_roles WHERE rolname = %s").format(sql.SQL(columns))  # pyright: ignore[reportArgumentType]
    try:
        found = connection.execute(query, (role.value,)).fetchone()
        if found is None:
            _run(connection, "CREATE ROLE {} LOGIN NOINHERIT PASSWORD {}", name, verifier)
            found = (False,) * len(FORBIDDEN_ATTRIBUTES)
        else:
            _run(connection, "ALTER ROLE {} LOGIN PASSWORD {}", name, verifier)
        for has_it, without in zip(found, FORBIDDEN_ATTRIBUTES.values(), strict=True):
            if has_it:
                _run(connection, "ALTER ROLE {} {}", name, sql.SQL(without))
        _leave_other_roles(connection, role)
        for setting, value in _settings(connection, role).items():
            parts = (name, sql.Identifier(setting), sql.Literal(value))
            _run(connection, "ALTER ROLE {} SET {} = {}", *parts)
    except errors.InsufficientPrivilege as exc:
        raise _not_allowed(address, f"create and change the role {role.value}") from exc


def _leave_other_roles(connection: _Connection, role: Role) -> None:
    """Take back every membership: a role may do what is granted to it by name, nothing else."""
    query = """
        SELECT granted.rolname FROM pg_auth_members membership
        JOIN pg_roles granted ON granted.oid = membership.roleid
        JOIN pg_roles member ON member.oid = membership.member
        WHERE member.rolname = %s
    """
    for (granted,) in connection.execute(query, (role.value,)).fetchall():
        parts = (sql.Identifier(granted), sql.Identifier(role.value))
        _run(connection, "REVOKE {} FROM {}", *parts)


def _settings(connection: _Connection, role: Role) -> dict[str, str]:
    settings = dict(ROLE_SETTINGS[role])
    if role is Role.WRITER:
        # Below it, a deadlock would end as two lock timeouts, which say nothing about the cause.
        query = "SELECT setting::int FROM pg_settings WHERE name = 'deadlock_timeout'"
        row = connection.execute(query).fetchone()
        deadlock_timeout_ms = row[0] if row else 1_000
        settings["lock_timeout"] = f"{max(MIN_LOCK_TIMEOUT_MS, 3 * deadlock_timeout_ms)}ms"
    return settings


def _secure_database(connection: _Connection, address: Address) -> None:
    database = sql.Identifier(address.dbname)
    owner = sql.Identifier(Role.OWNER.value)
    everyone = sql.SQL(", ").join(sql.Identifier(role.value) for role in Role)
    try:
        _run(connection, "REVOKE CREATE, TEMPORARY ON DATABASE {} FROM PUBLIC", database)
        _run(connection, "GRANT CONNECT ON DATABASE {} TO {}", database, everyone)
        _run(connection, "GRANT CREATE ON DATABASE {} TO {}", database, owner)
        _run(connection, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        _run(connection, "GRANT USAGE ON SCHEMA public TO {}", everyone)
        _run(connection, "GRANT CREATE ON SCHEMA public TO {}", owner)
    except errors.InsufficientPrivilege as exc:
        raise _not_allowed(address, "change the database's privileges") from exc
    query = "SELECT has_database_privilege(%s, %s, 'TEMPORARY')"
    row = connection.execute(query, (Role.READER.value, address.dbname)).fetchone()
    if row is None or row[0]:
        # A REVOKE by somebody who does not own the database warns and changes nothing.
        raise _not_allowed(address, "revoke temporary tables, since it does not own the database")


def _secure_large_objects(connection: _Connection, address: Address) -> tuple[str, ...]:
    query = """
        SELECT oid::regprocedure::text FROM pg_proc
        WHERE proname = ANY(%s) AND pronamespace = 'pg_catalog'::regnamespace
        AND has_function_privilege(%s, oid, 'EXECUTE')
    """
    parameters = (list(LARGE_OBJECT_WRITERS), Role.READER.value)
    left = [function for (function,) in connection.execute(query, parameters).fetchall()]
    if connection.info.parameter_status("is_superuser") == "on":
        for function in left:
            # The name comes from the catalogue, in the form that SQL reads back.
            _run(connection, "REVOKE EXECUTE ON FUNCTION {} FROM PUBLIC", sql.SQL(function))
        return ()
    if not left:
        return ()
    return (
        f"In {address} every role can still call {', '.join(left)}: only a superuser can revoke "
        "large objects.",
    )


def _run(connection: _Connection, statement: LiteralString, *parts: sql.Composable) -> None:
    connection.execute(sql.SQL(statement).format(*parts))


def _not_allowed(address: Address, what: str) -> StoreFailed:
    return StoreFailed(
        "store.privilege",
        f"The login {address.user or 'of ALFRED_DATABASE_URL'} may not {what} in {address}.",
        hint="Use a superuser, or the database's owner with CREATEROLE, for `alfred db migrate`.",
    )
