"""What a résumé may rest on."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from alfred.engine.database import Connection
from alfred.store.reading import rows
from alfred.store.tables.job import EXPERIENCE
from alfred.store.tables.kernel import FACT


async def list_resume_sources(connection: Connection, *, limit: int = 60) -> list[dict[str, Any]]:
    """List the user's experience, then facts about them that are true now; the oldest first.

    Shapes: `{table, id, text}`, the id as text; the newest `limit` rows of each. Facts that
    repeat an experience are left out.
    """
    told = select(EXPERIENCE).order_by(EXPERIENCE.c.created_at.desc(), EXPERIENCE.c.id).limit(limit)
    known = (
        select(FACT)
        .where(FACT.c.subject == "me", FACT.c.predicate != "experience", FACT.c.valid_to.is_(None))
        .order_by(FACT.c.valid_from.desc(), FACT.c.id)
        .limit(limit)
    )
    experience = [
        {"table": "experience", "id": str(row["id"]), "text": describe_experience(row)}
        for row in reversed(await rows(connection, told))
    ]
    facts = [
        {"table": "fact", "id": str(row["id"]), "text": f"{row['predicate']}: {row['object']}"}
        for row in reversed(await rows(connection, known))
    ]
    return [*experience, *facts]


def describe_experience(row: dict[str, Any]) -> str:
    """Write an experience in one line: organization, role, period, summary."""
    parts = (row.get(name) for name in ("organization", "role", "period", "summary"))
    return " | ".join(part for part in parts if part)
