"""Chat messages: their words are never changed, notes may be added."""

from __future__ import annotations

from typing import Annotated, Any

from alfred.engine.action import ActionKind, Arguments, RowId, text
from alfred.engine.database import Row
from alfred.engine.tables import CHAT_MESSAGE
from alfred.engine.writer import Writer
from alfred.errors import ActionRefused
from alfred.services.event import record_event
from alfred.services.job_posting import lock_nothing

_Words = Annotated[str, text(1000)]


class AnnotateMessage(Arguments):
    """A note on a message; without one it is the message that led to the action."""

    message: RowId | None = None
    text: _Words


async def annotate_message(writer: Writer, args: AnnotateMessage) -> Row:
    """Add a note to a message, once for the same words.

    Errors: `action.reference` if no message is named and none led to the action.
    """
    message = args.message or writer.message_id
    if message is None:
        raise ActionRefused(
            "action.reference",
            "A note belongs to a message, and none is named.",
            hint="Give the id of a stored message.",
        )
    row = await writer.get(CHAT_MESSAGE, message)
    name = f"message of {row['received_at'].isoformat()}"
    writer.call(CHAT_MESSAGE, row, name)
    note = {"kind": "note", "text": args.text}
    notes: list[Any] = row["annotations"]
    added = notes if note in notes else [*notes, note]
    row = await writer.change(CHAT_MESSAGE, row, {"annotations": added}, name=name)
    await record_event(writer, "message.annotated", f"chat_message:{name}", {"text": args.text})
    return row


MESSAGE_KINDS = (
    ActionKind(arguments=AnnotateMessage, handler=annotate_message, locks=lock_nothing),
)
