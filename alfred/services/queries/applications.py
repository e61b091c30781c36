"""Applications with their postings, and the interviews of each."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import and_, select

from alfred.engine.database import Connection, Row
from alfred.store.reading import Place, behind, rows
from alfred.store.tables.job import APPLICATION, INTERVIEW, JOB_POSTING, ORGANIZATION


async def list_applications(
    connection: Connection,
    *,
    status: str | None = None,
    after: Place | None = None,
    limit: int = 100,
) -> list[Row]:
    """List applications, the newest first, behind a place; with a status only those.

    Shapes: id, status, channel, applied_on, posting_id, company, title, deadline, created_at.
    """
    statement = (
        select(
            APPLICATION.c.id,
            APPLICATION.c.status,
            APPLICATION.c.channel,
            APPLICATION.c.applied_on,
            JOB_POSTING.c.id.label("posting_id"),
            ORGANIZATION.c.name.label("company"),
            JOB_POSTING.c.title,
            JOB_POSTING.c.deadline,
            APPLICATION.c.created_at,
        )
        .join(JOB_POSTING, JOB_POSTING.c.id == APPLICATION.c.job_posting_id)
        .join(
            ORGANIZATION,
            and_(
                ORGANIZATION.c.user_id == JOB_POSTING.c.organization_user_id,
                ORGANIZATION.c.id == JOB_POSTING.c.organization_id,
            ),
        )
        .order_by(APPLICATION.c.created_at.desc(), APPLICATION.c.id)
        .limit(limit)
    )
    if status is not None:
        statement = statement.where(APPLICATION.c.status == status)
    if after is not None:
        statement = statement.where(behind(APPLICATION.c.created_at, APPLICATION.c.id, after))
    return await rows(connection, statement)


async def list_interviews(connection: Connection, application_id: UUID) -> list[Row]:
    """List the interviews of an application by round: id, round, starts_at, mode, place."""
    table = INTERVIEW.c
    return await rows(
        connection,
        select(table.id, table.round, table.starts_at, table.mode, table.place)
        .where(table.application_id == application_id)
        .order_by(table.round),
    )
