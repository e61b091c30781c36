"""Finding a posting, application or company as people name one: number, link, id, or words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Select, String, and_, cast, func, select

from alfred.engine.database import Connection, Row
from alfred.engine.source_text import SourceText
from alfred.errors import ActionRefused
from alfred.services.text_key import one_line, organization_key
from alfred.store.reading import rows
from alfred.store.tables.job import APPLICATION, JOB_POSTING, ORGANIZATION

_NUMBER = re.compile(r"[1-9]\d{0,2}")
_BEGINNING = re.compile("[0-9a-f-]{1,36}")
_MAX_NAMED = 5
_SURE_CHARS = 4
_LINK = JOB_POSTING.c.url
_OF_POSTING = and_(
    ORGANIZATION.c.user_id == JOB_POSTING.c.organization_user_id,
    ORGANIZATION.c.id == JOB_POSTING.c.organization_id,
)


async def find_posting(connection: Connection, typed: str) -> UUID:
    """Find the one posting that was meant, trying in this order what it may be.

    A number of the list (the newest is 1), the address it came from, the beginning of its id, or
    words of company, title and place, each as a whole.
    Errors: `action.reference` if nothing fits, or several do, which are then named.
    """
    words = one_line(typed.replace("\x00", " "))
    for candidates in (_by_number, _by_address, _by_beginning, _by_words):
        found = await candidates(connection, words)
        if len(found) == 1:
            return found[0]["id"]
        if found:
            raise _ambiguous(typed, found)
    raise ActionRefused(
        "action.reference",
        f"No posting fits {typed!r}.",
        hint="`alfred job list` shows numbers, ids and companies.",
    )


class Removal(NamedTuple):
    """What to delete: the posting, or only the application to it."""

    kind: Literal["delete_job_posting", "delete_application"]
    argument: Literal["posting", "application"]
    id: UUID


async def find_removals(connection: Connection, typed: Sequence[str]) -> list[Removal]:
    """Find the postings and applications that were meant, each once.

    An application is named by the beginning of its id; one that goes with a posting that is also
    named is left out. Errors: those of `find_posting`.
    """
    postings: dict[UUID, None] = {}
    applications: dict[UUID, UUID] = {}
    for each in typed:
        application = await _find_application(connection, each)
        if application is None:
            postings[await find_posting(connection, each)] = None
        else:
            applications[application["id"]] = application["job_posting_id"]
    return [
        *(Removal("delete_job_posting", "posting", posting) for posting in postings),
        *(
            Removal("delete_application", "application", application)
            for application, posting in applications.items()
            if posting not in postings
        ),
    ]


async def _find_application(connection: Connection, typed: str) -> Row | None:
    """Find an application by the beginning of its id, unless a posting or another begins so."""
    begins = typed.strip().lower()
    if len(begins) < _SURE_CHARS or not _BEGINNING.fullmatch(begins):
        return None
    is_it = cast(APPLICATION.c.id, String).startswith(begins, autoescape=True)
    columns = select(APPLICATION.c.id, APPLICATION.c.job_posting_id)
    found = await rows(connection, columns.where(is_it).limit(2))
    postings = await _by_beginning(connection, begins)
    return found[0] if len(found) == 1 and not postings else None


async def find_company(connection: Connection, typed: str) -> Row:
    """Find the one company that was meant: by its name, in any spelling, or by words of it.

    Shapes: id, user_id, name, name_key, website.
    Errors: `action.reference` if nothing fits, or several do, which are then named.
    """
    table = ORGANIZATION.c
    words = one_line(typed.replace("\x00", " "))
    statement = select(table.id, table.user_id, table.name, table.name_key, table.website).where(
        table.kind == "company"
    )
    key = organization_key(words) if words else ""
    # The user's own row comes before everybody's of the same name.
    exact = await rows(
        connection, statement.where(table.name_key == key).order_by(table.user_id.desc()).limit(1)
    )
    if exact:
        return exact[0]
    found = [
        row
        for row in await rows(connection, statement.order_by(table.name))
        if _names(row["name"], words)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise ActionRefused(
            "action.reference",
            f"{len(found)} companies fit {typed!r}: {_listed([row['name'] for row in found])}.",
            hint="Give more of the name.",
        )
    raise ActionRefused(
        "action.reference",
        f"No company fits {typed!r}.",
        hint="`alfred job list` shows the companies that are stored.",
    )


async def _by_number(connection: Connection, words: str) -> Sequence[Row]:
    if not _NUMBER.fullmatch(words):
        return []
    newest_first = _named().order_by(JOB_POSTING.c.created_at.desc(), JOB_POSTING.c.id)
    return await rows(connection, newest_first.offset(int(words) - 1).limit(1))


async def _by_address(connection: Connection, words: str) -> Sequence[Row]:
    if "://" not in words:
        return []
    same: ColumnElement[bool] = func.rtrim(_LINK, "/") == words.rstrip("/")
    return await rows(connection, _named().where(same).limit(_MAX_NAMED + 1))


async def _by_beginning(connection: Connection, words: str) -> Sequence[Row]:
    if not _BEGINNING.fullmatch(words.lower()):
        return []
    begins = cast(JOB_POSTING.c.id, String).startswith(words.lower(), autoescape=True)
    found = await rows(connection, _named().where(begins).limit(_MAX_NAMED + 1))
    if len(words) < _SURE_CHARS:  # as likely a name: a company may be called 360 or ABC
        ids = {row["id"] for row in found}
        found += [row for row in await _by_words(connection, words) if row["id"] not in ids]
    return found


async def _by_words(connection: Connection, words: str) -> Sequence[Row]:
    everything = await rows(connection, _named().order_by(JOB_POSTING.c.created_at.desc()))
    told = ((row, f"{row['company']} {row['title']} {row['location'] or ''}") for row in everything)
    return [row for row, text in told if _names(text, words)]


def _names(text: str, words: str) -> bool:
    """Say whether every typed word stands in a text as a whole word."""
    source = SourceText(text)
    wanted = words.split()
    return bool(wanted) and all(source.find(word) is not None for word in wanted)


def _named() -> Select[*tuple[Any, ...]]:
    return select(
        JOB_POSTING.c.id,
        JOB_POSTING.c.title,
        JOB_POSTING.c.location_text.label("location"),
        ORGANIZATION.c.name.label("company"),
    ).join_from(JOB_POSTING, ORGANIZATION, _OF_POSTING)


def _ambiguous(typed: str, found: Sequence[Row]) -> ActionRefused:
    named = _listed([f"{str(r['id'])[:8]} {r['company']}: {r['title']}" for r in found])
    return ActionRefused(
        "action.reference",
        f"More than one posting fits {typed!r}: {named}.",
        hint="Give the beginning of the id that you mean.",
    )


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more
