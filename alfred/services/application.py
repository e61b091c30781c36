"""Applications: a state machine over a posting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from alfred.engine.action import ActionKind, Arguments, RowId, text
from alfred.engine.database import Row
from alfred.engine.writer import Writer
from alfred.errors import ActionRefused
from alfred.services.event import record_event
from alfred.services.fact import Statement, state_fact
from alfred.services.job_posting import get_posting, lock_nothing
from alfred.services.moment import Day
from alfred.store.tables.job import APPLICATION

Status = Literal["saved", "applied", "interviewing", "offer", "rejected", "withdrawn"]
NEXT_STATES: Mapping[str, tuple[Status, ...]] = {
    "saved": ("applied", "withdrawn"),
    "applied": ("interviewing", "rejected", "withdrawn"),
    "interviewing": ("offer", "rejected", "withdrawn"),
    "offer": ("rejected", "withdrawn"),
    "rejected": (),
    "withdrawn": (),
}


class RecordApplication(Arguments):
    """Where the user stands with a posting."""

    posting: RowId | None = None
    status: Status = "applied"
    channel: Annotated[str, text(100)] | None = None
    applied_on: Day | None = None


async def record_application(writer: Writer, args: RecordApplication) -> Row:
    """Begin the application to a posting, in any state, or move it to an allowed next one.

    Errors: `action.state` for a change that the state machine does not allow, with the states it
    does; `action.reference` without a posting.
    """
    posting = await get_posting(writer, args.posting, "An application")
    name = posting["fingerprint"]
    values = args.model_dump(exclude={"posting"})
    row = await writer.find(APPLICATION, {"job_posting_id": posting["id"]}, name=name)
    if row is None:
        identity = {"job_posting_id": posting["id"]}
        row = await writer.create(APPLICATION, {**identity, **values}, name=name)
    else:
        require_change(row["status"], args.status, name)
        row = await writer.change(APPLICATION, row, values, name=name)
    body = args.model_dump(mode="json", exclude={"posting"})
    await tell_status(writer, "application.recorded", (name, args.status), body)
    return row


async def tell_status(
    writer: Writer, kind: str, application: tuple[str, str], body: Mapping[str, Any]
) -> None:
    """Record an event of an application, given by name and status, and its status as a fact."""
    name, status = application
    subject = f"application:{name}"
    event = await record_event(writer, kind, subject, body)
    await state_fact(writer, event, Statement(subject=subject, predicate="status", object=status))


def require_change(known: str, wanted: Status, name: str) -> None:
    """Refuse a change of state that the state machine does not allow; the same state is no change.

    Errors: `action.state` with the allowed next states.
    """
    allowed = NEXT_STATES[known]
    if wanted == known or wanted in allowed:
        return
    then = f"From there: {', '.join(allowed)}." if allowed else "That is final."
    raise ActionRefused(
        "action.state",
        f"The application to {name} is {known} and cannot become {wanted}. {then}",
        known=known,
        allowed=list(allowed),
    )


APPLICATION_KINDS = (
    ActionKind(
        arguments=RecordApplication,
        handler=record_application,
        binds={"posting": "upsert_job_posting"},
        locks=lock_nothing,
        called=("application", "投递", "申请"),
    ),
)
