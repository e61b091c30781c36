"""What is due: reminders, deadlines of postings, interviews."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Literal, TypedDict
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, or_, select

from alfred.engine.database import Connection, Row
from alfred.store.reading import rows
from alfred.store.tables.job import APPLICATION, INTERVIEW, JOB_POSTING, ORGANIZATION
from alfred.store.tables.kernel import REMINDER

ENDED = ("rejected", "withdrawn")


class Due(TypedDict):
    """Something with a day; `at` is the moment where one is known, `days` counts from today."""

    kind: Literal["reminder", "deadline", "interview"]
    id: UUID
    on: date
    at: datetime | None
    days: int
    overdue: bool
    about: str
    posting_id: UUID | None
    company: str | None
    title: str | None
    url: str | None


async def list_due(connection: Connection, *, now: datetime, days: int = 7) -> list[Due]:
    """List what is overdue, then what falls due within some days, each by day.

    Reminders stay overdue until they are done. A deadline counts as long as nothing was sent to
    the posting, and for as many days after it as are looked ahead. An interview is due from today
    on, unless the application has ended.
    Units: `now` with the zone in which days are meant.
    """
    until = now.date() + timedelta(days=days)
    found = [
        *await _reminders(connection, now, until),
        *await _deadlines(connection, now, until, days),
        *await _interviews(connection, now, until),
    ]
    latest = datetime.max.replace(tzinfo=now.tzinfo)
    return sorted(found, key=lambda due: (not due["overdue"], due["on"], due["at"] or latest))


async def _reminders(connection: Connection, now: datetime, until: date) -> list[Due]:
    statement = (
        _with_posting(REMINDER.c.id, REMINDER.c.about, REMINDER.c.due_on)
        .select_from(REMINDER)
        .outerjoin(JOB_POSTING, REMINDER.c.subject == "job_posting:" + JOB_POSTING.c.fingerprint)
        .outerjoin(ORGANIZATION, _EMPLOYER)
        .where(REMINDER.c.done_at.is_(None), REMINDER.c.due_on <= until)
        .order_by(REMINDER.c.due_on, REMINDER.c.about, REMINDER.c.id)
    )
    return [_due("reminder", row, row["due_on"], now) for row in await rows(connection, statement)]


async def _deadlines(connection: Connection, now: datetime, until: date, days: int) -> list[Due]:
    since = now.date() - timedelta(days=days)
    statement = (
        _with_posting(JOB_POSTING.c.id, JOB_POSTING.c.deadline)
        .select_from(JOB_POSTING)
        .join(ORGANIZATION, _EMPLOYER)
        .outerjoin(APPLICATION, APPLICATION.c.job_posting_id == JOB_POSTING.c.id)
        .where(
            JOB_POSTING.c.deadline.between(since, until),
            or_(APPLICATION.c.status.is_(None), APPLICATION.c.status == "saved"),
        )
        .order_by(JOB_POSTING.c.deadline, JOB_POSTING.c.id)
    )
    return [
        _due("deadline", {**row, "about": "nothing sent yet"}, row["deadline"], now)
        for row in await rows(connection, statement)
    ]


async def _interviews(connection: Connection, now: datetime, until: date) -> list[Due]:
    midnight = datetime.combine(now.date(), time(), now.tzinfo)
    end = datetime.combine(until + timedelta(days=1), time(), now.tzinfo)
    table = INTERVIEW.c
    statement = (
        _with_posting(table.id, table.starts_at, table.round, table.mode, table.place)
        .select_from(INTERVIEW)
        .join(APPLICATION, APPLICATION.c.id == table.application_id)
        .join(JOB_POSTING, JOB_POSTING.c.id == APPLICATION.c.job_posting_id)
        .join(ORGANIZATION, _EMPLOYER)
        .where(
            table.starts_at >= midnight,
            table.starts_at < end,
            APPLICATION.c.status.not_in(ENDED),
        )
        .order_by(table.starts_at, table.id)
    )
    found: list[Due] = []
    for row in await rows(connection, statement):
        at = row["starts_at"].astimezone(now.tzinfo)
        told = (f"round {row['round']}", row["mode"], row["place"])
        about = ", ".join(part for part in told if part)
        found.append(_due("interview", {**row, "about": about, "at": at}, at.date(), now))
    return found


_EMPLOYER: ColumnElement[bool] = and_(
    ORGANIZATION.c.user_id == JOB_POSTING.c.organization_user_id,
    ORGANIZATION.c.id == JOB_POSTING.c.organization_id,
)


def _with_posting(*columns: ColumnElement[object]) -> Select[*tuple[object, ...]]:
    return select(
        *columns,
        JOB_POSTING.c.id.label("posting_id"),
        JOB_POSTING.c.title,
        JOB_POSTING.c.url,
        ORGANIZATION.c.name.label("company"),
    )


def _due(
    kind: Literal["reminder", "deadline", "interview"], row: Row, on: date, now: datetime
) -> Due:
    days = (on - now.date()).days
    return {
        "kind": kind,
        "id": row["id"],
        "on": on,
        "at": row.get("at"),
        "days": days,
        "overdue": days < 0,
        "about": row["about"],
        "posting_id": row["posting_id"],
        "company": row["company"],
        "title": row["title"],
        "url": row["url"],
    }
