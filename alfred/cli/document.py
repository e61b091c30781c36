"""Proposals and turns as plain documents, for `--json` and for the preview alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alfred.engine.proposal import Proposal, ProposedAction
from alfred.engine.trace import Event, Transition
from alfred.engine.turn import Turn

if TYPE_CHECKING:
    from alfred.diagnoses import AlertTaken


def proposal_document(proposal: Proposal) -> dict[str, Any]:
    """Describe a proposal completely: actions, arguments, evidence, effects."""
    return {
        "proposal": proposal.id,
        "turn": proposal.turn_id,
        "state": proposal.state,
        "revision": proposal.revision,
        "digest": proposal.digest,
        "expires_at": proposal.expires_at,
        "notices": list(proposal.notices),
        "actions": [action_document(proposal, action) for action in proposal.actions],
    }


def action_document(proposal: Proposal, action: ProposedAction) -> dict[str, Any]:
    """Describe one action; `depends_on` names the ordinals of those it falls with."""
    parents = [a.ordinal for a in proposal.actions if a.id in action.depends_on]
    return {
        "id": action.id,
        "ordinal": action.ordinal,
        "kind": action.kind,
        "node": action.node,
        "state": action.state,
        "status": action.status,
        "ticked": action.is_tickable,
        "problem": action.problem,
        "missing": list(action.missing),
        "depends_on": parents,
        "args": dict(action.args),
        "evidence": dict(action.evidence),
        "effects": list(action.effects),
    }


def turn_document(turn: Turn) -> dict[str, Any]:
    """Describe a turn without repeating its words."""
    return {
        "turn": turn.id,
        "state": turn.state,
        "outcome": turn.outcome,
        "domain": turn.domain,
        "source": turn.source,
        "received_at": turn.received_at,
        "problem": turn.problem,
    }


def trace_document(
    turn: Turn, events: list[Event], transitions: list[Transition]
) -> dict[str, Any]:
    """Describe a run's path."""
    return {
        **turn_document(turn),
        "events": events,
        "transitions": [
            {"from": t.source, "to": t.target, "reason_code": t.reason} for t in transitions
        ],
    }


def taken_document(taken: AlertTaken) -> dict[str, Any]:
    """Describe what became of an alert."""
    return {
        "alert": taken.alert.name,
        "fingerprint": taken.alert.fingerprint,
        "run": taken.turn_id,
        "is_new": taken.is_new,
    }
