"""What the benchmark compares: ways to take one posting from its text to approved rows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from alfred.services.text_key import organization_key, text_key
from alfred.store.address import Address
from bench.posting import ROWS_PER_TURN, Posting


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A named way to do the job; `users` are those whose rows it writes."""

    name: str
    turn: Callable[[Posting], Awaitable[None]]
    users: Sequence[UUID]


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What every variant is given: one PostgreSQL, and one model behind HTTP."""

    address: Address
    model_url: str


def count_rows(address: Address, users: Sequence[UUID]) -> dict[str, int]:
    """Count users' rows in the tables that every variant writes."""
    counted: dict[str, int] = {}
    with psycopg.connect(address.admin_dsn()) as connection:
        for table in ROWS_PER_TURN:
            query = sql.SQL("SELECT count(*) FROM {} WHERE user_id = ANY(%s)")
            named = query.format(sql.Identifier(table))
            row = connection.execute(named, (list(users),)).fetchone()
            assert row is not None
            counted[table] = row[0]
    return counted


def add_person(address: Address) -> tuple[UUID, UUID]:
    """Add a user with a conversation; return both ids."""
    user_id, thread_id = uuid4(), uuid4()
    with psycopg.connect(address.admin_dsn()) as connection:
        connection.execute("INSERT INTO alfred_user (id, name) VALUES (%s, 'bench')", (user_id,))
        connection.execute(
            "INSERT INTO chat_thread (user_id, id) VALUES (%s, %s)", (user_id, thread_id)
        )
    return user_id, thread_id


_MESSAGE: LiteralString = (
    "INSERT INTO chat_message (user_id, id, thread_id, role, modality, text, received_at)"
    " VALUES (%s, %s, %s, 'user', 'text', %s, now())"
)
_ORGANIZATION: LiteralString = (
    "INSERT INTO organization (user_id, id, kind, name, name_key)"
    " VALUES (%s, %s, 'company', %s, %s)"
)
_POSTING: LiteralString = (
    "INSERT INTO job_posting (user_id, id, fingerprint, organization_id, organization_user_id,"
    " title, location_text) VALUES (%s, %s, %s, %s, %s, %s, %s)"
)
_REQUIREMENT: LiteralString = (
    "INSERT INTO job_requirement (user_id, id, job_posting_id, text_key, kind, importance, text)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s)"
)
_EVENT: LiteralString = (
    "INSERT INTO event (user_id, id, kind, subject, body, message_id, occurred_at)"
    " VALUES (%s, %s, %s, %s, %s, %s, now())"
)


@dataclass(frozen=True, kw_only=True)
class Said:
    """A message, and whose it is."""

    user_id: UUID
    thread_id: UUID
    message_id: UUID
    text: str


async def store_message(connection: AsyncConnection[Any], said: Said) -> None:
    """Store the message's row."""
    await connection.execute(_MESSAGE, (said.user_id, said.message_id, said.thread_id, said.text))


async def write_rows(connection: AsyncConnection[Any], said: Said, answer: dict[str, Any]) -> None:
    """Write the rows of an answer as plainly as SQL allows: nothing is looked up or compared."""
    user, company, posting = said.user_id, uuid4(), uuid4()
    company_key = organization_key(answer["company"])
    fingerprint = "/".join((company_key, text_key(answer["title"]), text_key(answer["location"])))
    await connection.execute(_ORGANIZATION, (user, company, answer["company"], company_key))
    await connection.execute(
        _POSTING,
        (user, posting, fingerprint, company, user, answer["title"], answer["location"]),
    )
    wanted = answer["requirements"]
    await connection.cursor().executemany(
        _REQUIREMENT,
        [
            (user, uuid4(), posting, text_key(r["text"]), r["kind"], r["importance"], r["text"])
            for r in wanted
        ],
    )
    subject = f"job_posting:{fingerprint}"
    captured = {
        "title": answer["title"],
        "location": answer["location"],
        "company_name": answer["company"],
    }
    events = [
        ("company.noted", f"organization:company/{company_key}", {"name": answer["company"]}),
        ("posting.captured", subject, captured),
        *(("requirement.noted", subject, requirement) for requirement in wanted),
    ]
    await connection.cursor().executemany(
        _EVENT,
        [
            (user, uuid4(), kind, about, Jsonb(body), said.message_id)
            for kind, about, body in events
        ],
    )


POOL: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
"""How LangGraph's documentation opens the connections of its saver; the floor does likewise."""
