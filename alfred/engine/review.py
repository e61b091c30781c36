"""The two steps that every run ends with: record what is proposed, then wait for a person.

A decision lives in the ledger, never in the graph's checkpoint: the value a run is resumed with
only wakes it up, and what it then does follows from the ledger alone.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from alfred.engine.action import Action
from alfred.engine.carry_over import CarriedOver, carry_over
from alfred.engine.context import RunContext
from alfred.engine.correction import Correction, correction_of, shown_actions, spoken
from alfred.engine.correction_question import CORRECT, choose_nodes
from alfred.engine.discard_words import find_discarded
from alfred.engine.extraction import Extraction
from alfred.engine.language_model import Usage
from alfred.engine.proposal import Proposal, proposal_id
from alfred.engine.state import (
    AlfredState,
    UiIntent,
    group,
    node_of,
    read_discarded,
    read_errors,
    read_pending_actions,
)
from alfred.engine.submission import Submission
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
    if attempt:  # what an earlier gate of this run asked for is not asked for again
        settled = await context.approvals.find_settled(
            context.user_id, context.turn_id, before=attempt
        )
        actions = [action for action in actions if action["id"] not in settled]
    if not actions:
        if state.get("correction"):
            await context.approvals.withdraw(context.user_id, context.turn_id, before=attempt)
        nothing = event("propose", "COMPLETED", "NOTHING_PROPOSED", attempt=attempt, step=_STEP)
        return {"ui_intent": None, "events": group("propose", attempt, _STEP, [nothing])}
    nodes = {node_of(action["node"]) for action in actions}
    carried = _carried(state, actions)
    proposal = await context.approvals.propose(
        Submission(
            user_id=context.user_id,
            turn_id=context.turn_id,
            message_id=context.message_id,
            attempt=attempt,
            stated_at=context.received_at,
            manifests={name: context.manifest(name).digest for name in sorted(nodes)},
            notices=read_errors(state),
            actions=carried.actions,
            rejected=carried.rejected,
        )
    )
    recorded = event("propose", "COMPLETED", "PROPOSAL_RECORDED", attempt=attempt, step=_STEP)
    return {
        "ui_intent": review_intent(proposal),
        "events": group("propose", attempt, _STEP, [recorded]),
    }


async def review(state: AlfredState, runtime: Runtime[RunContext]) -> Update:
    """Pause until the ledger says that the proposal is closed, then hand its verdicts back.

    One that is corrected in words sends the run round once more instead.
    """
    attempt = state.get("attempt", 0)
    if state.get("ui_intent") is None:
        return {"confirmations": {}, "is_corrected": False}
    context = runtime.context
    proposal = await _load(context, attempt)
    while proposal.closed_at is None and proposal.state != "corrected":
        if proposal.state == "pending":
            # On resume this line returns whatever was handed in, which only wakes the run: one
            # that was woken by another gate's answer pauses again.
            interrupt(dict(review_intent(proposal)))
        else:
            # Decided while no run waited for it: nobody else may ever come to commit it.
            await _commit(context, proposal)
        proposal = await _load(context, attempt)
    if proposal.state in ("corrected", "superseded"):
        # Superseded already where a killed process proposed anew and this run has not heard of it.
        return await _go_round(state, context, proposal)
    decided = event("review", "COMPLETED", proposal.state.upper(), attempt=attempt, step=_STEP + 1)
    return {
        "is_corrected": False,
        "confirmations": {
            str(action.id): action.state in ("approved", "committed") for action in proposal.actions
        },
        "events": group("review", attempt, _STEP + 1, [decided]),
    }


async def correct(state: AlfredState, runtime: Runtime[RunContext]) -> Update:
    """Find out which nodes a correction concerns; they are asked again, the others are not."""
    context, attempt = runtime.context, state.get("attempt", 0)
    correction = correction_of(state)
    assert correction is not None, "only a correction leads here"
    concerned: list[str] = []
    extraction: Extraction | None = None
    if correction["rest"]:
        concerned, extraction = await choose_nodes(context, correction)
    usage = extraction.usage if extraction else Usage()
    chosen = event(
        CORRECT,
        "COMPLETED",
        "NODES_CONCERNED" if concerned else "ACTIONS_NAMED",
        attempt=attempt,
        step=-1,
        milliseconds=int(extraction.seconds * 1000) if extraction else 0,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
    )
    return {
        "correction": {**correction, "concerned": concerned},
        "events": group(CORRECT, attempt, -1, [chosen]),
    }


async def finish(state: AlfredState, runtime: Runtime[RunContext]) -> Update:
    """Write down how the run ended: a finished run is told from a lost pause by this alone."""
    attempt = state.get("attempt", 0)
    if state.get("ui_intent") is not None:
        outcome: str = (await _load(runtime.context, attempt)).state
    elif state.get("reply"):
        outcome = "answered"
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


async def _go_round(state: AlfredState, context: RunContext, proposal: Proposal) -> Update:
    """Let the next attempt answer the person's words, as the ledger has them."""
    attempt = proposal.attempt
    words = await context.approvals.load_words(context.user_id, proposal.id)
    shown = shown_actions(proposal, read_pending_actions(state))
    called = {name: kind.called for name, kind in context.kinds.items()}
    meant = find_discarded(words, shown, called)
    numbers = {one["number"]: one["id"] for one in shown}
    correction = Correction(
        attempt=attempt + 1,
        words=[*spoken(state), words],
        shown=shown,
        discarded=[numbers[number] for number in sorted(meant.discarded)],
        restored=[numbers[number] for number in sorted(meant.restored)],
        rest=meant.rest,
        unclear=meant.unclear,
        concerned=[],
    )
    corrected = event("review", "COMPLETED", "CORRECTED", attempt=attempt, step=_STEP + 1)
    return {
        "attempt": attempt + 1,
        "is_corrected": True,
        "correction": correction,
        "confirmations": {},
        "events": group("review", attempt, _STEP + 1, [corrected]),
    }


def _carried(state: AlfredState, actions: list[Action]) -> CarriedOver:
    """Give the actions what the person said of those whose place they take."""
    correction = correction_of(state)
    if correction is None:
        return CarriedOver(actions=actions, rejected=frozenset())
    return carry_over(
        correction["shown"],
        actions,
        discarded={*correction["discarded"], *read_discarded(state)},
        restored=set(correction["restored"]),
    )


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
