"""Companies: one row for each employer, however its name is spelt."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from alfred.engine.action import ActionKind, Arguments, text
from alfred.engine.database import Row
from alfred.engine.writer import Writer
from alfred.services.event import record_event
from alfred.services.fact import Statement, state_fact
from alfred.services.text_key import one_line, organization_key
from alfred.store.tables.job import ORGANIZATION


def _web_address(address: str) -> str:
    if not address.lower().startswith(("http://", "https://")):
        raise ValueError("is not a web address; it must begin with http:// or https://")
    return address


WebAddress = Annotated[str, text(2000), AfterValidator(_web_address)]


class UpsertCompany(Arguments):
    """A company as a posting or the user names it."""

    name: Annotated[str, text(200)]
    website: WebAddress | None = None


async def upsert_company(writer: Writer, args: UpsertCompany) -> Row:
    """Find the company by its name's key, or create it; a stated website replaces the known one.

    A company keeps the name under which it was first known; a shared row is never changed.
    """
    key = organization_key(args.name)
    name = f"company/{key}"
    values = {"website": args.website}
    row = await find_company(writer, key)
    if row is None:
        identity = {"kind": "company", "name": one_line(args.name), "name_key": key}
        row = await writer.create(ORGANIZATION, {**identity, **values}, name=name)
    else:
        row = await writer.change(ORGANIZATION, row, values, name=name)
    subject = f"organization:{name}"
    event = await record_event(writer, "company.noted", subject, {"name": args.name, **values})
    if args.website is not None:
        statement = Statement(subject=subject, predicate="website", object=args.website)
        await state_fact(writer, event, statement)
    return row


async def find_company(writer: Writer, key: str) -> Row | None:
    """Find the user's own or the shared company by its key."""
    identity = {"kind": "company", "name_key": key}
    return await writer.find(ORGANIZATION, identity, name=f"company/{key}")


def lock_company(name: str) -> list[str]:
    """Name the lock that keeps two batches from creating the same company or its postings."""
    return [f"organization/{organization_key(name)}"]


def _locks(args: UpsertCompany) -> list[str]:
    return lock_company(args.name)


COMPANY_KINDS = (
    ActionKind(
        arguments=UpsertCompany,
        handler=upsert_company,
        locks=_locks,
        called=("company", "employer", "公司"),
    ),
)
