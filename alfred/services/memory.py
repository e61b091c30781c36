"""Memories: what the user wants Alfred to know from now on, in their words."""

from __future__ import annotations

from typing import Annotated

from alfred.engine.action import ActionKind, Arguments, text
from alfred.engine.database import Row
from alfred.engine.writer import Writer
from alfred.services.event import record_event
from alfred.services.text_key import text_key
from alfred.store.tables.kernel import MEMORY

_Words = Annotated[str, text(4000)]


class Remember(Arguments):
    """Words to remember."""

    text: _Words


async def remember(writer: Writer, args: Remember) -> Row:
    """Keep a memory, once for the same words; the first telling stays."""
    key = text_key(args.text)
    row = await writer.find(MEMORY, {"id": writer.derive(MEMORY.name, key)}, name=key)
    if row is None:
        values = {"text": args.text, "stated_at": writer.now}
        row = await writer.create(MEMORY, values, name=key)
    else:
        row = await writer.change(MEMORY, row, {}, name=key)
    await record_event(writer, "memory.kept", "me", {"text": args.text})
    return row


def _locks(args: Remember) -> list[str]:
    return [f"memory/{text_key(args.text)}"]


MEMORY_KINDS = (ActionKind(arguments=Remember, handler=remember, locks=_locks),)
