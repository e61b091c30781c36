"""The four logins: what each may do, what none may, and how they are set up and repaired."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import psycopg
import pytest
from psycopg import errors, sql

from alfred.engine.database import Role
from alfred.store.address import Address
from alfred.store.embedded import EmbeddedServer
from alfred.store.roles import provision
from tests.postgres import FAST, clone_database, short_home, start_test_server

PROVISION = """
import sys
from pathlib import Path
from alfred.store.embedded import EmbeddedServer, ServerOptions
from alfred.store.roles import provision
provision(EmbeddedServer(Path(sys.argv[1]), options=ServerOptions(durable=False)).ensure())
"""


@pytest.fixture(scope="module")
def address() -> Generator[Address]:
    with short_home() as home:
        address = start_test_server(home)
        with psycopg.connect(address.dsn(Role.OWNER)) as owner:
            owner.execute("CREATE TABLE note (words text, meaning vector(2))")
            owner.execute("CREATE TABLE secret (words text)")
            owner.execute("GRANT SELECT ON note TO alfred_reader")
            owner.execute("GRANT SELECT, INSERT ON note TO alfred_writer")
            owner.execute("GRANT SELECT, INSERT ON secret TO alfred_runtime")
        yield address


def value(address: Address, query: str, *parameters: object) -> object:
    with psycopg.connect(address.admin_dsn(), autocommit=True) as connection:
        row = connection.execute(query, parameters).fetchone()
        return row[0] if row else None


@pytest.mark.parametrize("role", list(Role))
def test_no_role_is_a_superuser_or_bypasses_row_security(address: Address, role: Role):
    query = """
        SELECT rolcanlogin AND NOT (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb
            OR rolreplication OR rolinherit) FROM pg_roles WHERE rolname = %s
    """
    assert value(address, query, role.value) is True


@pytest.mark.parametrize("role", list(Role))
def test_role_logs_in_with_its_derived_password_and_with_no_other(address: Address, role: Role):
    with psycopg.connect(address.dsn(role)) as connection:
        assert connection.execute("SELECT session_user").fetchone() == (role.value,)
        assert connection.execute("SHOW timezone").fetchone() == ("UTC",)
    other = Role.READER if role is Role.OWNER else Role.OWNER
    wrong = psycopg.conninfo.make_conninfo(address.dsn(role), password=address.password_of(other))
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(wrong)


def test_password_is_stored_as_a_scram_verifier_only(address: Address):
    stored = value(address, "SELECT rolpassword FROM pg_authid WHERE rolname = 'alfred_owner'")
    assert isinstance(stored, str)
    assert stored.startswith("SCRAM-SHA-256$1:")
    assert address.password_of(Role.OWNER) not in stored


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("INSERT INTO note VALUES ('x')", errors.InsufficientPrivilege),
        ("DELETE FROM note", errors.InsufficientPrivilege),
        ("SELECT * FROM secret", errors.InsufficientPrivilege),
        ("CREATE TABLE mine (n int)", errors.InsufficientPrivilege),
        ("CREATE TEMP TABLE mine (n int)", errors.InsufficientPrivilege),
        ("CREATE SCHEMA mine", errors.InsufficientPrivilege),
        (
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            errors.InsufficientPrivilege,
        ),
        ("SELECT lo_create(0)", errors.InsufficientPrivilege),
        ("SELECT lo_creat(-1)", errors.InsufficientPrivilege),
        ("SELECT lo_from_bytea(0, 'x')", errors.InsufficientPrivilege),
        ("SELECT lo_put(1, 0, 'x')", errors.InsufficientPrivilege),
        ("SELECT lo_open(1, 131072)", errors.InsufficientPrivilege),
        ("SELECT lo_unlink(1)", errors.InsufficientPrivilege),
        ("SELECT lo_import('/etc/hostname')", errors.InsufficientPrivilege),
        ("SELECT pg_read_file('PG_VERSION')", errors.InsufficientPrivilege),
        ("COPY note TO PROGRAM 'true'", errors.InsufficientPrivilege),
        ("CREATE ROLE other", errors.InsufficientPrivilege),
        ("CREATE DATABASE other", errors.InsufficientPrivilege),
        ("SET ROLE alfred_writer", errors.InsufficientPrivilege),
        ("SET SESSION AUTHORIZATION alfred_writer", errors.InsufficientPrivilege),
        ("ALTER ROLE alfred_reader BYPASSRLS", errors.InsufficientPrivilege),
        ("ALTER DATABASE alfred SET timezone = 'UTC'", errors.InsufficientPrivilege),
    ],
)
def test_reader_changes_nothing_even_after_leaving_read_only_mode(
    address: Address, statement: str, error: type[psycopg.Error]
):
    with psycopg.connect(address.dsn(Role.READER), autocommit=True) as connection:
        assert connection.execute("SHOW default_transaction_read_only").fetchone() == ("on",)
        connection.execute("SET default_transaction_read_only = off")
        with pytest.raises(error):
            connection.execute(statement)


def test_reader_reads_what_is_granted_and_starts_read_only(address: Address):
    with psycopg.connect(address.dsn(Role.READER), autocommit=True) as connection:
        assert connection.execute("SELECT count(*) >= 0 FROM note").fetchone() == (True,)
        assert connection.execute("SHOW statement_timeout").fetchone() == ("30s",)
        with pytest.raises(errors.ReadOnlySqlTransaction):
            connection.execute("CREATE TABLE mine (n int)")


@pytest.mark.parametrize("role", [Role.WRITER, Role.RUNTIME, Role.READER])
def test_only_the_owner_creates_objects(address: Address, role: Role):
    with psycopg.connect(address.dsn(role), autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        for what in ("TABLE t (n int)", "TEMP TABLE t (n int)", "SCHEMA s", "TYPE e AS ENUM ()"):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(sql.SQL("CREATE {}").format(sql.SQL(what)))


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("dbname", ["postgres", "template1"])
def test_no_role_enters_another_database(address: Address, role: Role, dbname: str):
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        psycopg.connect(address.in_database(dbname).dsn(role))


def test_writer_waits_longer_for_a_lock_than_a_deadlock_takes_to_be_found(address: Address):
    with psycopg.connect(address.dsn(Role.WRITER)) as connection:
        query = "SELECT setting::int FROM pg_settings WHERE name = %s"
        lock_timeout = connection.execute(query, ("lock_timeout",)).fetchone()
        deadlock_timeout = connection.execute(query, ("deadlock_timeout",)).fetchone()
    assert lock_timeout is not None
    assert deadlock_timeout is not None
    assert lock_timeout[0] > deadlock_timeout[0] > 0


def test_provisioning_again_takes_back_what_a_role_should_not_have(address: Address):
    with psycopg.connect(address.admin_dsn(), autocommit=True) as admin:
        admin.execute("ALTER ROLE alfred_reader SUPERUSER BYPASSRLS CREATEDB PASSWORD 'known'")
        admin.execute("GRANT pg_write_all_data, alfred_writer TO alfred_reader")
        admin.execute("GRANT TEMPORARY ON DATABASE alfred TO PUBLIC")
        admin.execute("GRANT EXECUTE ON FUNCTION lo_create(oid) TO PUBLIC")
        admin.execute("ALTER ROLE alfred_reader RESET default_transaction_read_only")
    assert provision(address) == ()
    test_no_role_is_a_superuser_or_bypasses_row_security(address, Role.READER)
    query = "SELECT count(*) FROM pg_auth_members WHERE member = 'alfred_reader'::regrole"
    assert value(address, query) == 0
    for statement in ("CREATE TEMP TABLE t (n int)", "SELECT lo_create(0)"):
        test_reader_changes_nothing_even_after_leaving_read_only_mode(
            address, statement, errors.InsufficientPrivilege
        )


def test_clone_of_a_database_is_as_closed_as_its_template(address: Address):
    clone = clone_database(address, "clone_1")
    with psycopg.connect(clone.dsn(Role.READER), autocommit=True) as connection:
        connection.execute("SELECT FROM note")
    for statement in ("CREATE TEMP TABLE t (n int)", "SELECT lo_create(0)"):
        test_reader_changes_nothing_even_after_leaving_read_only_mode(
            clone, statement, errors.InsufficientPrivilege
        )


def test_processes_that_provision_at_once_all_succeed():
    with short_home() as home:
        EmbeddedServer(home, options=FAST).ensure()
        children = [
            subprocess.Popen(
                [sys.executable, "-c", PROVISION, str(home)], stderr=subprocess.PIPE, text=True
            )
            for _ in range(4)
        ]
        said = [child.communicate(timeout=120)[1] for child in children]
        assert [child.returncode for child in children] == [0] * 4, said
        fresh = EmbeddedServer(home, options=FAST).ensure()
        with psycopg.connect(fresh.dsn(Role.WRITER)) as connection:
            assert connection.execute("SELECT '[1,2]'::vector <-> '[1,2]'").fetchone() == (0.0,)


def test_databases_of_one_server_that_are_provisioned_at_once_all_succeed(address: Address):
    home = Path(address.parameters["host"]).parent
    script = PROVISION.replace(".ensure())", ".ensure().in_database(sys.argv[2]))")
    children = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(home), f"many_{n}"],
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(3)
    ]
    said = [child.communicate(timeout=120)[1] for child in children]
    assert [child.returncode for child in children] == [0] * 3, said
