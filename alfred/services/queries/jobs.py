"""Stored postings: the list, and one with everything known about it."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from sqlalchemy import Select, String, and_, cast, func, literal, select

from alfred.engine.database import Connection, Row
from alfred.engine.tables import ACTION, CHAT_MESSAGE, PROPOSAL
from alfred.errors import ActionRefused
from alfred.services.queries.applications import list_interviews
from alfred.store.reading import rows
from alfred.store.tables.job import (
    APPLICATION,
    JOB_POSTING,
    JOB_REQUIREMENT,
    LOCATION,
    ORGANIZATION,
)
from alfred.store.tables.kernel import EVENT, REMINDER


async def list_postings(connection: Connection, *, limit: int = 100) -> list[Row]:
    """List postings, the newest first.

    Shapes: id, company, title, location (as the posting words it), deadline, url, requirements
    (how many), status (of the application, None without one), created_at.
    """
    return await rows(
        connection,
        _postings().order_by(JOB_POSTING.c.created_at.desc(), JOB_POSTING.c.id).limit(limit),
    )


async def get_posting(connection: Connection, typed: str) -> dict[str, Any]:
    """Get one posting by its id or a unique beginning of it.

    Shapes: the fields of the list, and fingerprint, website, place (the vocabulary's name),
    application (`{id, status, channel, applied_on}` or None), `requirements` as a list of
    `{id, kind, importance, text}`, `interviews`, `reminders` as `{id, about, due_on, done_at}`,
    and `provenance` as `{message_id, received_at, source, proposal_id}`, the first telling first.
    Errors: `action.reference` if no posting or more than one begins so.
    """
    posting = await _find(connection, typed)
    posting_id: UUID = posting["id"]
    subject = f"job_posting:{posting['fingerprint']}"
    applications = await rows(
        connection,
        select(
            APPLICATION.c.id,
            APPLICATION.c.status,
            APPLICATION.c.channel,
            APPLICATION.c.applied_on,
        ).where(APPLICATION.c.job_posting_id == posting_id),
    )
    application = applications[0] if applications else None
    return {
        **posting,
        "application": application,
        "requirements": await _requirements(connection, posting_id),
        "interviews": await list_interviews(connection, application["id"]) if application else [],
        "reminders": await _reminders(connection, subject),
        "provenance": await _provenance(connection, subject),
    }


def _postings() -> Select[*tuple[Any, ...]]:
    count = (
        select(func.count())
        .select_from(JOB_REQUIREMENT)
        .where(JOB_REQUIREMENT.c.job_posting_id == JOB_POSTING.c.id)
        .scalar_subquery()
    )
    return (
        select(
            JOB_POSTING.c.id,
            ORGANIZATION.c.name.label("company"),
            JOB_POSTING.c.title,
            JOB_POSTING.c.location_text.label("location"),
            JOB_POSTING.c.deadline,
            JOB_POSTING.c.url,
            count.label("requirements"),
            APPLICATION.c.status,
            JOB_POSTING.c.created_at,
        )
        .join_from(
            JOB_POSTING,
            ORGANIZATION,
            and_(
                ORGANIZATION.c.user_id == JOB_POSTING.c.organization_user_id,
                ORGANIZATION.c.id == JOB_POSTING.c.organization_id,
            ),
        )
        .outerjoin(APPLICATION, APPLICATION.c.job_posting_id == JOB_POSTING.c.id)
    )


async def _find(connection: Connection, typed: str) -> Row:
    beginning = typed.strip().lower()
    is_beginning = re.fullmatch("[0-9a-f-]{1,36}", beginning)
    detailed = (
        _postings()
        .add_columns(
            JOB_POSTING.c.fingerprint, ORGANIZATION.c.website, LOCATION.c.name.label("place")
        )
        .outerjoin(
            LOCATION,
            and_(
                LOCATION.c.user_id == JOB_POSTING.c.location_user_id,
                LOCATION.c.id == JOB_POSTING.c.location_id,
            ),
        )
        .where(cast(JOB_POSTING.c.id, String).startswith(beginning, autoescape=True))
        .limit(2)
    )
    found = await rows(connection, detailed) if is_beginning else []
    if len(found) != 1:
        raise ActionRefused(
            "action.reference",
            f"{'More than one' if found else 'No'} posting has an id that begins with {typed!r}.",
            hint="Give more of its id, as the list of postings shows it.",
        )
    return found[0]


async def _requirements(connection: Connection, posting_id: UUID) -> list[Row]:
    table = JOB_REQUIREMENT.c
    return await rows(
        connection,
        select(table.id, table.kind, table.importance, table.text)
        .where(table.job_posting_id == posting_id)
        .order_by(table.importance, table.kind.desc(), table.created_at, table.text),
    )


async def _reminders(connection: Connection, subject: str) -> list[Row]:
    table = REMINDER.c
    return await rows(
        connection,
        select(table.id, table.about, table.due_on, table.done_at)
        .where(table.subject == subject)
        .order_by(table.due_on, table.about),
    )


async def _provenance(connection: Connection, subject: str) -> list[Row]:
    """Find the messages that told of a posting, and the proposals in which it was approved."""
    is_committed = (
        select(literal(1))
        .where(
            ACTION.c.proposal_id == PROPOSAL.c.id,
            ACTION.c.kind == "upsert_job_posting",
            ACTION.c.state == "committed",
        )
        .exists()
    )
    told = (
        select(
            EVENT.c.message_id,
            CHAT_MESSAGE.c.received_at,
            CHAT_MESSAGE.c.source,
            PROPOSAL.c.id.label("proposal_id"),
        )
        .join(CHAT_MESSAGE, CHAT_MESSAGE.c.id == EVENT.c.message_id)
        .outerjoin(PROPOSAL, and_(PROPOSAL.c.message_id == EVENT.c.message_id, is_committed))
        .where(EVENT.c.kind == "posting.captured", EVENT.c.subject == subject)
        .distinct()
        .order_by(CHAT_MESSAGE.c.received_at, EVENT.c.message_id, PROPOSAL.c.id)
    )
    return await rows(connection, told)
