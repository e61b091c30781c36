"""Removing postings and applications: what belongs to them goes along, what happened stays."""

from __future__ import annotations

from alfred.engine.action import ActionKind, Arguments, RowId
from alfred.engine.database import Row
from alfred.engine.writer import Writer
from alfred.services.event import record_event
from alfred.services.fact import end_facts
from alfred.store.tables.job import APPLICATION, JOB_POSTING
from alfred.store.tables.kernel import REMINDER


class DeleteJobPosting(Arguments):
    """A stored posting that the user no longer wants."""

    posting: RowId


class DeleteApplication(Arguments):
    """A stored application that the user no longer wants; its posting stays."""

    application: RowId


async def delete_job_posting(writer: Writer, args: DeleteJobPosting) -> Row:
    """Delete a posting with its requirements, application, interviews and reminders.

    Facts about it end. Events stay, since they say what happened; so do documents that were
    written for it, which only lose the link, and the company.
    Errors: `action.reference` if there is no such posting.
    """
    posting = await writer.get(JOB_POSTING, args.posting)
    name = posting["fingerprint"]
    subject = f"job_posting:{name}"
    await record_event(writer, "posting.deleted", subject, {})
    await writer.delete(JOB_POSTING, posting, name=name)
    while reminder := await writer.find_last(REMINDER, {"subject": subject}, by="id"):
        label = f"{reminder['due_on'].isoformat()} {reminder['about']} ({subject})"
        await writer.delete(REMINDER, reminder, name=label)
    await end_facts(writer, subject)
    await end_facts(writer, f"application:{name}")
    return posting


async def delete_application(writer: Writer, args: DeleteApplication) -> Row:
    """Delete an application with its interviews; facts about it end, events stay.

    Errors: `action.reference` if there is no such application.
    """
    application = await writer.get(APPLICATION, args.application)
    posting = await writer.get(JOB_POSTING, application["job_posting_id"])
    name = posting["fingerprint"]
    subject = f"application:{name}"
    await record_event(writer, "application.deleted", subject, {})
    await writer.delete(APPLICATION, application, name=name)
    await end_facts(writer, subject)
    return application


# Neither names keys to lock: the rows that go are found while it runs, so it runs alone.
REMOVAL_KINDS = (
    ActionKind(arguments=DeleteJobPosting, handler=delete_job_posting),
    ActionKind(arguments=DeleteApplication, handler=delete_application),
)
