"""What waits for a person: open proposals and turns that did not finish."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from alfred.engine.database import Connection, Row


async def list_open_proposals(connection: Connection) -> list[Row]:
    """List proposals that can still be decided or committed, the newest first.

    Each has `actions` and how many of them are `pending`; `summary` begins the message's words.
    """
    cursor = await connection.execute(
        "SELECT p.id, p.turn_id, p.state, p.revision, p.created_at, p.expires_at, p.manifests,"
        " count(*) AS actions, count(*) FILTER (WHERE a.state = 'pending') AS pending,"
        " left(regexp_replace(m.text, '\\s+', ' ', 'g'), 60) AS summary"
        " FROM proposal p JOIN action a ON a.user_id = p.user_id AND a.proposal_id = p.id"
        " JOIN chat_message m ON m.user_id = p.user_id AND m.id = p.message_id"
        " WHERE p.state IN ('pending', 'corrected', 'approved')"
        " GROUP BY p.user_id, p.id, m.text ORDER BY p.created_at DESC, p.id"
    )
    return await cursor.fetchall()


async def list_unfinished_turns(connection: Connection) -> list[Row]:
    """List turns that run, were cut off, or failed for want of a model, the newest first.

    Inputs that could not be read are not among them: running them again would not help.
    """
    cursor = await connection.execute(
        "SELECT id, state, outcome, problem, created_at FROM turn"
        " WHERE state = 'running' OR (state = 'failed' AND outcome IS DISTINCT FROM 'refused')"
        " ORDER BY created_at DESC LIMIT 20"
    )
    return await cursor.fetchall()


async def list_open_actions(connection: Connection) -> list[Row]:
    """List the actions of open proposals that may still be written: what an upgrade can break."""
    cursor = await connection.execute(
        "SELECT a.proposal_id, a.ordinal, a.kind, p.args FROM action a"
        " JOIN action_payload p USING (user_id, id)"
        " WHERE a.state IN ('pending', 'approved') AND a.status = 'ready'"
        " ORDER BY a.proposal_id, a.ordinal"
    )
    return await cursor.fetchall()


def find_drift(
    proposed_with: Mapping[str, str], installed: Mapping[str, str], unloadable: Collection[str]
) -> list[str]:
    """Say which nodes differ from those a proposal was made with.

    Both map a node's name to its manifest's digest; `unloadable` names broken manifests. A
    proposal stays readable and decidable, since its actions stand in the ledger; what changed is
    what the node would propose today.
    """
    lines: list[str] = []
    for name, digest in sorted(proposed_with.items()):
        if name in unloadable:
            lines.append(f"the node {name} can't be loaded; `alfred check` says why")
        elif name not in installed:
            lines.append(f"the node {name} is gone; it was renamed or its package removed")
        elif installed[name] != digest:
            lines.append(f"the node {name} has changed since")
    return lines


async def list_proposals(
    connection: Connection, *, state: str | None, after: tuple[datetime, UUID] | None, limit: int
) -> list[Row]:
    """List proposals, the newest first, behind a place; with a state only those.

    Shapes: id, created_at, text (how the message's words begin).
    """
    moment, identifier = after or (None, None)
    cursor = await connection.execute(
        "SELECT p.id, p.created_at, left(m.text, 400) AS text"
        " FROM proposal p JOIN chat_message m ON m.user_id = p.user_id AND m.id = p.message_id"
        " WHERE (%(state)s::text IS NULL OR p.state = %(state)s)"
        " AND (%(moment)s::timestamptz IS NULL OR (p.created_at, p.id) < (%(moment)s, %(id)s))"
        " ORDER BY p.created_at DESC, p.id DESC LIMIT %(limit)s",
        {"state": state, "moment": moment, "id": identifier, "limit": limit},
    )
    return await cursor.fetchall()
