"""Interviews: the rounds of an application."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from alfred.engine.action import ActionKind, Arguments, RowId, text
from alfred.engine.database import Row
from alfred.engine.writer import Writer
from alfred.errors import ActionRefused
from alfred.services.application import require_change, tell_status
from alfred.services.job_posting import lock_nothing
from alfred.services.moment import Moment
from alfred.store.tables.job import APPLICATION, INTERVIEW, JOB_POSTING

MAX_ROUNDS = 50


class ScheduleInterview(Arguments):
    """An interview for an application that is under way."""

    application: RowId | None = None
    starts_at: Moment
    round: Annotated[int, Field(ge=1, le=MAX_ROUNDS)] | None = None
    mode: Literal["onsite", "video", "phone"] | None = None
    place: Annotated[str, text(300)] | None = None


async def schedule_interview(writer: Writer, args: ScheduleInterview) -> Row:
    """Put an interview on the calendar; an application that was sent is then interviewing.

    Without a round it is the next one; the same start is the same interview.
    Errors: `action.state` if the application is not under way, or has too many rounds;
    `action.reference` without an application.
    """
    application, name = await _get_application(writer, args.application)
    if application["status"] != "offer":
        require_change(application["status"], "interviewing", name)
        values: dict[str, Any] = {"status": "interviewing"}
        application = await writer.change(APPLICATION, application, values, name=name)
    row = await _put(writer, application, name, args)
    body = {**args.model_dump(mode="json", exclude={"application"}), "round": row["round"]}
    await tell_status(writer, "interview.scheduled", (name, application["status"]), body)
    return row


async def _get_application(writer: Writer, application: RowId | None) -> tuple[Row, str]:
    if application is None:
        raise ActionRefused(
            "action.reference",
            "An interview belongs to an application, and none is named.",
            hint="Record the application first, or give the id of a stored one.",
        )
    row = await writer.get(APPLICATION, application)
    posting = await writer.get(JOB_POSTING, row["job_posting_id"])
    name: str = posting["fingerprint"]
    writer.call(APPLICATION, row, name)
    return row, name


async def _put(writer: Writer, application: Row, name: str, args: ScheduleInterview) -> Row:
    key = {"application_id": application["id"]}
    number = args.round
    if number is None:
        same = await writer.find(INTERVIEW, {**key, "starts_at": args.starts_at})
        last = same or await writer.find_last(INTERVIEW, key, by="round")
        number = same["round"] if same else last["round"] + 1 if last else 1
    if number > MAX_ROUNDS:
        raise ActionRefused("action.state", f"{name} already has {MAX_ROUNDS} interviews.")
    values = args.model_dump(include={"starts_at", "mode", "place"})
    return await writer.ensure(
        INTERVIEW, {**key, "round": number}, values, name=f"{name}/round {number}"
    )


INTERVIEW_KINDS = (
    ActionKind(
        arguments=ScheduleInterview,
        handler=schedule_interview,
        binds={"application": "record_application"},
        locks=lock_nothing,
    ),
)
