"""How far a turn is."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from alfred.engine.proposal import Proposal
from alfred.engine.turn import TurnState


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far a turn is: finished with an outcome, or waiting for a decision on a proposal."""

    turn_id: UUID
    state: TurnState
    outcome: str | None
    proposal: Proposal | None
    problems: list[str]
    reply: str | None = None
    """What the domain answered in words."""
