"""What is handed to the ledger, and the proposal that is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from alfred.engine.action import Action
from alfred.engine.database import Connection
from alfred.engine.executor import ActionExecutor, Batch, Outcome
from alfred.engine.proposal import (
    Proposal,
    ProposedAction,
    as_proposed,
    digests,
    proposal_id,
    with_outcome,
)

LIFETIME = timedelta(days=14)
_NOTHING_LEFT = (
    "The correction would discard every action, so that none is discarded; reject the proposal if"
    " you mean that."
)


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
    rejected: frozenset[str] = frozenset()
    """Ids of actions that a correction discards, or that were rejected before it."""


def new_proposal(
    submission: Submission, outcomes: Mapping[str, Outcome], *, now: datetime
) -> Proposal:
    """Number the actions and join them with what their dry run showed; it is not stored yet."""
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
        expires_at=now + LIFETIME,
        closed_at=None,
        actions=actions,
    )


async def reject_at_once(
    executor: ActionExecutor,
    connection: Connection,
    proposal: Proposal,
    action_ids: frozenset[str],
) -> Proposal:
    """Let actions be rejected from the start, and with them those that depend on them.

    Where nothing would be left, nothing is: whoever means that rejects the proposal.
    """
    chosen = {action.id for action in proposal.actions if str(action.id) in action_ids}
    gone = chosen | proposal.dependents(chosen)
    if len(gone) == len(proposal.actions):
        return replace(proposal, notices=[*proposal.notices, _NOTHING_LEFT])
    rest = [action for action in proposal.actions if action.id not in gone]
    outcomes = await executor.preview(connection, batch_of(proposal, rest))
    actions = tuple(
        replace(action, state="rejected")
        if action.id in gone
        else with_outcome(action, outcomes[str(action.id)])
        for action in proposal.actions
    )
    return replace(proposal, actions=actions, digest=digests(actions)[1])


def batch_of(proposal: Proposal, actions: Sequence[ProposedAction]) -> Batch:
    """Make what the executor runs of a proposal's actions."""
    return Batch(
        user_id=proposal.user_id,
        now=proposal.stated_at,
        actions=[action.as_action() for action in actions],
        message_id=proposal.message_id,
    )
