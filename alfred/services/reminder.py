"""Reminders: what to think of, and on which day."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from alfred.engine.action import ActionKind, Arguments, RowId, text
from alfred.engine.database import Row
from alfred.engine.writer import Writer
from alfred.errors import ActionRefused
from alfred.services.event import record_event
from alfred.services.job_posting import get_posting
from alfred.services.moment import Day
from alfred.services.text_key import one_line
from alfred.store.tables.kernel import REMINDER


class CreateReminder(Arguments):
    """A reminder, of a posting where it belongs to one."""

    about: Annotated[str, text(200)]
    due_on: Day
    posting: RowId | None = None


async def create_reminder(writer: Writer, args: CreateReminder) -> Row:
    """Set a reminder, once for the same subject, words and day.

    Errors: `action.arguments` for a day before the message.
    """
    yesterday = (writer.now - timedelta(days=1)).date()  # the user's zone may be behind
    if args.due_on < yesterday:
        raise ActionRefused(
            "action.arguments",
            f"The day {args.due_on.isoformat()} is already over.",
            hint="Give a day from today on, or reject the reminder.",
        )
    subject = "me"
    if args.posting is not None:
        posting = await get_posting(writer, args.posting, "The reminder")
        subject = f"job_posting:{posting['fingerprint']}"
    about = one_line(args.about)
    key = {"subject": subject, "about": about, "due_on": args.due_on}
    name = f"{args.due_on.isoformat()} {about} ({subject})"
    row = await writer.ensure(REMINDER, key, {}, name=name)
    body = args.model_dump(mode="json", exclude={"posting"})
    await record_event(writer, "reminder.set", subject, body)
    return row


def _locks(args: CreateReminder) -> list[str]:
    return [f"reminder/{args.due_on.isoformat()}"]


REMINDER_KINDS = (
    ActionKind(
        arguments=CreateReminder,
        handler=create_reminder,
        binds={"posting": "upsert_job_posting"},
        locks=_locks,
        called=("reminder", "提醒"),
    ),
)
