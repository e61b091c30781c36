"""What happened, by time: changes of applications, and everything known about a company."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from sqlalchemy import and_, or_, select

from alfred.engine.database import Connection, Row
from alfred.engine.tables import CHAT_MESSAGE
from alfred.services.funnel import Change
from alfred.services.queries.due import Due, list_due
from alfred.services.queries.jobs import list_postings
from alfred.services.text_key import organization_key
from alfred.store.reading import rows
from alfred.store.tables.job import (
    APPLICATION,
    DOCUMENT,
    DOCUMENT_VERSION,
    EXPERIENCE,
    JOB_POSTING,
    ORGANIZATION,
)
from alfred.store.tables.kernel import EVENT, FACT

_STATED = {
    "interview.scheduled": "interviewing",
    "application.deleted": None,
    "posting.deleted": None,
}
"""Kinds of events whose state their body does not say; None for a deletion."""


async def list_changes(connection: Connection) -> list[Change]:
    """List how applications changed, in the order in which it was written down."""
    kinds = ("application.recorded", *_STATED)
    found = await rows(
        connection,
        select(EVENT.c.kind, EVENT.c.subject, EVENT.c.body, EVENT.c.occurred_at)
        .where(EVENT.c.kind.in_(kinds))
        .order_by(EVENT.c.created_at, EVENT.c.occurred_at, EVENT.c.id),
    )
    return [
        Change(
            application=row["subject"].partition(":")[2],
            status=_STATED.get(row["kind"], row["body"].get("status")),
            at=row["occurred_at"],
        )
        for row in found
    ]


async def list_documents(connection: Connection, company: Row | None = None) -> list[Row]:
    """List documents' versions, the newest first; with a company only those for its postings.

    Shapes: id, kind, title, version, created_at, posting_id, company and posting (None where it
    was written for none), status and applied_on of the application.
    """
    statement = (
        select(
            DOCUMENT_VERSION.c.id,
            DOCUMENT.c.kind,
            DOCUMENT.c.title,
            DOCUMENT_VERSION.c.version,
            DOCUMENT_VERSION.c.created_at,
            JOB_POSTING.c.id.label("posting_id"),
            ORGANIZATION.c.name.label("company"),
            JOB_POSTING.c.title.label("posting"),
            APPLICATION.c.status,
            APPLICATION.c.applied_on,
        )
        .join(DOCUMENT, DOCUMENT.c.id == DOCUMENT_VERSION.c.document_id)
        .outerjoin(JOB_POSTING, JOB_POSTING.c.id == DOCUMENT_VERSION.c.job_posting_id)
        .outerjoin(
            ORGANIZATION,
            and_(
                ORGANIZATION.c.user_id == JOB_POSTING.c.organization_user_id,
                ORGANIZATION.c.id == JOB_POSTING.c.organization_id,
            ),
        )
        .outerjoin(APPLICATION, APPLICATION.c.job_posting_id == JOB_POSTING.c.id)
        .order_by(DOCUMENT_VERSION.c.created_at.desc(), DOCUMENT_VERSION.c.version.desc())
    )
    if company is not None:
        statement = statement.where(JOB_POSTING.c.organization_id == company["id"])
    return await rows(connection, statement)


class CompanyHistory(TypedDict):
    """Everything known about a company; each list is by time, the earliest first."""

    company: Row
    facts: list[Row]
    postings: list[Row]
    documents: list[Row]
    experience: list[Row]
    history: list[Row]
    upcoming: list[Due]


async def tell_company(
    connection: Connection, company: Row, *, now: datetime, days: int = 3650
) -> CompanyHistory:
    """Tell everything known about a company, also of postings that were deleted since.

    Shapes: `facts` as `{subject, predicate, object, valid_from}`, those that are true now;
    `postings` as in `list_postings`, `documents` as in `list_documents`; `experience` as
    `{id, role, period, summary, created_at}`; `history` as `{at, kind, subject, body, message_id,
    source}`; `upcoming` as in `list_due`, including what is overdue.
    """
    postings = await list_postings(connection, company_id=company["id"])
    ids = {posting["id"] for posting in postings}
    due = await list_due(connection, now=now, days=days)
    return {
        "company": company,
        "facts": await _facts(connection, company["name_key"]),
        "postings": postings[::-1],
        "documents": (await list_documents(connection, company))[::-1],
        "experience": await _experience(connection, company["name_key"]),
        "history": await _events(connection, company["name_key"]),
        "upcoming": [each for each in due if each["posting_id"] in ids],
    }


async def _events(connection: Connection, key: str) -> list[Row]:
    about = or_(
        EVENT.c.subject == f"organization:company/{key}",
        EVENT.c.subject.startswith(f"job_posting:{key}/", autoescape=True),
        EVENT.c.subject.startswith(f"application:{key}/", autoescape=True),
        EVENT.c.body["posting"].astext.startswith(f"{key}/", autoescape=True),
    )
    return await rows(
        connection,
        select(
            EVENT.c.occurred_at.label("at"),
            EVENT.c.kind,
            EVENT.c.subject,
            EVENT.c.body,
            EVENT.c.message_id,
            CHAT_MESSAGE.c.source,
        )
        .outerjoin(CHAT_MESSAGE, CHAT_MESSAGE.c.id == EVENT.c.message_id)
        .where(about)
        .order_by(EVENT.c.occurred_at, EVENT.c.created_at, EVENT.c.kind, EVENT.c.id),
    )


async def _facts(connection: Connection, key: str) -> list[Row]:
    table = FACT.c
    about = or_(
        table.subject == f"organization:company/{key}",
        table.subject.startswith(f"job_posting:{key}/", autoescape=True),
        table.subject.startswith(f"application:{key}/", autoescape=True),
    )
    return await rows(
        connection,
        select(table.subject, table.predicate, table.object, table.valid_from)
        .where(about, table.valid_to.is_(None))
        .order_by(table.valid_from, table.subject, table.predicate),
    )


async def _experience(connection: Connection, key: str) -> list[Row]:
    """Find what the user told of working there, under any spelling of the name."""
    table = EXPERIENCE.c
    told = await rows(
        connection,
        select(
            *(table.id, table.organization, table.role, table.period),
            *(table.summary, table.created_at),
        )
        .where(table.organization.is_not(None))
        .order_by(table.created_at, table.id),
    )
    return [row for row in told if organization_key(row["organization"]) == key]
