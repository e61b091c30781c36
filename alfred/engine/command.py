"""Writes that a person asks for by a command: a turn without a graph, and the same review.

The command's words are a message like any other, its actions a proposal like any other: dry-run,
decided, committed once, with receipts. What is missing is a run to continue afterwards, so that
closing the turn is all there is left to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from alfred.engine.action import Action, action_id
from alfred.engine.approvals import Approvals
from alfred.engine.database import Database
from alfred.engine.decision_rules import Verdict
from alfred.engine.evidence import Evidence
from alfred.engine.ledger import Actor
from alfred.engine.proposal import Proposal, proposal_id
from alfred.engine.source_text import SourceText
from alfred.engine.standing import Standing
from alfred.engine.submission import Submission
from alfred.engine.trace import Event, event, store_events
from alfred.engine.turn import NewMessage, Turn, TurnState, finish_turn, new_turn, store_message
from alfred.errors import ActionRefused, ReviewRefused

COMMAND = "command"
"""The modality of a command's message, and the node that its actions name."""
_OUTCOMES = frozenset({"committed", "rejected", "expired", "superseded"})


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One action that a command asks for; rows are named by their ids."""

    kind: str
    args: Mapping[str, Any]


def is_command(proposal: Proposal) -> bool:
    """Say whether a proposal came from a command rather than from a node."""
    return all(action.node == COMMAND for action in proposal.actions)


async def propose_command(
    database: Database, approvals: Approvals, message: NewMessage, wanted: Sequence[Wanted]
) -> Proposal:
    """Store a command's words and turn, then what it asks for as a proposal that waits.

    Errors: `action.conflict` if an action cannot run as things are; the proposal is then rejected
    as a whole, so that nothing waits that could never be approved.
    """
    await store_message(database, message)
    proposal = await approvals.propose(
        Submission(
            user_id=message.user_id,
            turn_id=message.turn_id,
            message_id=message.message_id,
            attempt=0,
            stated_at=message.received_at,
            manifests={},
            notices=[],
            actions=_actions(message, wanted),
        )
    )
    unfit = [action for action in proposal.actions if not action.is_ready]
    if unfit:
        engine = Actor(user_id=message.user_id, origin="engine")
        verdicts: dict[UUID, Verdict] = {action.id: "reject" for action in proposal.actions}
        await approvals.decide(proposal.id, verdicts, seen=proposal.digest, actor=engine)
    await close_command(database, approvals, new_turn(message))
    if unfit:
        problem = unfit[0].problem
        raise ActionRefused("action.conflict", problem, hint="Nothing was written.")
    return proposal


async def close_command(database: Database, approvals: Approvals, turn: Turn) -> Standing:
    """Take a command's turn as far as its proposal is, committing what was decided.

    One that was cut off before it proposed anything is over: nothing of it was ever shown.
    Errors: `review.stale`, with the new effects in `details["proposal"]`.
    """
    proposal = await _proposal_of(approvals, turn)
    if proposal is not None and proposal.state != "pending" and proposal.closed_at is None:
        await approvals.commit(turn.user_id, proposal.id)
        proposal = await _proposal_of(approvals, turn)
    state, outcome, problem = _ending(proposal)
    await store_events(database, turn.user_id, turn.id, _events(proposal, outcome))
    await finish_turn(
        database,
        turn,
        state=state,
        domain=turn.domain,
        outcome=outcome,
        problem=problem,
    )
    return Standing(
        turn_id=turn.id,
        state=state,
        outcome=outcome,
        proposal=proposal if state == "waiting" else None,
        problems=[problem] if problem else [],
    )


def _actions(message: NewMessage, wanted: Sequence[Wanted]) -> list[Action]:
    words = SourceText(message.text)
    return [
        {
            "id": action_id(message.turn_id, COMMAND, 0, ordinal),
            "node": COMMAND,
            "kind": each.kind,
            "args": dict(each.args),
            "origins": {},
            "evidence": {name: _evidence(words, value) for name, value in each.args.items()},
            "missing": [],
        }
        for ordinal, each in enumerate(wanted)
    ]


def _evidence(words: SourceText, value: Any) -> Evidence:
    """Find a value among the command's words; what is not there is a row that was looked up."""
    span = words.find(value) if isinstance(value, str) else None
    if span is None:
        return {"support": "given", "spans": [], "quote": ""}
    quote = words.text[span["start"] : span["end"]]
    return {"support": "grounded", "spans": [span], "quote": quote}


async def _proposal_of(approvals: Approvals, turn: Turn) -> Proposal | None:
    try:
        return await approvals.load(turn.user_id, proposal_id(turn.id, 0))
    except ReviewRefused as error:
        if error.code != "review.unknown":
            raise
        return None


def _ending(proposal: Proposal | None) -> tuple[TurnState, str | None, str | None]:
    if proposal is None:
        return "failed", "refused", "The command was cut off; give it again."
    if proposal.state in _OUTCOMES:
        return "done", proposal.state, None
    return "waiting", None, None


def _events(proposal: Proposal | None, outcome: str | None) -> list[Event]:
    """Trace a command by the same steps as a run, as far as it is."""
    if proposal is None:
        return [event(COMMAND, "FAILED", "CUT_OFF", attempt=0, step=0)]
    events = [
        event(COMMAND, "COMPLETED", "ACTIONS_NAMED", attempt=0, step=0),
        event("propose", "COMPLETED", "PROPOSAL_RECORDED", attempt=0, step=1),
    ]
    if outcome is not None:
        events.append(event("review", "COMPLETED", outcome.upper(), attempt=0, step=2))
        events.append(event("finish", "COMPLETED", outcome.upper(), attempt=0, step=3))
    return events
