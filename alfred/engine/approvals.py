"""Propose, edit, decide, commit: each step is one transaction and safe to repeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from alfred.engine.action import Action
from alfred.engine.amendment import Edit, apply_edits
from alfred.engine.database import Connection, Database, Role
from alfred.engine.decision_rules import (
    Verdict,
    expired,
    has_news,
    incomplete,
    require_known,
    require_pending,
    require_seen,
    stale,
)
from alfred.engine.executor import ActionExecutor, Batch, Outcome, is_same, retry_conflicts
from alfred.engine.ledger import (
    Actor,
    Entry,
    append_entries,
    insert_proposal,
    load_proposal,
    set_action_states,
    set_proposal_state,
    store_revision,
)
from alfred.engine.proposal import (
    Proposal,
    ProposedAction,
    as_proposed,
    digests,
    proposal_id,
    reopen,
    with_outcome,
)
from alfred.engine.settlement import annotate_discarded, mark_due, read_receipts
from alfred.errors import ReviewRefused

LIFETIME = timedelta(days=14)
Clock = Callable[[], datetime]


@dataclass(frozen=True, kw_only=True)
class Submission:
    """What a run hands to the ledger: the actions of one attempt of a turn."""

    user_id: UUID
    turn_id: UUID
    message_id: UUID
    attempt: int
    stated_at: datetime
    manifests: Mapping[str, str]
    notices: Sequence[str]
    actions: Sequence[Action]


class _Stale(Exception):
    """The commit's effects differ from the recorded ones; carries them out of the transaction."""

    def __init__(self, outcomes: Mapping[str, Outcome]) -> None:
        self.outcomes = outcomes


class Approvals:
    """The ledger's operations. Nothing reaches a domain's table except through `commit`."""

    def __init__(
        self,
        database: Database,
        executor: ActionExecutor,
        *,
        clock: Clock,
        shared_tables: frozenset[str] = frozenset(),
    ) -> None:
        self._database = database
        self._executor = executor
        self._shared = shared_tables
        self._clock = clock

    async def load(self, user_id: UUID, proposal: UUID) -> Proposal:
        """Read a proposal; errors: `review.unknown`."""
        async with self._database.transaction(Role.READER, user_id) as connection:
            return await load_proposal(connection, proposal)

    async def propose(self, submission: Submission) -> Proposal:
        """Dry-run the actions and record them; a repeat returns what the ledger already holds."""

        async def once() -> Proposal:
            async with self._database.transaction(Role.WRITER, submission.user_id) as connection:
                batch = Batch(
                    user_id=submission.user_id,
                    now=submission.stated_at,
                    actions=submission.actions,
                    message_id=submission.message_id,
                )
                outcomes = await self._executor.preview(connection, batch)
                proposal = self._new(submission, outcomes)
                await self._supersede(connection, proposal)
                if await insert_proposal(connection, proposal):
                    engine = Actor(user_id=submission.user_id, origin="engine")
                    entry = Entry(kind="proposed", digest=proposal.digest)
                    await append_entries(connection, proposal, engine, [entry])
                return await load_proposal(connection, proposal.id)

        return await retry_conflicts(once)

    async def amend(
        self, proposal_id: UUID, edits: Mapping[UUID, Edit], *, seen: str, actor: Actor
    ) -> Proposal:
        """Apply a person's edits, dry-run again, and return the new revision to look at.

        An action that was approved is pending again if the edits change what it would do.
        Errors: `review.edit` with the JSON pointer of each value that does not fit;
        `review.stale` if the rows changed since the preview; nothing is decided by an edit.
        """

        async def once() -> tuple[Proposal, bool]:
            async with self._database.transaction(Role.WRITER, actor.user_id) as connection:
                proposal = await self._open(connection, proposal_id)
                require_seen(proposal, seen)
                undone = proposal.in_state("pending", "approved")
                before = await self._preview(connection, proposal, undone)
                if not self._as_shown(undone, before):
                    return await self._revise(connection, proposal, before, actor, "stale"), True
                edited, entries = apply_edits(proposal, edits, self._executor.kinds)
                undone = [a for a in edited if a.state in ("pending", "approved")]
                outcomes = await self._preview(connection, proposal, undone)
                # An approval covers the effects that were shown with it, and no others.
                moved = {
                    a.id
                    for a in undone
                    if a.state == "approved" and not self._as_shown([a], outcomes)
                }
                entries += _entries(proposal, moved, "reopened", None)
                revised = await self._store(connection, proposal, reopen(edited, moved), outcomes)
                await append_entries(connection, revised, actor, entries)
                return revised, False

        revised, is_stale = await retry_conflicts(once)
        if is_stale:
            raise stale(revised)
        return revised

    async def decide(
        self, proposal_id: UUID, verdicts: Mapping[UUID, Verdict], *, seen: str, actor: Actor
    ) -> Proposal:
        """Record verdicts, keyed by action id; the last one seals the proposal.

        A rejected action takes those with it that depend on it. An identical repeat returns the
        proposal as it is. Errors: the codes of `ReviewRefused`; then nothing is recorded, except
        that `review.changed` records the rejections and shows the new effects of the rest.
        """

        async def once() -> tuple[Proposal, str]:
            async with self._database.transaction(Role.WRITER, actor.user_id) as connection:
                proposal = await load_proposal(connection, proposal_id, lock=True)
                require_known(proposal, verdicts)
                if proposal.state == "pending" and proposal.expires_at <= self._clock():
                    await self._expire(connection, proposal)
                    return proposal, "expired"
                if not has_news(proposal, verdicts):
                    return proposal, ""
                require_pending(proposal)
                require_seen(proposal, seen)
                return await self._record(connection, proposal, verdicts, actor)

        proposal, trouble = await retry_conflicts(once)
        if trouble == "expired":
            raise expired(proposal)
        if trouble == "changed":
            raise ReviewRefused(
                "review.changed",
                "Without the rejected actions the others have other effects; they are shown anew.",
                hint="Look at them and decide again.",
                proposal=proposal,
            )
        return proposal

    async def commit(self, user_id: UUID, proposal_id: UUID) -> list[UUID]:
        """Write every approved action in one transaction; return the ids that have receipts.

        Errors: `review.stale` if the rows changed since the preview: nothing is written, the
        actions are pending again with their new effects; `review.undecided`; `review.closed`.
        """
        actor = Actor(user_id=user_id, origin="engine")

        async def once() -> list[UUID]:
            async with self._database.transaction(Role.WRITER, user_id) as connection:
                proposal = await load_proposal(connection, proposal_id, lock=True)
                if proposal.closed_at is None:
                    await self._write(connection, proposal, actor)
                return await read_receipts(connection, proposal)

        try:
            return await retry_conflicts(once)
        except _Stale as found:
            outcomes = found.outcomes

        async def record() -> Proposal:
            # A second transaction: without it a retry would commit once the world drifts back.
            async with self._database.transaction(Role.WRITER, user_id) as connection:
                proposal = await load_proposal(connection, proposal_id, lock=True)
                if proposal.state != "approved":
                    return proposal
                return await self._revise(connection, proposal, outcomes, actor, "stale")

        raise stale(await retry_conflicts(record))

    async def expire_due(self, user_id: UUID) -> list[Proposal]:
        """Close the user's proposals whose time ran out; their runs are due to continue."""
        async with self._database.transaction(Role.WRITER, user_id) as connection:
            cursor = await connection.execute(
                "SELECT id FROM proposal WHERE state = 'pending' AND expires_at <= %s"
                " ORDER BY id FOR UPDATE",
                (self._clock(),),
            )
            late = [await load_proposal(connection, r["id"]) for r in await cursor.fetchall()]
            for proposal in late:
                await self._expire(connection, proposal)
            return late

    def _new(self, submission: Submission, outcomes: Mapping[str, Outcome]) -> Proposal:
        actions = tuple(
            as_proposed(action, ordinal, outcomes[action["id"]])
            for ordinal, action in enumerate(submission.actions, start=1)
        )
        return Proposal(
            id=proposal_id(submission.turn_id, submission.attempt),
            user_id=submission.user_id,
            turn_id=submission.turn_id,
            message_id=submission.message_id,
            state="pending",
            attempt=submission.attempt,
            revision=0,
            digest=digests(actions)[1],
            manifests=submission.manifests,
            notices=submission.notices,
            stated_at=submission.stated_at,
            expires_at=self._clock() + LIFETIME,
            closed_at=None,
            actions=actions,
        )

    async def _supersede(self, connection: Connection, proposal: Proposal) -> None:
        """Close the proposals of earlier attempts of the same turn."""
        cursor = await connection.execute(
            "SELECT id FROM proposal WHERE turn_id = %s AND attempt < %s AND state = 'pending'"
            " FOR UPDATE",
            (proposal.turn_id, proposal.attempt),
        )
        for row in await cursor.fetchall():
            earlier = await load_proposal(connection, row["id"])
            await self._close(connection, earlier, "superseded")

    async def _open(self, connection: Connection, proposal_id: UUID) -> Proposal:
        proposal = await load_proposal(connection, proposal_id, lock=True)
        require_pending(proposal)
        if proposal.expires_at <= self._clock():
            raise expired(proposal)
        return proposal

    async def _preview(
        self, connection: Connection, proposal: Proposal, actions: Sequence[ProposedAction]
    ) -> dict[str, Outcome]:
        return await self._executor.preview(connection, _batch(proposal, actions))

    def _as_shown(self, actions: Sequence[ProposedAction], outcomes: Mapping[str, Outcome]) -> bool:
        return all(
            outcomes[str(action.id)].status == action.status
            and is_same(action.effects, outcomes[str(action.id)].effects, self._shared)
            for action in actions
        )

    async def _store(
        self,
        connection: Connection,
        proposal: Proposal,
        actions: Sequence[ProposedAction],
        outcomes: Mapping[str, Outcome],
    ) -> Proposal:
        seen = [with_outcome(action, outcomes.get(str(action.id))) for action in actions]
        return await store_revision(connection, proposal, seen)

    async def _revise(
        self,
        connection: Connection,
        proposal: Proposal,
        outcomes: Mapping[str, Outcome],
        actor: Actor,
        kind: str,
    ) -> Proposal:
        """Return approved actions to pending, with the effects they would have now."""
        approved = {action.id for action in proposal.in_state("approved")}
        reopened = reopen(proposal.actions, approved)
        revised = await self._store(connection, proposal, reopened, outcomes)
        await append_entries(connection, revised, actor, [Entry(kind=kind, digest=revised.digest)])
        return revised

    async def _record(
        self,
        connection: Connection,
        proposal: Proposal,
        verdicts: Mapping[UUID, Verdict],
        actor: Actor,
    ) -> tuple[Proposal, str]:
        rejected = {key for key, verdict in verdicts.items() if verdict == "reject"}
        fallen = proposal.dependents(rejected)
        approved = {
            key for key, verdict in verdicts.items() if verdict == "approve" and key not in fallen
        }
        for action in proposal.actions:
            if action.id in approved and not action.is_ready:
                raise incomplete(action)
        gone = rejected | fallen
        entries = [
            *_entries(proposal, rejected, "rejected", None),
            *_entries(proposal, fallen, "rejected", {"fell_with": sorted(map(str, rejected))}),
        ]
        for state in ("pending", "approved"):
            matching = [a.id for a in proposal.actions if a.id in gone and a.state == state]
            await set_action_states(connection, matching, state, "rejected")
        if gone:
            rest = [a for a in proposal.in_state("pending", "approved") if a.id not in gone]
            outcomes = await self._preview(connection, proposal, rest)
            if not self._as_shown(rest, outcomes):
                await append_entries(connection, proposal, actor, entries)
                current = await load_proposal(connection, proposal.id)
                return await self._revise(
                    connection, current, outcomes, actor, "changed"
                ), "changed"
        newly = [a.id for a in proposal.in_state("pending") if a.id in approved]
        await set_action_states(connection, newly, "pending", "approved")
        entries += _entries(proposal, set(newly), "approved", None)
        await append_entries(connection, proposal, actor, entries)
        decided = await load_proposal(connection, proposal.id)
        if not decided.in_state("pending"):
            state = "approved" if decided.in_state("approved") else "rejected"
            await set_proposal_state(connection, decided, state, closed=False)
            await mark_due(connection, decided)
        return await load_proposal(connection, proposal.id), ""

    async def _write(self, connection: Connection, proposal: Proposal, actor: Actor) -> None:
        if proposal.state == "pending":
            raise ReviewRefused(
                "review.undecided",
                f"{len(proposal.in_state('pending'))} actions are not decided yet.",
                hint=f"Decide them with `alfred review {proposal.id}`.",
            )
        approved = proposal.in_state("approved")
        outcomes = await self._executor.run(connection, _batch(proposal, approved))
        are_ready = all(action.is_ready for action in approved)
        if not (are_ready and self._as_shown(approved, outcomes)):
            raise _Stale(outcomes)
        each, _ = digests(proposal.actions)
        await connection.cursor().executemany(
            "INSERT INTO receipt (user_id, action_id, proposal_id, digest) VALUES (%s, %s, %s, %s)",
            [(proposal.user_id, a.id, proposal.id, each[a.id]) for a in approved],
        )
        written = [action.id for action in approved]
        await set_action_states(connection, written, "approved", "committed")
        await annotate_discarded(connection, proposal)
        state = "committed" if approved else "rejected"
        await set_proposal_state(connection, proposal, state, closed=True)
        await append_entries(
            connection, proposal, actor, [Entry(kind=state, digest=proposal.digest)]
        )
        await mark_due(connection, proposal)

    async def _expire(self, connection: Connection, proposal: Proposal) -> None:
        await self._close(connection, proposal, "expired")
        await mark_due(connection, proposal)

    async def _close(
        self,
        connection: Connection,
        proposal: Proposal,
        state: Literal["expired", "superseded"],
    ) -> None:
        """Close a proposal that was not decided to the end; what was approved in it falls too."""
        for before in ("pending", "approved"):
            undone = [action.id for action in proposal.in_state(before)]
            await set_action_states(connection, undone, before, state)
        await set_proposal_state(connection, proposal, state, closed=True)
        engine = Actor(user_id=proposal.user_id, origin="engine")
        entry = Entry(kind=state, digest=proposal.digest)
        await append_entries(connection, proposal, engine, [entry])


def _batch(proposal: Proposal, actions: Sequence[ProposedAction]) -> Batch:
    return Batch(
        user_id=proposal.user_id,
        now=proposal.stated_at,
        actions=[action.as_action() for action in actions],
        message_id=proposal.message_id,
    )


def _entries(
    proposal: Proposal, action_ids: set[UUID], kind: str, body: dict[str, Any] | None
) -> list[Entry]:
    each, _ = digests(proposal.actions)
    return [
        Entry(kind=kind, digest=each[action.id], action_id=action.id, body=body)
        for action in proposal.actions
        if action.id in action_ids
    ]
