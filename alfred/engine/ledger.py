"""The ledger's rows: proposals and actions with their states, entries that are never changed.

Entries hold digests; payloads (arguments, effects, edits) lie beside them and can be erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg.types.json import Jsonb

from alfred.engine.database import Connection, Row
from alfred.engine.proposal import ActionState, Proposal, ProposalState, ProposedAction, digests
from alfred.errors import ReviewRefused


@dataclass(frozen=True, kw_only=True)
class Actor:
    """Who acts, and from where: `cli`, `http` or `engine`."""

    user_id: UUID
    origin: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One thing that happened to a proposal or an action; `body` is kept beside, erasable."""

    kind: str
    digest: str
    action_id: UUID | None = None
    body: dict[str, Any] | None = None


_PROPOSAL: LiteralString = "SELECT * FROM proposal WHERE id = %s"
_LOCKED: LiteralString = f"{_PROPOSAL} FOR UPDATE"


async def load_proposal(
    connection: Connection, proposal_id: UUID, *, lock: bool = False
) -> Proposal:
    """Read a proposal with its actions; `lock` holds its row until the transaction ends.

    Errors: `review.unknown` if the user of the transaction has none of that id.
    """
    query = _LOCKED if lock else _PROPOSAL
    cursor = await connection.execute(query, (proposal_id,))
    row = await cursor.fetchone()
    if row is None:
        raise ReviewRefused(
            "review.unknown",
            f"There is no proposal {proposal_id}.",
            hint="`alfred pending` lists what waits for you.",
        )
    cursor = await connection.execute(
        "SELECT a.id, ordinal, node, kind, state, status, depends_on, args, origins, evidence,"
        " missing, effects, problem FROM action a JOIN action_payload USING (user_id, id)"
        " WHERE proposal_id = %s ORDER BY ordinal",
        (proposal_id,),
    )
    actions = tuple(_action(found) for found in await cursor.fetchall())
    del row["created_at"]
    return Proposal(**row, actions=actions)


async def insert_proposal(connection: Connection, proposal: Proposal) -> bool:
    """Store a new proposal; say False if an earlier run already stored it."""
    cursor = await connection.execute(
        "INSERT INTO proposal (user_id, id, turn_id, message_id, state, attempt, revision, digest,"
        " manifests, notices, stated_at, expires_at)"
        " VALUES (%s, %s, %s, %s, 'pending', %s, 0, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
        (
            *(proposal.user_id, proposal.id, proposal.turn_id, proposal.message_id),
            *(proposal.attempt, proposal.digest, Jsonb(dict(proposal.manifests))),
            *(Jsonb(list(proposal.notices)), proposal.stated_at, proposal.expires_at),
        ),
    )
    if not cursor.rowcount:
        return False
    each, _ = digests(proposal.actions)
    await connection.cursor().executemany(
        "INSERT INTO action (user_id, id, proposal_id, ordinal, node, kind, state, status,"
        " depends_on, digest) VALUES (%s, %s, %s, %s, %s, %s, 'pending', %s, %s, %s)",
        [
            (
                *(proposal.user_id, a.id, proposal.id, a.ordinal, a.node, a.kind, a.status),
                *(list(a.depends_on), each[a.id]),
            )
            for a in proposal.actions
        ],
    )
    await connection.cursor().executemany(
        "INSERT INTO action_payload (user_id, id, args, origins, evidence, missing, effects,"
        " problem) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
        [(proposal.user_id, a.id, *_payload(a)) for a in proposal.actions],
    )
    return True


async def store_revision(
    connection: Connection, proposal: Proposal, actions: Sequence[ProposedAction]
) -> Proposal:
    """Replace the actions by what a new dry run showed; the proposal gets a new digest."""
    each, whole = digests(actions)
    await connection.cursor().executemany(
        "UPDATE action SET state = %s, status = %s, depends_on = %s, digest = %s WHERE id = %s",
        [(a.state, a.status, list(a.depends_on), each[a.id], a.id) for a in actions],
    )
    await connection.cursor().executemany(
        "UPDATE action_payload SET args = %s, origins = %s, evidence = %s, missing = %s,"
        " effects = %s, problem = %s WHERE id = %s",
        [(*_payload(a), a.id) for a in actions],
    )
    await connection.execute(
        "UPDATE proposal SET revision = revision + 1, digest = %s, state = 'pending' WHERE id = %s",
        (whole, proposal.id),
    )
    return await load_proposal(connection, proposal.id)


async def set_action_states(
    connection: Connection, action_ids: Sequence[UUID], before: ActionState, after: ActionState
) -> None:
    """Compare and set: every one of these actions goes from `before` to `after`, or none does.

    Errors: `review.conflict` if another decision was faster.
    """
    if not action_ids:
        return
    cursor = await connection.execute(
        "UPDATE action SET state = %s WHERE id = ANY(%s) AND state = %s",
        (after, list(action_ids), before),
    )
    if cursor.rowcount != len(action_ids):
        raise ReviewRefused(
            "review.conflict", f"An action is no longer {before}.", hint="Look at it again."
        )


async def set_proposal_state(
    connection: Connection, proposal: Proposal, state: ProposalState, *, closed: bool
) -> None:
    """Compare and set the proposal's state, from the one it was loaded with.

    Errors: `review.conflict` if another decision was faster.
    """
    cursor = await connection.execute(
        "UPDATE proposal SET state = %s, closed_at = CASE WHEN %s THEN now() END"
        " WHERE id = %s AND state = %s",
        (state, closed, proposal.id, proposal.state),
    )
    if cursor.rowcount != 1:
        raise ReviewRefused("review.conflict", f"The proposal is no longer {proposal.state}.")


async def append_entries(
    connection: Connection, proposal: Proposal, actor: Actor, entries: Sequence[Entry]
) -> None:
    """Write down what happened, by whom and from where."""
    for entry in entries:
        cursor = await connection.execute(
            "INSERT INTO ledger_entry (user_id, proposal_id, action_id, kind, revision, digest,"
            " actor_id, origin) VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING seq",
            (
                *(proposal.user_id, proposal.id, entry.action_id, entry.kind, proposal.revision),
                *(entry.digest, actor.user_id, actor.origin),
            ),
        )
        row = await cursor.fetchone()
        if row is not None and entry.body is not None:
            await connection.execute(
                "INSERT INTO ledger_payload (user_id, seq, body) VALUES (%s, %s, %s)",
                (proposal.user_id, row["seq"], Jsonb(entry.body)),
            )


def _action(row: Row) -> ProposedAction:
    row["depends_on"] = tuple(row["depends_on"])
    row["missing"] = tuple(row["missing"])
    return ProposedAction(**row)


def _payload(action: ProposedAction) -> tuple[Any, ...]:
    return (
        Jsonb(dict(action.args)),
        Jsonb(dict(action.origins)),
        Jsonb(dict(action.evidence)),
        Jsonb(list(action.missing)),
        Jsonb(list(action.effects)),
        action.problem,
    )
