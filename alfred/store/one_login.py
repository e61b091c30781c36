"""The ledger in a schema of somebody's own database, reached by the one login that they have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import psycopg
from sqlalchemy import NullPool, Table, create_engine
from sqlalchemy.exc import DBAPIError

from alfred.engine import tables
from alfred.engine.database import Role
from alfred.errors import StoreFailed
from alfred.store.address import Address, parse_url
from alfred.store.driver_errors import translated
from alfred.store.migrate import KERNEL_REVISION

LEDGER: list[Table[Any]] = [t for t in vars(tables).values() if isinstance(t, Table)]
"""Every table of the engine; the ledger refers to messages and turns."""
_APPEND_ONLY = sorted(table.name for table in LEDGER if table.info.get("append_only"))
_KEPT = """
CREATE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' is append-only', ERRCODE = '42501';
END $$
"""
"""One login owns the ledger and may do anything in it, so that only a trigger can say no."""
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SETTINGS = ("timezone=UTC", "lock_timeout=10s", "idle_in_transaction_session_timeout=60s")


@dataclass(frozen=True, kw_only=True)
class OneLogin(Address):
    """An address at which all four roles are the login of its URL."""

    def dsn(self, role: Role) -> str:
        """Return the connection string, the same for every role."""
        return self.admin_dsn()

    def login_of(self, role: Role) -> str:
        """Name the login of the URL, whatever the role."""
        return self.user or ""


def one_login(url: str, schema: str) -> OneLogin:
    """Read a URL; names without a schema then mean the ledger's first.

    Errors: `store.url`; ValueError for a schema that needs quotes.
    """
    if _SCHEMA.fullmatch(schema) is None:
        raise ValueError(f"{schema!r} is no plain name; use lower-case letters, digits and _")
    given = parse_url(url, key="")
    wanted = [f"search_path={schema},public", *_SETTINGS]
    options = [given.parameters.get("options", ""), *(f"-c{setting}" for setting in wanted)]
    return OneLogin(
        parameters={**given.parameters, "options": " ".join(options).strip()},
        user=given.user,
        password=given.password,
        dbname=given.dbname,
        secret=given.secret,
        embedded=False,
    )


def prepare_ledger(address: OneLogin, schema: str) -> None:
    """Create the ledger's schema and tables where they are missing; safe from several processes.

    Errors: `store.privilege` if the login may not create a schema; `store.not_migrated` if the
    tables are of another version of Alfred; those of a connection that fails.
    """
    engine = create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(address.admin_dsn()),
        poolclass=NullPool,
    )
    with translated(address):
        try:
            with engine.begin() as connection:
                run = connection.exec_driver_sql
                run("SELECT pg_advisory_xact_lock(hashtextextended('alfred ledger', 0))")
                run(f"CREATE SCHEMA IF NOT EXISTS {schema}")
                # A host's table may have the name of one of these; it must not be taken for it.
                run(f"SET LOCAL search_path = {schema}")
                run("CREATE TABLE IF NOT EXISTS schema_part (part text, revision text)")
                found = run("SELECT revision FROM schema_part WHERE part = 'ledger'").scalar()
                if found == KERNEL_REVISION:
                    return
                if found is not None:
                    raise _other_version(address, schema, str(found))
                tables.METADATA.create_all(connection, LEDGER, checkfirst=False)
                run(_KEPT)
                for name in _APPEND_ONLY:
                    run(
                        f"CREATE TRIGGER kept BEFORE UPDATE OR DELETE OR TRUNCATE ON {name}"
                        " FOR EACH STATEMENT EXECUTE FUNCTION kept()"
                    )
                run("INSERT INTO schema_part VALUES ('ledger', %s)", (KERNEL_REVISION,))
        except DBAPIError as error:
            # SQLAlchemy wraps the driver's error, which our adapter knows by its class.
            raise (error.orig or error) from error


def _other_version(address: Address, schema: str, found: str) -> StoreFailed:
    return StoreFailed(
        "store.not_migrated",
        f"The ledger in the schema {schema} of {address} is that of {found};"
        f" this Alfred needs {KERNEL_REVISION}.",
        hint="Decide what is pending with the version that made it, then give another schema.",
    )
