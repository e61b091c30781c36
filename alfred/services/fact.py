"""Facts: what is true now, from when, and the event that says so."""

from __future__ import annotations

from dataclasses import dataclass

from alfred.engine.database import Row
from alfred.engine.writer import Writer
from alfred.store.tables.kernel import FACT


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement about a subject, named by its natural key.

    `is_one_of_many`: others with the same subject and predicate stay true beside it.
    """

    subject: str
    predicate: str
    object: str
    is_one_of_many: bool = False


async def state_fact(writer: Writer, event: Row, statement: Statement) -> Row:
    """Make a statement true from the message's time on; a different one before it ends then.

    What a person approves last is what is true: a fact known from a later message ends no earlier
    than it began.
    """
    key: dict[str, object] = {
        "subject": statement.subject,
        "predicate": statement.predicate,
        "valid_to": None,
    }
    if statement.is_one_of_many:
        key["object"] = statement.object
    name = f"{statement.subject}/{statement.predicate}"
    known = await writer.find(FACT, key, name=name)
    since = writer.now
    if known is not None:
        if known["object"] == statement.object:
            return await writer.change(FACT, known, {}, name=name)
        since = max(since, known["valid_from"])
        await writer.change(FACT, known, {"valid_to": since}, name=name)
    values = {
        "subject": statement.subject,
        "predicate": statement.predicate,
        "object": statement.object,
        "valid_from": since,
        "event_id": event["id"],
    }
    distinct = f"{writer.action_id}/{statement.object}"
    return await writer.create(FACT, values, name=name, distinct=distinct)


async def end_facts(writer: Writer, subject: str) -> None:
    """Let everything that is true about a subject end with the message's time; it is kept."""
    # In the order of their ids, so that dry run and commit show the same effects in one order.
    while known := await writer.find_last(FACT, {"subject": subject, "valid_to": None}, by="id"):
        until = max(writer.now, known["valid_from"])
        name = f"{subject}/{known['predicate']}"
        await writer.change(FACT, known, {"valid_to": until}, name=name)
