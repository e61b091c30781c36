"""Job postings and what they require."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from alfred.engine.action import ActionKind, Arguments, RowId, text
from alfred.engine.database import Row
from alfred.engine.writer import Writer
from alfred.errors import ActionRefused
from alfred.services.company import WebAddress, find_company, lock_company
from alfred.services.event import record_event
from alfred.services.fact import Statement, state_fact
from alfred.services.moment import Day
from alfred.services.text_key import one_line, organization_key, text_key
from alfred.services.vocabulary import find_location, find_skill
from alfred.store.tables.job import JOB_POSTING, JOB_REQUIREMENT

RequirementKind = Literal["skill", "qualification", "experience"]
Importance = Literal["must", "nice"]
_Sentence = Annotated[str, text(1000)]


class UpsertJobPosting(Arguments):
    """A posting of a company that is known or that the same proposal makes known."""

    title: Annotated[str, text(200)]
    company_name: Annotated[str, text(200)]
    location: Annotated[str, text(200)] | None = None
    url: WebAddress | None = None
    deadline: Day | None = None


class LinkRequirement(Arguments):
    """One requirement of a posting, in the posting's own words."""

    text: _Sentence
    kind: RequirementKind | None = None
    importance: Importance | None = None
    posting: RowId | None = None


def fingerprint(company_key: str, title: str, place_key: str) -> str:
    """Name what makes two postings the same: company, title and place, as keys."""
    return "/".join((company_key, text_key(title), place_key))


async def upsert_job_posting(writer: Writer, args: UpsertJobPosting) -> Row:
    """Find the posting by its fingerprint or create it; url and deadline are replaced if stated.

    Errors: `action.reference` if no company of that name is known.
    """
    key = organization_key(args.company_name)
    company = await find_company(writer, key)
    if company is None:
        raise ActionRefused(
            "action.reference",
            f"No company called {args.company_name!r} is known.",
            hint="Approve the company together with the posting.",
        )
    place = await find_location(writer, args.location) if args.location else None
    place_key = place["name_key"] if place else text_key(args.location or "")
    name = fingerprint(key, args.title, place_key)
    values = {"url": args.url, "deadline": args.deadline}
    row = await writer.find(JOB_POSTING, {"fingerprint": name}, name=name)
    if row is None:
        identity = {
            "fingerprint": name,
            "organization_id": company["id"],
            "organization_user_id": company["user_id"],
            "title": one_line(args.title),
            "location_text": one_line(args.location) if args.location else None,
            "location_id": place["id"] if place else None,
            "location_user_id": place["user_id"] if place else None,
        }
        row = await writer.create(JOB_POSTING, {**identity, **values}, name=name)
    else:
        row = await writer.change(JOB_POSTING, row, values, name=name)
    await _tell(writer, args, f"job_posting:{name}")
    return row


async def _tell(writer: Writer, args: UpsertJobPosting, subject: str) -> None:
    body = args.model_dump(mode="json")
    event = await record_event(writer, "posting.captured", subject, body)
    if args.deadline is not None:
        deadline = args.deadline.isoformat()
        statement = Statement(subject=subject, predicate="deadline", object=deadline)
        await state_fact(writer, event, statement)


async def link_requirement(writer: Writer, args: LinkRequirement) -> Row:
    """Add a requirement to its posting, once.

    A requirement whose importance is not stated counts as a must, one whose kind is not stated as
    a qualification; a later statement of either replaces it. A skill of the vocabulary is linked.
    The row itself states what the posting requires: no fact repeats it.
    Errors: `action.reference` without a posting.
    """
    posting = await get_posting(writer, args.posting, "A requirement")
    is_skill = args.kind in (None, "skill")
    skill = await find_skill(writer, args.text) if is_skill else None
    key = f"skill {skill['name_key']}" if skill else text_key(args.text)
    name = f"{posting['fingerprint']}/{key}"
    identity = {"job_posting_id": posting["id"], "text_key": key}
    row = await writer.find(JOB_REQUIREMENT, identity, name=name)
    if row is None:
        values = {
            "kind": args.kind or ("skill" if skill else "qualification"),
            "importance": args.importance or "must",
            "text": one_line(args.text),
            "skill_id": skill["id"] if skill else None,
            "skill_user_id": skill["user_id"] if skill else None,
        }
        row = await writer.create(JOB_REQUIREMENT, {**identity, **values}, name=name)
    else:
        stated = {"kind": args.kind, "importance": args.importance}
        row = await writer.change(JOB_REQUIREMENT, row, stated, name=name)
    subject = f"job_posting:{posting['fingerprint']}"
    body = args.model_dump(mode="json", exclude={"posting"})
    await record_event(writer, "requirement.noted", subject, body)
    return row


async def get_posting(writer: Writer, posting: RowId | None, what: str) -> Row:
    """Fetch the posting that something belongs to; `what` begins the refusal's sentence.

    Errors: `action.reference` if none is named, or the named one does not exist.
    """
    if posting is None:
        raise ActionRefused(
            "action.reference",
            f"{what} belongs to a posting, and none is named.",
            hint="Capture the posting with it, or give the id of a stored one.",
        )
    return await writer.get(JOB_POSTING, posting)


def lock_nothing(_: object) -> Sequence[str]:
    """Lock no key: the row that the arguments name by id is locked when it is read."""
    return ()


def _lock_posting(args: UpsertJobPosting) -> list[str]:
    return lock_company(args.company_name)


POSTING_KINDS = (
    ActionKind(
        arguments=UpsertJobPosting,
        handler=upsert_job_posting,
        locks=_lock_posting,
        called=("posting", "job", "岗位", "职位"),
    ),
    ActionKind(
        arguments=LinkRequirement,
        handler=link_requirement,
        binds={"posting": "upsert_job_posting"},
        locks=lock_nothing,
        called=("requirement", "要求"),
    ),
)
