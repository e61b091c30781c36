"""Propose, edit, decide, commit: each step is one transaction and safe to repeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from alfred.engine.amendment import Edit, apply_edits
from alfred.engine.closing import expire, supersede_earlier
from alfred.engine.correction import (
    is_recorded,
    read_words,
    record_correction,
    require_correctable,
    require_words,
)
from alfred.engine.database import Connection, Database, Role
from alfred.engine.decision_rules import (
    Verdict,
    being_corrected,
    changed,
    expired,
    has_news,
    incomplete,
    outdated,
    require_known,
    require_pending,
    require_seen,
    stale,
)
from alfred.engine.executor import (
    ActionExecutor,
    Batch,
    Outcome,
    is_same,
    misfit,
    retry_conflicts,
)
from alfred.engine.ledger import (
    Actor,
    Entry,
    append_entries,
    insert_proposal,
    load_proposal,
    store_revision,
)
from alfred.engine.ledger_step import Step, take_step
from alfred.engine.proposal import (
    ActionState,
    Proposal,
    ProposalState,
    ProposedAction,
    reopen,
    with_outcome,
    with_states,
)
from alfred.engine.run_memory import forget, recall, remember
from alfred.engine.settlement import (
    annotate_discarded,
    mark_due,
    read_receipts,
)
from alfred.engine.submission import (
    Submission,
    batch_of,
    new_proposal,
    reject_at_once,
)
from alfred.errors import ReviewRefused

Clock = Callable[[], datetime]


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
        if (known := recall(user_id, proposal)) is not None:
            return known
        async with self._database.transaction(Role.READER, user_id) as connection:
            found = await load_proposal(connection, proposal)
        if found.closed_at is not None:
            remember(found)
        return found

    async def find_settled(self, user_id: UUID, turn_id: UUID, *, before: int) -> set[str]:
        """Name the actions of a turn's earlier attempts that were decided or ran out."""
        async with self._database.transaction(Role.READER, user_id) as connection:
            cursor = await connection.execute(
                "SELECT a.id FROM action a JOIN proposal p"
                " ON p.user_id = a.user_id AND p.id = a.proposal_id"
                " WHERE turn_id = %s AND p.state NOT IN ('pending', 'corrected', 'superseded')"
                " AND p.attempt < %s",
                (turn_id, before),
            )
            return {str(row["id"]) for row in await cursor.fetchall()}

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
                proposal = new_proposal(submission, outcomes, now=self._clock())
                if submission.rejected:
                    proposal = await reject_at_once(
                        self._executor, connection, proposal, submission.rejected
                    )
                await supersede_earlier(connection, submission.turn_id, submission.attempt)
                engine = Actor(user_id=submission.user_id, origin="engine")
                gone = {action.id for action in proposal.in_state("rejected")}
                entries = [
                    Entry(kind="proposed", digest=proposal.digest),
                    *_entries(proposal, gone, "rejected", {"by_correction": True}),
                ]
                if await insert_proposal(connection, proposal, engine, entries):
                    return proposal
                return await load_proposal(connection, proposal.id)

        proposal = await retry_conflicts(once)
        remember(proposal)
        return proposal

    async def correct(self, proposal_id: UUID, words: str, *, seen: str, actor: Actor) -> Proposal:
        """Record what a person says is wrong; the turn is due to propose anew.

        Until then the proposal can be read and not decided, and afterwards neither. An identical
        repeat returns it as it is. Errors: `review.words`, `review.uncorrectable`, and those of
        `decide`.
        """
        require_words(words)
        forget(proposal_id)

        async def once() -> tuple[Proposal, bool]:
            async with self._database.transaction(Role.WRITER, actor.user_id) as connection:
                proposal = await load_proposal(connection, proposal_id, lock=True)
                if await self._ran_out(connection, proposal):
                    return proposal, True
                if await is_recorded(connection, proposal, words):
                    return proposal, False
                require_pending(proposal)
                require_seen(proposal, seen)
                require_correctable(proposal)
                await record_correction(connection, proposal, words, actor)
                await mark_due(connection, proposal)
                return await load_proposal(connection, proposal.id), False

        proposal, has_expired = await retry_conflicts(once)
        if has_expired:
            raise expired(proposal)
        return proposal

    async def load_words(self, user_id: UUID, proposal: UUID) -> str:
        """Read the words of a proposal's correction; empty where they were erased meanwhile."""
        async with self._database.transaction(Role.READER, user_id) as connection:
            return await read_words(connection, proposal)

    async def withdraw(self, user_id: UUID, turn_id: UUID, *, before: int) -> None:
        """Close the proposals of a turn's earlier attempts where the new one proposes nothing."""

        async def once() -> None:
            async with self._database.transaction(Role.WRITER, user_id) as connection:
                await supersede_earlier(connection, turn_id, before)

        await retry_conflicts(once)

    async def amend(
        self, proposal_id: UUID, edits: Mapping[UUID, Edit], *, seen: str, actor: Actor
    ) -> Proposal:
        """Apply a person's edits, dry-run again, and return the new revision to look at.

        An action that was approved is pending again if the edits change what it would do.
        Errors: `review.edit` with the JSON pointer of each value that does not fit;
        `review.stale` if the rows changed since the preview; nothing is decided by an edit.
        """
        forget(proposal_id)

        async def once() -> tuple[Proposal, str]:
            async with self._database.transaction(Role.WRITER, actor.user_id) as connection:
                proposal = await load_proposal(connection, proposal_id, lock=True)
                if await self._ran_out(connection, proposal):
                    return proposal, "expired"
                require_pending(proposal)
                require_seen(proposal, seen)
                undone = proposal.in_state("pending", "approved")
                before = await self._preview(connection, proposal, undone)
                if not self._as_shown(undone, before):
                    return await self._revise(connection, proposal, before, actor, "stale"), "stale"
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
                return revised, ""

        revised, trouble = await retry_conflicts(once)
        if trouble:
            raise self._refusal(revised, trouble)
        return revised

    async def decide(
        self, proposal_id: UUID, verdicts: Mapping[UUID, Verdict], *, seen: str, actor: Actor
    ) -> Proposal:
        """Record verdicts, keyed by action id; the last one seals the proposal.

        A rejected action takes those with it that depend on it. An identical repeat returns the
        proposal as it is. Errors: the codes of `ReviewRefused`; then nothing is recorded, except
        that `review.changed` records the rejections and shows the new effects of the rest, and
        that `review.outdated` shows what can't be run any more.
        """
        forget(proposal_id)

        async def once() -> tuple[Proposal, str]:
            async with self._database.transaction(Role.WRITER, actor.user_id) as connection:
                proposal = await load_proposal(connection, proposal_id, lock=True)
                require_known(proposal, verdicts)
                if await self._ran_out(connection, proposal):
                    return proposal, "expired"
                if not has_news(proposal, verdicts):
                    return proposal, ""
                require_pending(proposal)
                require_seen(proposal, seen)
                return await self._record(connection, proposal, verdicts, actor)

        proposal, trouble = await retry_conflicts(once)
        if trouble:
            raise self._refusal(proposal, trouble)
        return proposal

    async def commit(self, user_id: UUID, proposal_id: UUID) -> list[UUID]:
        """Write every approved action in one transaction; return the ids that have receipts.

        Errors: `review.stale` if the rows changed since the preview, `review.outdated` if a kind of
        action did: nothing is written, the actions are pending again with their new effects;
        `review.undecided`; `review.expired`; `review.closed`.
        """
        actor = Actor(user_id=user_id, origin="engine")
        forget(proposal_id)

        async def once() -> tuple[Proposal, list[UUID] | None]:
            async with self._database.transaction(Role.WRITER, user_id) as connection:
                proposal = await load_proposal(connection, proposal_id, lock=True)
                if await self._ran_out(connection, proposal):
                    return proposal, None
                if proposal.closed_at is None:
                    proposal = await self._write(connection, proposal, actor)
                    return proposal, sorted(a.id for a in proposal.in_state("committed"))
                return proposal, await read_receipts(connection, proposal)

        try:
            proposal, written = await retry_conflicts(once)
        except _Stale as found:
            outcomes = found.outcomes
        else:
            if written is None:
                raise expired(proposal)
            remember(proposal)
            return written

        async def record() -> Proposal:
            # A second transaction: without it a retry would commit once the world drifts back.
            async with self._database.transaction(Role.WRITER, user_id) as connection:
                proposal = await load_proposal(connection, proposal_id, lock=True)
                if proposal.state != "approved":
                    return proposal
                return await self._revise(connection, proposal, outcomes, actor, "stale")

        raise self._refusal(await retry_conflicts(record), "stale")

    async def expire_due(self, user_id: UUID) -> list[Proposal]:
        """Close the user's proposals whose time ran out; their runs are due to continue."""

        async def once() -> list[Proposal]:
            async with self._database.transaction(Role.WRITER, user_id) as connection:
                cursor = await connection.execute(
                    "SELECT id FROM proposal WHERE state = 'pending' AND expires_at <= %s"
                    " ORDER BY id FOR UPDATE",
                    (self._clock(),),
                )
                late = [await load_proposal(connection, r["id"]) for r in await cursor.fetchall()]
                for proposal in late:
                    await expire(connection, proposal)
                return late

        return await retry_conflicts(once)

    async def _ran_out(self, connection: Connection, proposal: Proposal) -> bool:
        """Close a proposal that was not decided in time, whatever is asked of it; say if it was."""
        if proposal.state != "pending" or proposal.expires_at > self._clock():
            return False
        await expire(connection, proposal)
        return True

    async def _preview(
        self, connection: Connection, proposal: Proposal, actions: Sequence[ProposedAction]
    ) -> dict[str, Outcome]:
        return await self._executor.preview(connection, batch_of(proposal, actions))

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
        chosen = [action for action in proposal.actions if action.id in approved]
        if any(action.is_ready and self._misfit(action) for action in chosen):
            undone = proposal.in_state("pending", "approved")
            outcomes = await self._preview(connection, proposal, undone)
            return await self._revise(connection, proposal, outcomes, actor, "stale"), "stale"
        for action in chosen:
            if not action.is_ready:
                raise incomplete(action)
        gone = rejected | fallen
        entries = [
            *_entries(proposal, rejected, "rejected", None),
            *_entries(proposal, fallen, "rejected", {"fell_with": sorted(map(str, rejected))}),
        ]
        undone = proposal.in_state("pending", "approved")
        moves: dict[UUID, ActionState] = {a.id: "rejected" for a in undone if a.id in gone}
        if gone:
            rest = [action for action in undone if action.id not in gone]
            outcomes = await self._preview(connection, proposal, rest)
            if not self._as_shown(rest, outcomes):
                step = Step(state=proposal.state, moves=moves, entries=entries)
                await take_step(connection, proposal, actor, step)
                current = await load_proposal(connection, proposal.id)
                return await self._revise(
                    connection, current, outcomes, actor, "changed"
                ), "changed"
        newly = [a.id for a in proposal.in_state("pending") if a.id in approved]
        moves |= dict.fromkeys(newly, "approved")
        entries += _entries(proposal, set(newly), "approved", None)
        # The proposal's row is locked: what is written here is all that changes.
        decided = replace(proposal, actions=with_states(proposal.actions, moves))
        state: ProposalState = "pending"
        if not decided.in_state("pending"):
            state = "approved" if decided.in_state("approved") else "rejected"
        is_due = state != "pending"
        step = Step(state=state, moves=moves, entries=entries, is_due=is_due)
        await take_step(connection, proposal, actor, step)
        return replace(decided, state=state), ""

    async def _write(self, connection: Connection, proposal: Proposal, actor: Actor) -> Proposal:
        if proposal.state == "corrected":
            raise being_corrected()
        if proposal.state == "pending":
            raise ReviewRefused(
                "review.undecided",
                f"{len(proposal.in_state('pending'))} actions are not decided yet.",
                hint=f"Decide them with `alfred review {proposal.id}`.",
            )
        approved = proposal.in_state("approved")
        outcomes = await self._executor.run(connection, batch_of(proposal, approved))
        are_ready = all(action.is_ready for action in approved)
        if not (are_ready and self._as_shown(approved, outcomes)):
            raise _Stale(outcomes)
        each = proposal.action_digests
        state: ProposalState = "committed" if approved else "rejected"
        moves: dict[UUID, ActionState] = {action.id: "committed" for action in approved}
        step = Step(
            state=state,
            moves=moves,
            entries=[Entry(kind=state, digest=proposal.digest)],
            receipts={action.id: each[action.id] for action in approved},
            closes=True,
            is_due=True,
        )
        closed_at = await take_step(connection, proposal, actor, step)
        await annotate_discarded(connection, proposal)
        actions = with_states(proposal.actions, moves)
        return replace(proposal, state=state, closed_at=closed_at, actions=actions)

    def _misfit(self, action: ProposedAction) -> str:
        return misfit(self._executor.kinds, action.kind, action.args)

    def _refusal(self, proposal: Proposal, trouble: str) -> ReviewRefused:
        """Say why a decision did not count; the proposal stands as it was recorded meanwhile."""
        if trouble == "expired":
            return expired(proposal)
        if trouble == "changed":
            return changed(proposal)
        undone = proposal.in_state("pending")
        misfits = {a.ordinal: reason for a in undone if (reason := self._misfit(a))}
        return outdated(proposal, misfits) if misfits else stale(proposal)


def _entries(
    proposal: Proposal, action_ids: set[UUID], kind: str, body: dict[str, Any] | None
) -> list[Entry]:
    each = proposal.action_digests
    return [
        Entry(kind=kind, digest=each[action.id], action_id=action.id, body=body)
        for action in proposal.actions
        if action.id in action_ids
    ]
