"""PostgreSQL for tests: a short-lived embedded server, and databases cloned from a template."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from alfred.store.address import Address
from alfred.store.embedded import EmbeddedServer, ServerOptions
from alfred.store.roles import MAINTENANCE_DATABASE, provision

FAST = ServerOptions(durable=False)


@contextmanager
def short_home() -> Generator[Path]:
    """Lend a home with a short path, and stop the server that a test started in it.

    The directory can be walked through by other users: for root, PostgreSQL runs as one.
    """
    home = Path(tempfile.mkdtemp(prefix="alfred-test-", dir="/tmp"))
    home.chmod(0o711)
    try:
        yield home
    finally:
        EmbeddedServer(home, options=FAST).stop()
        shutil.rmtree(home, ignore_errors=True)


def start_test_server(home: Path) -> Address:
    """Start a server that forgets everything at a crash, with roles and extension in place."""
    address = EmbeddedServer(home, options=FAST).ensure()
    provision(address)
    return address


def clone_database(template: Address, name: str) -> Address:
    """Copy a database that nobody is connected to, and give the roles their privileges on it."""
    maintenance = template.in_database(MAINTENANCE_DATABASE)
    with psycopg.connect(maintenance.admin_dsn(), autocommit=True) as connection:
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
        names = (sql.Identifier(name), sql.Identifier(template.dbname))
        connection.execute(statement.format(*names))
    clone = template.in_database(name)
    provision(clone)
    return clone
