"""The catalogue walked: every table protected, every login with what it needs and no more.

A new table that nobody protected, or a grant that nobody meant, fails here.
"""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest
from psycopg import errors, sql

from alfred.engine.database import Role
from alfred.engine.tables import METADATA
from alfred.store.address import Address
from alfred.store.migrate import CHECKPOINT_TABLES
from alfred.store.tables import diagnosis, job, kernel
from tests.world import look

WITHOUT_USERS = {"alembic_version", "schema_part", "checkpoint_migrations"}
"""Tables in which nothing belongs to anybody: revisions of the schema."""
APPEND_ONLY = {table.name for table in METADATA.tables.values() if table.info.get("append_only")}
LEDGER = {"ledger_entry", "receipt", "proposal", "action", "action_payload", "ledger_payload"}
RECORDED = (
    *(diagnosis.DIAGNOSIS_RUN, diagnosis.DIAGNOSIS_CALL, diagnosis.DIAGNOSIS_FACT),
    *(diagnosis.DIAGNOSIS_EVENT, diagnosis.DIAGNOSIS_END, diagnosis.DIAGNOSIS_CANCEL),
    diagnosis.ALERT_INTAKE,
)
"""What automatic kinds add to."""
DOMAIN = {
    *job.VOCABULARIES,
    *("job_posting", "job_requirement", "experience", "application", "interview"),
    *("document", "document_version", "document_line"),
    *(kernel.EVENT.name, kernel.FACT.name, kernel.MEMORY.name, kernel.REMINDER.name),
    *(table.name for table in (*RECORDED, diagnosis.INCIDENT_NOTE)),
}
ACCESS = ("api_token", "web_session", "sign_in_link")
"""What lets somebody in."""
UNREADABLE = {"model_call", "trace_event", "turn_event", *ACCESS}
"""What no question of a graph or a query may see."""
CHANGES = {"INSERT", "UPDATE", "DELETE"}


def tables(database: Address) -> set[str]:
    rows = look(
        database,
        "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace"
        " WHERE relkind IN ('r', 'p') AND nspname = 'public'",
    )
    return {row["relname"] for row in rows}


def privileges(database: Address, role: Role) -> dict[str, set[str]]:
    """Every privilege of a login by table; one on some columns is written `UPDATE (column)`."""
    whole = look(
        database,
        "SELECT table_name, privilege_type FROM information_schema.role_table_grants"
        " WHERE grantee IN (%s, 'PUBLIC') AND table_schema = 'public'",
        [role.value],
    )
    found: dict[str, set[str]] = {}
    for row in whole:
        found.setdefault(row["table_name"], set()).add(row["privilege_type"])
    columns = look(
        database,
        "SELECT table_name, column_name, privilege_type FROM information_schema.column_privileges"
        " WHERE grantee IN (%s, 'PUBLIC') AND table_schema = 'public'",
        [role.value],
    )
    for row in columns:
        if row["privilege_type"] not in found.get(row["table_name"], set()):
            name = f"{row['privilege_type']} ({row['column_name']})"
            found.setdefault(row["table_name"], set()).add(name)
    return found


def test_row_security_is_on_and_forced_on_every_table_that_holds_somebodys_rows(
    database: Address,
) -> None:
    unprotected = look(
        database,
        "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace"
        " WHERE relkind IN ('r', 'p') AND nspname = 'public'"
        " AND NOT (relrowsecurity AND relforcerowsecurity)",
    )
    assert {row["relname"] for row in unprotected} == WITHOUT_USERS
    assert set(METADATA.tables) | set(CHECKPOINT_TABLES) | WITHOUT_USERS == tables(database)


def test_every_policy_compares_with_the_transactions_user(database: Address) -> None:
    policies = look(
        database,
        "SELECT tablename, policyname, roles::text[] AS roles, permissive, cmd, qual, with_check"
        " FROM pg_policies WHERE schemaname = 'public'",
    )
    assert {policy["tablename"] for policy in policies} == tables(database) - WITHOUT_USERS
    for policy in policies:
        rules = [rule for rule in (policy["qual"], policy["with_check"]) if rule is not None]
        if policy["roles"] == [Role.OWNER.value]:
            assert policy["tablename"] in job.VOCABULARIES
            assert all("00000000-0000-0000-0000-000000000000" in rule for rule in rules)
            continue
        assert rules, policy
        assert all("current_setting('alfred.user_id'" in rule for rule in rules), policy
        if policy["cmd"] != "SELECT":
            assert all("00000000-0000" not in rule for rule in rules), policy


def test_every_key_of_a_private_table_begins_with_its_user(database: Address) -> None:
    keys = look(
        database,
        "SELECT c.relname, i.indexrelid::regclass::text AS key, a.attname FROM pg_index i"
        " JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]"
        " WHERE i.indisunique AND n.nspname = 'public'",
    )
    private = [row for row in keys if row["relname"] in METADATA.tables]
    assert {row["relname"] for row in private} == set(METADATA.tables)
    others = {row["key"] for row in private if row["attname"] != "user_id"}
    assert others == {"alfred_user_pkey"}


def test_every_foreign_key_carries_the_user_on_both_ends(database: Address) -> None:
    keys = look(
        database,
        "SELECT conname, (SELECT attname FROM pg_attribute WHERE attrelid = conrelid"
        " AND attnum = conkey[1]) AS here, (SELECT attname FROM pg_attribute"
        " WHERE attrelid = confrelid AND attnum = confkey[1]) AS there"
        " FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace",
    )
    assert len(keys) > 20
    for key in keys:
        assert key["there"] == "user_id", key
        assert key["here"].endswith("user_id"), key


def test_a_reference_to_a_vocabulary_reaches_own_rows_and_everybodys_only(
    database: Address,
) -> None:
    owners = look(
        database,
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = 'public' AND column_name ~ '_user_id$'",
    )
    checks = look(
        database,
        "SELECT conrelid::regclass::text AS table_name, pg_get_constraintdef(oid) AS rule"
        " FROM pg_constraint WHERE contype = 'c' AND connamespace = 'public'::regnamespace",
    )
    assert owners
    for owner in owners:
        rules = [c["rule"] for c in checks if c["table_name"] == owner["table_name"]]
        wanted = f"({owner['column_name']} = user_id) OR ({owner['column_name']} = '0000"
        assert any(wanted in rule for rule in rules), owner


def test_the_reader_may_select_and_nothing_else(database: Address) -> None:
    held = privileges(database, Role.READER)
    assert held == {table: {"SELECT"} for table in METADATA.tables if table not in UNREADABLE}


def test_the_runtime_changes_no_row_of_a_domain_and_none_of_the_ledger(database: Address) -> None:
    held = privileges(database, Role.RUNTIME)
    assert not DOMAIN & set(held)
    for table in LEDGER & set(held):
        assert held[table] == {"SELECT"}
    changed = {table for table, which in held.items() if which & CHANGES}
    assert changed == {
        *("alfred_user", "chat_thread", "chat_message", "attachment", "turn"),
        *("model_call", "trace_event", "turn_event", *CHECKPOINT_TABLES, *ACCESS),
    }


def test_the_writer_adds_to_what_is_append_only_and_changes_nothing_there(
    database: Address,
) -> None:
    held = privileges(database, Role.WRITER)
    assert {"ledger_entry", "receipt", "event", "document_version"} <= APPEND_ONLY
    for table in APPEND_ONLY:
        assert held[table] == {"SELECT", "INSERT"}
    assert {table.name for table in RECORDED} <= APPEND_ONLY
    for table in ("proposal", "action", "fact", "incident_note"):
        assert held[table] == {"SELECT", "INSERT", "UPDATE"}
    assert held["chat_message"] == {"SELECT", "UPDATE (annotations)"}
    assert held["turn"] == {"SELECT", "UPDATE (resume_due)"}
    for table in ("alfred_user", "chat_thread", "attachment"):
        assert held[table] == {"SELECT"}
    assert held["turn_event"] == {"INSERT"}
    assert not {*UNREADABLE, *CHECKPOINT_TABLES} & set(held) - {"turn_event"}
    assert set(held) <= set(METADATA.tables)


@pytest.mark.parametrize("role", [Role.WRITER, Role.RUNTIME, Role.READER])
def test_no_login_may_truncate_refer_to_or_trigger_on_a_table_or_use_a_sequence(
    database: Address, role: Role
) -> None:
    for table, held in privileges(database, role).items():
        assert not held & {"TRUNCATE", "REFERENCES", "TRIGGER", "MAINTAIN"}, table
    sequences = look(
        database,
        "SELECT relname, has_sequence_privilege(%s, oid, 'USAGE, SELECT, UPDATE') AS may"
        " FROM pg_class WHERE relkind = 'S'",
        [role.value],
    )
    assert {row["may"] for row in sequences} == {False}


@pytest.mark.parametrize("role", [Role.WRITER, Role.RUNTIME, Role.READER])
def test_without_a_user_and_as_another_no_row_is_seen(database: Address, role: Role) -> None:
    readable = [t for t, held in privileges(database, role).items() if "SELECT" in held]
    private = set(readable) - WITHOUT_USERS
    shared_rows = look(database, "SELECT count(*) AS n FROM location")[0]["n"]
    assert shared_rows > 0
    with psycopg.connect(database.dsn(role)) as connection:
        for user in ("", str(uuid4())):
            connection.execute("SELECT set_config('alfred.user_id', %s, true)", (user,))
            for table in sorted(private):
                query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
                seen = connection.execute(query).fetchone()
                assert seen is not None
                assert seen[0] == 0 or table in job.VOCABULARIES, (table, user)


@pytest.mark.parametrize(
    ("role", "statement"),
    [
        (Role.READER, "SELECT nextval('ledger_entry_seq_seq')"),
        (Role.READER, "SELECT setval('ledger_entry_seq_seq', 1)"),
        (Role.WRITER, "SELECT setval('ledger_entry_seq_seq', 1)"),
        (Role.WRITER, "UPDATE ledger_entry SET kind = 'approved'"),
        (Role.WRITER, "DELETE FROM ledger_entry"),
        (Role.WRITER, "UPDATE receipt SET digest = ''"),
        (Role.WRITER, "DELETE FROM event"),
        (Role.WRITER, "UPDATE chat_message SET text = ''"),
        (Role.WRITER, "UPDATE ledger_payload SET body = '{}'"),
        (Role.WRITER, "DELETE FROM proposal"),
        (Role.WRITER, "DELETE FROM incident_note"),
        *((Role.WRITER, f"DELETE FROM {table.name}") for table in RECORDED),
        *((Role.WRITER, f"UPDATE {table.name} SET created_at = now()") for table in RECORDED),
        (Role.RUNTIME, "INSERT INTO diagnosis_run DEFAULT VALUES"),
        (Role.RUNTIME, "INSERT INTO job_posting DEFAULT VALUES"),
        (Role.RUNTIME, "UPDATE action SET state = 'approved'"),
        (Role.RUNTIME, "INSERT INTO receipt DEFAULT VALUES"),
        (Role.RUNTIME, "SELECT * FROM job_posting"),
        (Role.READER, "SELECT * FROM checkpoints"),
        (Role.READER, "SELECT * FROM schema_part"),
    ],
)
def test_a_login_that_tries_more_is_told_no(database: Address, role: Role, statement: str) -> None:
    with psycopg.connect(database.dsn(role), autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute(statement)  # type: ignore[arg-type]


def test_a_row_for_another_user_is_refused_whoever_writes_it(database: Address) -> None:
    user, other = uuid4(), uuid4()
    with psycopg.connect(database.dsn(Role.WRITER)) as connection:
        connection.execute("SELECT set_config('alfred.user_id', %s, true)", (str(user),))
        with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
            connection.execute(
                "INSERT INTO memory (user_id, id, text, stated_at) VALUES (%s, %s, 'x', now())",
                (other, uuid4()),
            )
    with psycopg.connect(database.dsn(Role.WRITER)) as connection:
        connection.execute("SELECT set_config('alfred.user_id', %s, true)", (str(user),))
        with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
            connection.execute(
                "INSERT INTO skill (user_id, id, name, name_key) VALUES"
                " ('00000000-0000-0000-0000-000000000000', %s, 'Knots', 'knots')",
                (uuid4(),),
            )


def test_the_writer_may_delete_only_where_an_action_or_forgetting_does(database: Address) -> None:
    held = privileges(database, Role.WRITER)
    assert {table for table, which in held.items() if "DELETE" in which} == {
        *("job_posting", "application", "reminder"),
        *("memory", "action_payload", "ledger_payload"),
    }
