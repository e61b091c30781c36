"""Row-level security and grants, as the migrations apply them to each table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from alfred.engine.database import Role

CURRENT_USER = "NULLIF(current_setting('alfred.user_id', true), '')::uuid"
"""The user of the transaction; NULL, and so no row at all, where none is set."""
ZERO_USER = "'00000000-0000-0000-0000-000000000000'::uuid"


def protect(table: str, *, owner: str = "user_id", shared: bool = False) -> Iterator[str]:
    """Force row security: a user's own rows, and for vocabularies also the zero user's to read."""
    own = f"{owner} = {CURRENT_USER}"
    visible = f"{own} OR {owner} = {ZERO_USER}" if shared else own
    yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
    yield f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY"
    yield f"CREATE POLICY visible ON {table} FOR SELECT USING ({visible})"
    yield f"CREATE POLICY insertable ON {table} FOR INSERT WITH CHECK ({own})"
    yield f"CREATE POLICY changeable ON {table} FOR UPDATE USING ({own}) WITH CHECK ({own})"
    yield f"CREATE POLICY erasable ON {table} FOR DELETE USING ({own})"
    if shared:
        # Operators and migrations keep the vocabulary; no user's transaction has their role.
        yield (
            f"CREATE POLICY kept ON {table} TO {Role.OWNER} USING ({owner} = {ZERO_USER})"
            f" WITH CHECK ({owner} = {ZERO_USER})"
        )


def grant(table: str, role: Role, privileges: Sequence[str]) -> str:
    """Allow a login some statements on a table; column lists are part of a privilege."""
    return f"GRANT {', '.join(privileges)} ON {table} TO {role}"


READ = ("SELECT",)
APPEND = ("SELECT", "INSERT")
CHANGE = ("SELECT", "INSERT", "UPDATE")
ERASE = ("SELECT", "INSERT", "UPDATE", "DELETE")


def private_table_ddl(table: str, columns: str, *, append_only: bool = False) -> Iterator[str]:
    """Give the statements that create a domain's private table, for a migration.

    `columns` are its own columns and constraints, as SQL; the rest is what every private table
    has: key, owner, time, row security, and what each login may do.
    """
    yield (
        f"CREATE TABLE {table} (user_id uuid NOT NULL, id uuid NOT NULL, {columns},"
        " created_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (user_id, id))"
    )
    yield from protect(table)
    yield grant(table, Role.READER, READ)
    yield grant(table, Role.WRITER, APPEND if append_only else ERASE)
