"""What of a posting the user has on record, and which postings ask for something."""

from __future__ import annotations

from typing import Any, TypedDict
from uuid import UUID

from sqlalchemy import and_, select

from alfred.engine.database import Connection, Row
from alfred.services.matching import Matched, Record, asked_for, match_requirements
from alfred.services.queries.jobs import list_requirements
from alfred.services.skill_mention import Skill, skill_called
from alfred.store.reading import rows
from alfred.store.tables.job import EXPERIENCE, JOB_REQUIREMENT, SKILL, SKILL_ALIAS
from alfred.store.tables.kernel import FACT


class Match(TypedDict):
    """A posting's requirements with what is on record; `records` says how many were read."""

    requirements: list[Matched]
    records: int


async def match_posting(connection: Connection, posting_id: UUID) -> Match:
    """Compare a posting's requirements with all experience and the facts that are true now."""
    skills = await list_skills(connection)
    records = await _records(connection)
    requirements = await list_requirements(connection, posting_id)
    return {
        "requirements": match_requirements(requirements, records, skills),
        "records": len(records),
    }


async def list_skills(connection: Connection) -> list[Skill]:
    """List the vocabulary's skills, the user's and everybody's, with every name they have."""
    named = await rows(
        connection,
        select(SKILL.c.id, SKILL.c.name, SKILL.c.name_key, SKILL_ALIAS.c.alias_key)
        .outerjoin(
            SKILL_ALIAS,
            and_(
                SKILL_ALIAS.c.skill_user_id == SKILL.c.user_id,
                SKILL_ALIAS.c.skill_id == SKILL.c.id,
            ),
        )
        .order_by(SKILL.c.name_key, SKILL.c.id),
    )
    spellings: dict[tuple[str, str], set[str]] = {}
    for row in named:
        keys = spellings.setdefault((str(row["id"]), row["name"]), {row["name_key"]})
        keys.update({row["alias_key"]} - {None})
    return [
        Skill(id=skill_id, name=name, spellings=frozenset(keys))
        for (skill_id, name), keys in spellings.items()
    ]


async def find_needs(connection: Connection, words: str) -> dict[UUID, list[dict[str, Any]]]:
    """Find every requirement that asks for a skill, by its posting's id.

    `words` name a skill of the vocabulary by any of its names, or are looked for as a whole.
    Shapes: each requirement as `{id, importance, text}`.
    """
    skills = await list_skills(connection)
    wanted = skill_called(words, skills)
    known = skills if wanted.id else [*skills, wanted]
    found: dict[UUID, list[dict[str, Any]]] = {}
    table = JOB_REQUIREMENT.c
    everything = select(
        *(table.id, table.job_posting_id, table.importance, table.text, table.skill_id)
    ).order_by(table.importance, table.created_at, table.id)
    for row in await rows(connection, everything):
        if wanted in asked_for(row, known):
            shown = {name: row[name] for name in ("id", "importance", "text")}
            found.setdefault(row["job_posting_id"], []).append(shown)
    return found


async def _records(connection: Connection) -> list[Record]:
    told = await rows(
        connection, select(EXPERIENCE).order_by(EXPERIENCE.c.created_at, EXPERIENCE.c.id)
    )
    known = await rows(
        connection,
        select(FACT)
        .where(FACT.c.subject == "me", FACT.c.predicate != "experience", FACT.c.valid_to.is_(None))
        .order_by(FACT.c.valid_from, FACT.c.id),
    )
    return [*map(_from_experience, told), *map(_from_fact, known)]


def _from_experience(row: Row) -> Record:
    """Read an experience in the user's own words first; the employer's name is no skill."""
    texts = (row["raw_text"], row["summary"], row["role"])
    return Record(
        table="experience",
        id=row["id"],
        texts=tuple(text for text in texts if text),
        masked=tuple(name for name in (row["organization"],) if name),
    )


def _from_fact(row: Row) -> Record:
    return Record(table="fact", id=row["id"], texts=(f"{row['predicate']}: {row['object']}",))
