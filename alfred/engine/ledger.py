"""The ledger's rows: proposals and actions with their states, entries that are never changed.

Entries hold digests; payloads (arguments, effects, edits) lie beside them and can be erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg.types.json import Jsonb

from alfred.engine.database import Connection, Row
from alfred.engine.proposal import ActionState, Proposal, ProposalState, ProposedAction, digests
from alfred.errors import ReviewRefused


@dataclass(frozen=True, kw_only=True)
class Actor:
    """On whose rows somebody acts, and from where: `cli`, `http`, `gate` or `engine`."""

    user_id: UUID
    origin: str
    person: UUID | None = None
    """Who acts, where it is another than the rows' owner."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One thing that happened to a proposal or an action; `body` is kept beside, erasable."""

    kind: str
    digest: str
    action_id: UUID | None = None
    body: dict[str, Any] | None = None


_PROPOSAL: LiteralString = "SELECT * FROM proposal WHERE id = %s"
_LOCKED: LiteralString = f"{_PROPOSAL} FOR UPDATE"


_PLAIN_COLUMNS = (
    *("turn_id", "message_id", "attempt", "digest"),
    *("stated_at", "expires_at"),
)
ENTRIES: LiteralString = """
    noted AS (
        SELECT * FROM jsonb_to_recordset(%(entries)s) AS noted (
            place integer, action_id uuid, kind text, digest text, body jsonb)
        WHERE true
    ), entry AS (
        INSERT INTO ledger_entry (user_id, proposal_id, action_id, kind, revision, digest, actor_id,
            origin)
        SELECT %(user_id)s, %(proposal_id)s, action_id, kind, %(revision)s, digest, %(actor_id)s,
            %(origin)s
        FROM noted ORDER BY place RETURNING seq
    ), numbered AS (
        SELECT seq, row_number() OVER (ORDER BY seq) AS place FROM entry
    ), telling AS (
        INSERT INTO ledger_payload (user_id, seq, body)
        SELECT %(user_id)s, seq, body FROM numbered JOIN noted USING (place) WHERE body IS NOT NULL
    )
"""
"""The parts of a statement that append entries in their order, bodies beside them."""
# One statement for all rows: nothing of it happens where the proposal stands already.
_INSERT: LiteralString = f"""
    WITH proposed AS (
        INSERT INTO proposal (user_id, id, turn_id, message_id, state, attempt, revision, digest,
            manifests, notices, stated_at, expires_at)
        VALUES (%(user_id)s, %(proposal_id)s, %(turn_id)s, %(message_id)s, 'pending', %(attempt)s,
            0, %(digest)s, %(manifests)s, %(notices)s, %(stated_at)s, %(expires_at)s)
        ON CONFLICT DO NOTHING RETURNING user_id, id
    ), given AS (
        SELECT * FROM jsonb_to_recordset(%(actions)s) AS given (
            id uuid, ordinal integer, node text, kind text, state text, status text,
            depends_on uuid[], digest text, args jsonb, origins jsonb, evidence jsonb,
            missing jsonb, effects jsonb, problem text)
    ), acting AS (
        INSERT INTO action (user_id, id, proposal_id, ordinal, node, kind, state, status,
            depends_on, digest)
        SELECT user_id, g.id, proposed.id, ordinal, node, kind, state, status, depends_on, digest
        FROM proposed, given g ORDER BY ordinal
    ), carrying AS (
        INSERT INTO action_payload (user_id, id, args, origins, evidence, missing, effects, problem)
        SELECT user_id, g.id, args, origins, evidence, missing, effects, problem
        FROM proposed, given g
    ), {ENTRIES.replace("WHERE true", "WHERE EXISTS (SELECT FROM proposed)")}
    SELECT id FROM proposed
"""  # noqa: S608 - constants of this file
_APPEND: LiteralString = f"WITH {ENTRIES} SELECT"


async def load_proposal(
    connection: Connection, proposal_id: UUID, *, lock: bool = False
) -> Proposal:
    """Read a proposal with its actions; `lock` holds its row until the transaction ends.

    Errors: `review.unknown` if the user of the transaction has none of that id.
    """
    query = _LOCKED if lock else _PROPOSAL
    cursor = connection.cursor()
    await cursor.execute(query, (proposal_id,))
    row = await cursor.fetchone()
    if row is None:
        raise ReviewRefused(
            "review.unknown",
            f"There is no proposal {proposal_id}.",
            hint="`alfred pending` lists what waits for you.",
        )
    await cursor.execute(
        "SELECT a.id, ordinal, node, kind, state, status, depends_on, problem, jsonb_build_object("
        "'args', args, 'origins', origins, 'evidence', evidence, 'missing', missing, 'effects',"
        " effects) AS payload FROM action a JOIN action_payload USING (user_id, id)"
        " WHERE proposal_id = %s ORDER BY ordinal",
        (proposal_id,),
    )
    actions = tuple(_action(found) for found in await cursor.fetchall())
    del row["created_at"]
    return Proposal(**row, actions=actions)


async def insert_proposal(
    connection: Connection, proposal: Proposal, actor: Actor, entries: Sequence[Entry]
) -> bool:
    """Store a new proposal and its first entries; say False if an earlier run already did."""
    each = proposal.action_digests
    cursor = await connection.execute(
        _INSERT,
        {
            **{name: getattr(proposal, name) for name in _PLAIN_COLUMNS},
            "manifests": Jsonb(dict(proposal.manifests)),
            "notices": Jsonb(list(proposal.notices)),
            "actions": Jsonb([_action_record(a, each[a.id]) for a in proposal.actions]),
            **entry_values(proposal, actor, entries),
        },
    )
    return await cursor.fetchone() is not None


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
) -> datetime | None:
    """Compare and set the proposal's state, from the one it was loaded with; say when it closed.

    Errors: `review.conflict` if another decision was faster.
    """
    cursor = await connection.execute(
        "UPDATE proposal SET state = %s, closed_at = CASE WHEN %s THEN now() END"
        " WHERE id = %s AND state = %s RETURNING closed_at",
        (state, closed, proposal.id, proposal.state),
    )
    row = await cursor.fetchone()
    if row is None:
        raise ReviewRefused("review.conflict", f"The proposal is no longer {proposal.state}.")
    return row["closed_at"]


async def append_entries(
    connection: Connection, proposal: Proposal, actor: Actor, entries: Sequence[Entry]
) -> None:
    """Write down what happened, by whom and from where."""
    if entries:
        await connection.execute(_APPEND, entry_values(proposal, actor, entries))


def entry_values(proposal: Proposal, actor: Actor, entries: Sequence[Entry]) -> dict[str, Any]:
    """Give the parameters of `ENTRIES`."""
    noted = [
        {
            "place": place,
            "action_id": None if entry.action_id is None else str(entry.action_id),
            "kind": entry.kind,
            "digest": entry.digest,
            "body": entry.body,
        }
        for place, entry in enumerate(entries, start=1)
    ]
    return {
        "entries": Jsonb(noted),
        "user_id": proposal.user_id,
        "proposal_id": proposal.id,
        "revision": proposal.revision,
        "actor_id": actor.person or actor.user_id,
        "origin": actor.origin,
    }


def _action(row: Row) -> ProposedAction:
    payload = row.pop("payload")
    row["depends_on"] = tuple(row["depends_on"])
    payload["missing"] = tuple(payload["missing"])
    return ProposedAction(**row, **payload)


def _action_record(action: ProposedAction, digest: str) -> dict[str, Any]:
    return {
        "id": str(action.id),
        "ordinal": action.ordinal,
        "node": action.node,
        "kind": action.kind,
        "state": action.state,
        "status": action.status,
        "depends_on": list(map(str, action.depends_on)),
        "digest": digest,
        "args": dict(action.args),
        "origins": dict(action.origins),
        "evidence": dict(action.evidence),
        "missing": list(action.missing),
        "effects": list(action.effects),
        "problem": action.problem,
    }


def _payload(action: ProposedAction) -> tuple[Any, ...]:
    return (
        Jsonb(dict(action.args)),
        Jsonb(dict(action.origins)),
        Jsonb(dict(action.evidence)),
        Jsonb(list(action.missing)),
        Jsonb(list(action.effects)),
        action.problem,
    )
