"""Stored postings: the list, and one with everything known about it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import Select, and_, func, literal, select

from alfred.engine.database import Connection, Row
from alfred.engine.tables import ACTION, CHAT_MESSAGE, PROPOSAL
from alfred.services.queries.applications import list_interviews
from alfred.services.queries.posting_lookup import find_posting
from alfred.store.reading import Place, behind, rows
from alfred.store.tables.job import (
    APPLICATION,
    JOB_POSTING,
    JOB_REQUIREMENT,
    LOCATION,
    ORGANIZATION,
)
from alfred.store.tables.kernel import EVENT, REMINDER


async def list_postings(
    connection: Connection,
    *,
    company_id: UUID | None = None,
    after: Place | None = None,
    limit: int | None = 100,
) -> list[Row]:
    """List postings, the newest first, behind a place; with a company's id only its own.

    Shapes: id, company, title, location (as the posting words it), deadline, url, requirements
    (how many), status (of the application, None without one), created_at.
    """
    statement = _postings().order_by(JOB_POSTING.c.created_at.desc(), JOB_POSTING.c.id)
    if company_id is not None:
        statement = statement.where(JOB_POSTING.c.organization_id == company_id)
    if after is not None:
        statement = statement.where(behind(JOB_POSTING.c.created_at, JOB_POSTING.c.id, after))
    return await rows(connection, statement.limit(limit))


async def get_posting(connection: Connection, typed: str) -> dict[str, Any]:
    """Get one posting, named in one of the ways of `find_posting`.

    Shapes: the fields of the list, and fingerprint, website, place (the vocabulary's name),
    application (`{id, status, channel, applied_on}` or None), `requirements` as in
    `list_requirements`, `interviews`, `reminders` as `{id, about, due_on, done_at}`, and
    `provenance` as `{message_id, received_at, source, proposal_id}`, the first telling first.
    Errors: those of `find_posting`.
    """
    posting_id = await find_posting(connection, typed)
    posting = await _detailed(connection, posting_id)
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
        "requirements": await list_requirements(connection, posting_id),
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


async def _detailed(connection: Connection, posting_id: UUID) -> Row:
    statement = (
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
        .where(JOB_POSTING.c.id == posting_id)
    )
    (found,) = await rows(connection, statement)
    return found


async def list_requirements(connection: Connection, posting_id: UUID) -> list[Row]:
    """List a posting's requirements, the musts first: id, kind, importance, text, skill_id."""
    table = JOB_REQUIREMENT.c
    return await rows(
        connection,
        select(table.id, table.kind, table.importance, table.text, table.skill_id)
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
