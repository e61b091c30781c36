"""The two steps that every run ends with: record what is proposed, then wait for a person.

A decision lives in the ledger, never in the graph's checkpoint: the value a run is resumed with
only wakes it up, and what it then does follows from the ledger alone.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from alfred.engine.approvals import Submission
from alfred.engine.context import RunContext
from alfred.engine.proposal import Proposal, proposal_id
from alfred.engine.state import (
    AlfredState,
    UiIntent,
    group,
    read_errors,
    read_pending_actions,
)
from alfred.engine.trace import event
from alfred.errors import ReviewRefused

Update = dict[str, Any]
_STEP = 1_000
"""Sorts the events of the closing steps behind those of any domain's graph."""


async def propose(state: AlfredState, runtime: Runtime[RunContext]) -> Update:
    """Dry-run what the nodes proposed and write it into the ledger."""
    context = runtime.context
    attempt = state.get("attempt", 0)
    actions = read_pending_actions(state)
    if not actions:
        nothing = event("propose", "COMPLETED", "NOTHING_PROPOSED", attempt=attempt, step=_STEP)
        return {"ui_intent": None, "events": group("propose", attempt, _STEP, [nothing])}
    nodes = {action["node"] for action in actions}
    proposal = await context.approvals.propose(
        Submission(
            user_id=context.user_id,
            turn_id=context.turn_id,
            message_id=context.message_id,
            attempt=attempt,
            stated_at=context.received_at,
            manifests={name: context.manifest(name).digest for name in sorted(nodes)},
            notices=read_errors(state),
            actions=actions,
        )
    )
    recorded = event("propose", "COMPLETED", "PROPOSAL_RECORDED", attempt=attempt, step=_STEP)
    return {
        "ui_intent": review_intent(proposal),
        "events": group("propose", attempt, _STEP, [recorded]),
    }


async def review(state: AlfredState, runtime: Runtime[RunContext]) -> Update:
    """Pause until the ledger says that the proposal is closed, then hand its verdicts back."""
    attempt = state.get("attempt", 0)
    if state.get("ui_intent") is None:
        return {"confirmations": {}}
    context = runtime.context
    proposal = await _load(context, attempt)
    while proposal.closed_at is None:
        if proposal.state == "pending":
            # On resume this line returns whatever was handed in, which only wakes the run: one
            # that was woken by another gate's answer pauses again.
            interrupt(dict(review_intent(proposal)))
        else:
            # Decided while no run waited for it: nobody else may ever come to commit it.
            await _commit(context, proposal)
        proposal = await _load(context, attempt)
    decided = event("review", "COMPLETED", proposal.state.upper(), attempt=attempt, step=_STEP + 1)
    return {
        "confirmations": {
            str(action.id): action.state in ("approved", "committed") for action in proposal.actions
        },
        "events": group("review", attempt, _STEP + 1, [decided]),
    }


async def finish(state: AlfredState, runtime: Runtime[RunContext]) -> Update:
    """Write down how the run ended: a finished run is told from a lost pause by this alone."""
    attempt = state.get("attempt", 0)
    if state.get("ui_intent") is not None:
        outcome: str = (await _load(runtime.context, attempt)).state
    elif read_errors(state):
        outcome = "failed"
    else:
        outcome = "nothing_found"
    ended = event("finish", "COMPLETED", outcome.upper(), attempt=attempt, step=_STEP + 2)
    return {
        "outcome": outcome,
        "ui_intent": UiIntent(kind="done", proposal_id=None, digest=None),
        "events": group("finish", attempt, _STEP + 2, [ended]),
    }


def review_intent(proposal: Proposal) -> UiIntent:
    """Tell a client to show this proposal, as it is now."""
    return UiIntent(kind="review", proposal_id=str(proposal.id), digest=proposal.digest)


async def _commit(context: RunContext, proposal: Proposal) -> None:
    """Commit what was decided; rows that changed make it pending again, to be asked for."""
    try:
        await context.approvals.commit(context.user_id, proposal.id)
    except ReviewRefused as error:
        if error.code != "review.stale":
            raise


async def _load(context: RunContext, attempt: int) -> Proposal:
    wanted: UUID = proposal_id(context.turn_id, attempt)
    return await context.approvals.load(context.user_id, wanted)
