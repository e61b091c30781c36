"""What the user has done, as they told it."""

from __future__ import annotations

from sqlalchemy import select

from alfred.engine.database import Connection, Row
from alfred.store.reading import rows
from alfred.store.tables.job import EXPERIENCE


async def list_experience(connection: Connection, *, limit: int | None = 200) -> list[Row]:
    """List experience in the order of telling.

    Shapes: id, organization, role, period, summary, raw_text, created_at.
    """
    table = EXPERIENCE.c
    return await rows(
        connection,
        select(
            table.id,
            table.organization,
            table.role,
            table.period,
            table.summary,
            table.raw_text,
            table.created_at,
        )
        .order_by(table.created_at, table.id)
        .limit(limit),
    )
