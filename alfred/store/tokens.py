"""Bearer tokens of programs: made, listed, revoked, and looked up by what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, LiteralString, get_args
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from alfred.engine.database import Database, Role, Row
from alfred.errors import AccessRefused
from alfred.store.secret_text import claimed_user, digest_of, new_secret

Scope = Literal["read", "propose", "decide", "admin"]
"""What a token may: look, send words, decide what is proposed, make and revoke tokens."""
SCOPES: tuple[Scope, ...] = get_args(Scope)
NOTED_EVERY = timedelta(minutes=1)
"""How exactly it is written down when a token was last used."""

_COLUMNS: LiteralString = "id, name, scopes, expires_at, revoked_at, used_at, created_at"


@dataclass(frozen=True, kw_only=True)
class Bearer:
    """Whose token was shown, and what it allows."""

    user_id: UUID
    user: str
    scopes: frozenset[str]


async def create_token(
    database: Database, user_id: UUID, name: str, scopes: Sequence[Scope], expires_at: datetime
) -> tuple[Row, str]:
    """Make a token; return its row, as `list_tokens` has it, and the text that is shown once."""
    secret = new_secret(user_id)
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        cursor = await connection.execute(
            "INSERT INTO api_token (user_id, id, name, digest, scopes, expires_at)"  # noqa: S608
            f" VALUES (%s, %s, %s, %s, %s, %s) RETURNING {_COLUMNS}",
            (user_id, uuid4(), name, digest_of(secret), Jsonb(sorted(set(scopes))), expires_at),
        )
        row = await cursor.fetchone()
    assert row is not None, "an insert returns its row"
    return row, secret


async def list_tokens(database: Database, user_id: UUID) -> list[Row]:
    """List a user's tokens, the newest first, the revoked and the expired among them.

    Shapes: id, name, scopes, expires_at, revoked_at, used_at, created_at.
    """
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        cursor = await connection.execute(
            f"SELECT {_COLUMNS} FROM api_token ORDER BY created_at DESC, id"  # noqa: S608
        )
        return await cursor.fetchall()


async def revoke_token(database: Database, user_id: UUID, token_id: UUID, now: datetime) -> None:
    """Let a token in no more, from its next request on; a repeat changes nothing.

    Errors: `access.token` if the user has none of that id.
    """
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        cursor = await connection.execute(
            "UPDATE api_token SET revoked_at = coalesce(revoked_at, %s) WHERE id = %s",
            (now, token_id),
        )
        if not cursor.rowcount:
            raise AccessRefused("access.token", f"There is no token {token_id}.")


async def admit_bearer(database: Database, secret: str, now: datetime) -> Bearer:
    """Find out whose token was shown, and note that it was used.

    Errors: `access.invalid`, `access.revoked`, `access.expired`.
    """
    user_id = claimed_user(secret)
    if user_id is None:
        raise _invalid()
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        cursor = await connection.execute(
            "SELECT t.id, t.scopes, t.expires_at, t.revoked_at, t.used_at, u.name FROM api_token t"
            " JOIN alfred_user u ON u.id = t.user_id WHERE t.digest = %s",
            (digest_of(secret),),
        )
        row = await cursor.fetchone()
        _require_valid(row, now)
        assert row is not None, "it is valid"
        if row["used_at"] is None or now - row["used_at"] > NOTED_EVERY:
            await connection.execute(
                "UPDATE api_token SET used_at = %s WHERE id = %s", (now, row["id"])
            )
    return Bearer(user_id=user_id, user=row["name"], scopes=frozenset(row["scopes"]))


def _require_valid(row: dict[str, Any] | None, now: datetime) -> None:
    if row is None:
        raise _invalid()
    if row["revoked_at"] is not None:
        raise AccessRefused(
            "access.revoked", f"The token was revoked on {row['revoked_at']:%Y-%m-%d}."
        )
    if row["expires_at"] <= now:
        raise AccessRefused("access.expired", f"The token expired on {row['expires_at']:%Y-%m-%d}.")


def _invalid() -> AccessRefused:
    return AccessRefused("access.invalid", "The token is none that is known here.")
