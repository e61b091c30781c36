"""What an AG-UI client answers a review's interrupt with: verdicts, or what is wrong in words."""

from __future__ import annotations

from typing import Any

from alfred.engine.proposal import Proposal, ProposedAction


def answer_schema(proposal: Proposal) -> dict[str, Any]:
    """Describe the answers to a proposal as JSON Schema, so that a client can make a form of it.

    The digest is that of what is shown: an answer to anything else is refused.
    """
    digest = {"type": "string", "const": proposal.digest}
    pending = proposal.in_state("pending")
    decision = {
        "title": "Decide",
        "type": "object",
        "properties": {
            "digest": digest,
            "verdicts": {
                "type": "object",
                "properties": {str(action.id): _verdicts(action) for action in pending},
                "additionalProperties": False,
            },
            "rest": {
                "enum": ["approve", "reject"],
                "description": "For every action without a verdict; only what is complete and"
                " rests on the source is approved by it.",
            },
        },
        "required": ["digest"],
        "additionalProperties": False,
    }
    correction = {
        "title": "Correct in words",
        "type": "object",
        "properties": {"digest": digest, "words": {"type": "string", "minLength": 1}},
        "required": ["digest", "words"],
        "additionalProperties": False,
    }
    return {"oneOf": [decision, correction]}


def _verdicts(action: ProposedAction) -> dict[str, Any]:
    """Name the verdicts that are possible: only what is ready can be approved.

    The title begins with the action's number, since JSON keeps no order.
    """
    possible = ["approve", "reject"] if action.status == "ready" else ["reject"]
    return {"title": f"{action.ordinal}. {action.kind}", "enum": possible}
