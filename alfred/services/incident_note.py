"""Incident notes: what a diagnosis found, kept once a person has approved it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from alfred.engine.action import ActionKind, Arguments, RowId, text
from alfred.engine.database import Row
from alfred.engine.writer import Writer
from alfred.services.event import record_event
from alfred.services.moment import Moment
from alfred.services.text_key import one_line
from alfred.store.tables.diagnosis import DIAGNOSIS_RUN, INCIDENT_NOTE

Found = Literal["cause", "hypotheses", "no_fault", "not_established"]


class RecordIncidentNote(Arguments):
    """The note of a diagnosis; `body` is Markdown with the evidence that it cites."""

    run: RowId
    title: Annotated[str, text(200)]
    finding: Found
    cause: Annotated[str, text(2_000)] | None = None
    services: Annotated[list[Annotated[str, text(200)]], Field(max_length=50)] = Field(
        default_factory=list[str]
    )
    window_start: Moment
    window_end: Moment
    body: Annotated[str, text(100_000)]


async def record_incident_note(writer: Writer, args: RecordIncidentNote) -> Row:
    """Keep the note of a run, or change the one that it has.

    Errors: `action.reference` if there is no such run.
    """
    run = await writer.get(DIAGNOSIS_RUN, args.run)
    title = one_line(args.title)
    values = {**args.model_dump(exclude={"run"}), "title": title}
    row = await writer.find(INCIDENT_NOTE, {"run_id": run["id"]})
    if row is None:
        identity = {"run_id": run["id"]}
        distinct = str(run["id"])
        row = await writer.create(
            INCIDENT_NOTE, {**identity, **values}, name=title, distinct=distinct
        )
    else:
        row = await writer.change(INCIDENT_NOTE, row, values, name=title)
    body = args.model_dump(mode="json", include={"finding", "cause", "services"})
    await record_event(writer, "incident.noted", f"incident:{title}", body)
    return row


def _locks(args: RecordIncidentNote) -> list[str]:
    return [f"incident/{args.run}"]


INCIDENT_KINDS = (
    ActionKind(
        arguments=RecordIncidentNote,
        handler=record_incident_note,
        locks=_locks,
        called=("note", "incident note", "incident", "事故记录", "记录"),
    ),
)
