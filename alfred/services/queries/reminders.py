"""What is due."""

from __future__ import annotations

from datetime import date, timedelta

from sqlalchemy import select

from alfred.engine.database import Connection, Row
from alfred.store.reading import rows
from alfred.store.tables.job import JOB_POSTING
from alfred.store.tables.kernel import REMINDER


async def list_due(
    connection: Connection, *, today: date, days: int = 7, limit: int = 200
) -> list[Row]:
    """List open reminders that are overdue or fall due within some days, the earliest first.

    Shapes: id, about, due_on, posting_id and title (None where it belongs to no posting), url.
    """
    statement = (
        select(
            REMINDER.c.id,
            REMINDER.c.about,
            REMINDER.c.due_on,
            JOB_POSTING.c.id.label("posting_id"),
            JOB_POSTING.c.title,
            JOB_POSTING.c.url,
        )
        .outerjoin(JOB_POSTING, REMINDER.c.subject == "job_posting:" + JOB_POSTING.c.fingerprint)
        .where(REMINDER.c.done_at.is_(None), REMINDER.c.due_on <= today + timedelta(days=days))
        .order_by(REMINDER.c.due_on, REMINDER.c.about, REMINDER.c.id)
        .limit(limit)
    )
    return await rows(connection, statement)
