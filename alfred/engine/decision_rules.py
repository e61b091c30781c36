"""What a decision has to satisfy, and the refusals that say what it does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from uuid import UUID

from alfred.engine.proposal import Proposal, ProposedAction
from alfred.errors import ReviewRefused

Verdict = Literal["approve", "reject"]


def has_news(proposal: Proposal, verdicts: Mapping[UUID, Verdict]) -> bool:
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


def require_known(proposal: Proposal, verdicts: Mapping[UUID, Verdict]) -> None:
    """Refuse a verdict on an action that the ledger does not hold."""
    for action_id in verdicts:
        if proposal.action(action_id) is None:
            raise ReviewRefused(
                "review.unknown_action",
                f"Proposal {proposal.id} has no action {action_id}.",
                hint="Only what the ledger holds can be decided.",
            )


def require_pending(proposal: Proposal) -> None:
    """Refuse what can no longer be decided."""
    if proposal.state == "expired":
        raise expired(proposal)
    if proposal.state == "corrected":
        raise being_corrected()
    if proposal.state != "pending":
        raise ReviewRefused(
            "review.closed",
            f"The proposal is {proposal.state}.",
            hint="It can't be changed any more.",
        )


def require_seen(proposal: Proposal, seen: str) -> None:
    """Refuse a decision about anything but what is recorded now."""
    if seen != proposal.digest:
        raise ReviewRefused(
            "review.changed",
            "The proposal has changed since it was shown.",
            hint="Look at the new effects and decide again.",
            proposal=proposal,
        )


def incomplete(action: ProposedAction) -> ReviewRefused:
    """Say that an action has to be filled first."""
    return ReviewRefused(
        "review.incomplete",
        f"Action {action.ordinal} ({action.kind}) can't be approved: {action.problem.rstrip('.')}.",
        hint="Fill it with --set, or reject it.",
        missing=list(action.missing),
    )


def being_corrected() -> ReviewRefused:
    """Say that a correction was faster, and that a new proposal will take this one's place."""
    return ReviewRefused(
        "review.conflict",
        "A correction of this proposal is recorded already.",
        hint="Look at what is proposed instead: `alfred review`.",
    )


def expired(proposal: Proposal) -> ReviewRefused:
    """Say that the proposal's time ran out."""
    return ReviewRefused(
        "review.expired",
        f"The proposal expired on {proposal.expires_at:%Y-%m-%d}; nothing was written.",
        hint="Capture the text again for a new one.",
    )


def changed(proposal: Proposal) -> ReviewRefused:
    """Say that a rejection changed what the others would do, and hand over how they are now."""
    return ReviewRefused(
        "review.changed",
        "Without the rejected actions the others have other effects; they are shown anew.",
        hint="Look at them and decide again.",
        proposal=proposal,
    )


def outdated(proposal: Proposal, misfits: Mapping[int, str]) -> ReviewRefused:
    """Say which actions, by their numbers, today's kinds do not take any more."""
    listed = " ".join(f"Action {ordinal}: {reason}" for ordinal, reason in misfits.items())
    return ReviewRefused(
        "review.outdated",
        f"The program has changed since the preview; nothing was written. {listed}",
        hint="Reject what can't be run, give it fitting values, or install what ran it.",
        proposal=proposal,
    )


def stale(proposal: Proposal) -> ReviewRefused:
    """Say that rows changed, and hand over the proposal with its new effects."""
    return ReviewRefused(
        "review.stale",
        "The rows changed since the preview; nothing was written.",
        hint="The new effects are shown; decide again.",
        proposal=proposal,
    )
