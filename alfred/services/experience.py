"""What the user has done: the rows a résumé rests on."""

from __future__ import annotations

from typing import Annotated

from alfred.engine.action import ActionKind, Arguments, text
from alfred.engine.database import Row
from alfred.engine.writer import Writer
from alfred.services.event import record_event
from alfred.services.fact import Statement, state_fact
from alfred.services.text_key import one_line, text_key
from alfred.store.tables.job import EXPERIENCE


class RecordExperience(Arguments):
    """One experience; `raw_text` holds the words in which it was told."""

    summary: Annotated[str, text(1000)]
    organization: Annotated[str, text(200)] | None = None
    role: Annotated[str, text(200)] | None = None
    period: Annotated[str, text(100)] | None = None
    raw_text: Annotated[str, text(20_000)]


async def record_experience(writer: Writer, args: RecordExperience) -> Row:
    """Keep an experience, once for the same summary, organization, role and period.

    The words of the first telling stay.
    """
    key = _key(args)
    row = await writer.find(EXPERIENCE, {"text_key": key}, name=key)
    if row is None:
        values = {**args.model_dump(), "summary": one_line(args.summary), "text_key": key}
        row = await writer.create(EXPERIENCE, values, name=key)
    else:
        row = await writer.change(EXPERIENCE, row, {}, name=key)
    body = args.model_dump(exclude={"raw_text"})
    event = await record_event(writer, "experience.told", f"experience:{key}", body)
    statement = Statement(
        subject="me", predicate="experience", object=row["summary"], is_one_of_many=True
    )
    await state_fact(writer, event, statement)
    return row


def _key(args: RecordExperience) -> str:
    parts = (args.organization, args.role, args.period, args.summary)
    return text_key(" / ".join(part for part in parts if part))


def _locks(args: RecordExperience) -> list[str]:
    # Two experiences may state the same fact, so the summary is locked as well as the row.
    return [f"experience/{_key(args)}", f"experience/{text_key(args.summary)}"]


EXPERIENCE_KINDS = (
    ActionKind(
        arguments=RecordExperience,
        handler=record_experience,
        locks=_locks,
        called=("experience", "经历"),
    ),
)
