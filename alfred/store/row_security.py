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
