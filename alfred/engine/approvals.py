"""Propose, edit, decide, commit: each step is one transaction and safe to repeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from psycopg.types.json import Jsonb

from alfred.engine.action import Action
from alfred.engine.amendment import Edit, apply_edits
from alfred.engine.database import Connection, Database, Role
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
from alfred.engine.proposal import Proposal, ProposedAction, digests, proposal_id
from alfred.errors import ReviewRefused

LIFETIME = timedelta(days=14)
DISCARDED = {"zh": "已丢弃，原始内容保留", "en": "Discarded; the original text is kept."}

Verdict = Literal["approve", "reject"]
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
                _require_seen(proposal, seen)
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
                revised = await self._store(connection, proposal, _reopen(edited, moved), outcomes)
                await append_entries(connection, revised, actor, entries)
                return revised, False

        revised, is_stale = await retry_conflicts(once)
        if is_stale:
            raise _stale(revised)
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
                _require_known(proposal, verdicts)
                if proposal.state == "pending" and proposal.expires_at <= self._clock():
                    await self._expire(connection, proposal)
                    return proposal, "expired"
                if not _news(proposal, verdicts):
                    return proposal, ""
                _require_pending(proposal)
                _require_seen(proposal, seen)
                return await self._record(connection, proposal, verdicts, actor)

        proposal, trouble = await retry_conflicts(once)
        if trouble == "expired":
            raise _expired(proposal)
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
                return await _receipts(connection, proposal)

        try:
            return await retry_conflicts(once)
        except _Stale as stale:
            outcomes = stale.outcomes

        async def record() -> Proposal:
            # A second transaction: without it a retry would commit once the world drifts back.
            async with self._database.transaction(Role.WRITER, user_id) as connection:
                proposal = await load_proposal(connection, proposal_id, lock=True)
                if proposal.state != "approved":
                    return proposal
                return await self._revise(connection, proposal, outcomes, actor, "stale")

        raise _stale(await retry_conflicts(record))

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
            _proposed(action, ordinal, outcomes[action["id"]])
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
        _require_pending(proposal)
        if proposal.expires_at <= self._clock():
            raise _expired(proposal)
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
        seen = [_with_outcome(action, outcomes.get(str(action.id))) for action in actions]
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
        reopened = _reopen(proposal.actions, approved)
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
                raise _incomplete(action)
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
            await _mark_due(connection, decided)
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
        await _annotate(connection, proposal)
        state = "committed" if approved else "rejected"
        await set_proposal_state(connection, proposal, state, closed=True)
        await append_entries(
            connection, proposal, actor, [Entry(kind=state, digest=proposal.digest)]
        )
        await _mark_due(connection, proposal)

    async def _expire(self, connection: Connection, proposal: Proposal) -> None:
        await self._close(connection, proposal, "expired")
        await _mark_due(connection, proposal)

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


def _proposed(action: Action, ordinal: int, outcome: Outcome) -> ProposedAction:
    return ProposedAction(
        id=UUID(action["id"]),
        ordinal=ordinal,
        node=action["node"],
        kind=action["kind"],
        state="pending",
        status=outcome.status,
        depends_on=tuple(map(UUID, outcome.depends_on)),
        args=action["args"],
        origins=action["origins"],
        evidence=action["evidence"],
        missing=tuple(action["missing"]),
        effects=outcome.effects,
        problem=outcome.problem,
    )


def _reopen(actions: Sequence[ProposedAction], chosen: Set[UUID]) -> list[ProposedAction]:
    return [replace(a, state="pending") if a.id in chosen else a for a in actions]


def _with_outcome(action: ProposedAction, outcome: Outcome | None) -> ProposedAction:
    if outcome is None:
        return action
    return replace(
        action,
        status=outcome.status,
        depends_on=tuple(map(UUID, outcome.depends_on)),
        effects=outcome.effects,
        problem=outcome.problem,
    )


def _news(proposal: Proposal, verdicts: Mapping[UUID, Verdict]) -> bool:
    """Say whether any verdict is new; refuse one that contradicts an earlier decision."""
    said = {"approve": ("approved", "committed"), "reject": ("rejected",)}
    news = False
    for action in proposal.actions:
        verdict = verdicts.get(action.id)
        if verdict is None or action.state in said[verdict]:
            continue
        if action.state not in ("pending", "expired", "superseded"):
            raise ReviewRefused(
                "review.conflict",
                f"Action {action.ordinal} is already {action.state}.",
                hint="A decision is final; capture the text again for a new proposal.",
            )
        news = True
    return news


def _entries(
    proposal: Proposal, action_ids: set[UUID], kind: str, body: dict[str, Any] | None
) -> list[Entry]:
    each, _ = digests(proposal.actions)
    return [
        Entry(kind=kind, digest=each[action.id], action_id=action.id, body=body)
        for action in proposal.actions
        if action.id in action_ids
    ]


def _require_known(proposal: Proposal, verdicts: Mapping[UUID, Verdict]) -> None:
    for action_id in verdicts:
        if proposal.action(action_id) is None:
            raise ReviewRefused(
                "review.unknown_action",
                f"Proposal {proposal.id} has no action {action_id}.",
                hint="Only what the ledger holds can be decided.",
            )


def _require_pending(proposal: Proposal) -> None:
    if proposal.state == "expired":
        raise _expired(proposal)
    if proposal.state != "pending":
        raise ReviewRefused(
            "review.closed",
            f"The proposal is {proposal.state}.",
            hint="It can't be changed any more.",
        )


def _require_seen(proposal: Proposal, seen: str) -> None:
    if seen != proposal.digest:
        raise ReviewRefused(
            "review.changed",
            "The proposal has changed since it was shown.",
            hint="Look at the new effects and decide again.",
            proposal=proposal,
        )


def _incomplete(action: ProposedAction) -> ReviewRefused:
    return ReviewRefused(
        "review.incomplete",
        f"Action {action.ordinal} ({action.kind}) can't be approved: {action.problem}.",
        hint="Fill it with --set, or reject it.",
        missing=list(action.missing),
    )


def _expired(proposal: Proposal) -> ReviewRefused:
    return ReviewRefused(
        "review.expired",
        f"The proposal expired on {proposal.expires_at:%Y-%m-%d}; nothing was written.",
        hint="Capture the text again for a new one.",
    )


def _stale(proposal: Proposal) -> ReviewRefused:
    return ReviewRefused(
        "review.stale",
        "The rows changed since the preview; nothing was written.",
        hint="The new effects are shown; decide again.",
        proposal=proposal,
    )


async def _receipts(connection: Connection, proposal: Proposal) -> list[UUID]:
    if proposal.state in ("expired", "superseded"):
        raise ReviewRefused("review.closed", f"The proposal is {proposal.state}.")
    cursor = await connection.execute(
        "SELECT action_id FROM receipt WHERE proposal_id = %s ORDER BY action_id", (proposal.id,)
    )
    return [row["action_id"] for row in await cursor.fetchall()]


async def _mark_due(connection: Connection, proposal: Proposal) -> None:
    await connection.execute("UPDATE turn SET resume_due = true WHERE id = %s", (proposal.turn_id,))


async def _annotate(connection: Connection, proposal: Proposal) -> None:
    """Tell on the message which actions were discarded; its words stay as they are."""
    rejected = proposal.in_state("rejected")
    if not rejected:
        return
    cursor = await connection.execute(
        "SELECT language FROM turn WHERE id = %s", (proposal.turn_id,)
    )
    turn = await cursor.fetchone()
    language = turn["language"] if turn else "en"
    note = {
        "kind": "discarded",
        "text": DISCARDED[language],
        "actions": [str(action.id) for action in rejected],
    }
    await connection.execute(
        "UPDATE chat_message SET annotations = annotations || %s WHERE id = %s",
        (Jsonb([note]), proposal.message_id),
    )
