"""Events: what happened, written with every action and never changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alfred.engine.database import Row
from alfred.engine.writer import Writer
from alfred.store.tables.kernel import EVENT


async def record_event(writer: Writer, kind: str, subject: str, body: Mapping[str, Any]) -> Row:
    """Append what an action states, with the message that told it.

    `subject` is a natural key such as `organization:company/acme`. `body` holds natural keys and
    values, never ids, and only what the arguments say: an event must not differ because the row
    stood already.
    """
    values = {
        "kind": kind,
        "subject": subject,
        "body": {name: value for name, value in body.items() if value is not None},
        "message_id": writer.message_id,
        "occurred_at": writer.now,
    }
    return await writer.append(EVENT, values, name=f"{kind}/{subject}", distinct=writer.action_id)
