"""Sessions of browsers, and the links that begin them: each link once, within its time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from alfred.engine.database import Database, Role
from alfred.errors import AccessRefused
from alfred.store.secret_text import claimed_user, digest_of, new_secret

LINK_LASTS = timedelta(minutes=15)
SESSION_LASTS = timedelta(days=30)


@dataclass(frozen=True, kw_only=True)
class Visit:
    """Whose session was shown, and the secret that it was shown by."""

    user_id: UUID
    user: str
    secret: str


async def make_link(database: Database, user_id: UUID, now: datetime) -> str:
    """Make what signs a user in once, within a quarter of an hour; what ran out goes."""
    secret = new_secret(user_id)
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        await connection.execute("DELETE FROM sign_in_link WHERE expires_at <= %s", (now,))
        await connection.execute(
            "INSERT INTO sign_in_link (user_id, id, digest, expires_at) VALUES (%s, %s, %s, %s)",
            (user_id, uuid4(), digest_of(secret), now + LINK_LASTS),
        )
    return secret


async def begin_session(database: Database, link: str, now: datetime) -> Visit:
    """Use a link up and begin a session; sessions that ran out go.

    Errors: `access.link`.
    """
    user_id = claimed_user(link)
    if user_id is None:
        raise _no_link()
    secret = new_secret(user_id)
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        cursor = await connection.execute(
            "UPDATE sign_in_link SET used_at = %(now)s FROM alfred_user u"
            " WHERE u.id = user_id AND digest = %(digest)s AND used_at IS NULL"
            " AND expires_at > %(now)s RETURNING u.name",
            {"now": now, "digest": digest_of(link)},
        )
        row = await cursor.fetchone()
        if row is None:
            raise _no_link()
        await connection.execute("DELETE FROM web_session WHERE expires_at <= %s", (now,))
        await connection.execute(
            "INSERT INTO web_session (user_id, id, digest, expires_at) VALUES (%s, %s, %s, %s)",
            (user_id, uuid4(), digest_of(secret), now + SESSION_LASTS),
        )
    return Visit(user_id=user_id, user=row["name"], secret=secret)


async def admit_visit(database: Database, secret: str, now: datetime) -> Visit:
    """Find out whose session was shown.

    Errors: `access.invalid`, `access.expired`.
    """
    user_id = claimed_user(secret)
    if user_id is None:
        raise _invalid()
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        cursor = await connection.execute(
            "SELECT s.expires_at, u.name FROM web_session s JOIN alfred_user u ON u.id = s.user_id"
            " WHERE s.digest = %s",
            (digest_of(secret),),
        )
        row = await cursor.fetchone()
    if row is None:
        raise _invalid()
    if row["expires_at"] <= now:
        raise AccessRefused("access.expired", "The session ended after thirty days.")
    return Visit(user_id=user_id, user=row["name"], secret=secret)


async def end_session(database: Database, visit: Visit) -> None:
    """Sign out: the session's secret lets nobody in any more."""
    async with database.transaction(Role.RUNTIME, visit.user_id) as connection:
        await connection.execute(
            "DELETE FROM web_session WHERE digest = %s", (digest_of(visit.secret),)
        )


def _no_link() -> AccessRefused:
    return AccessRefused(
        "access.link",
        "The sign-in link was used, is older than a quarter of an hour, or is unknown here.",
        hint="Make a new one with `alfred user link`.",
    )


def _invalid() -> AccessRefused:
    return AccessRefused("access.invalid", "The session has ended, or is none that is known here.")
