"""What a run knows of its proposals without asking the ledger again.

Only what cannot be otherwise is remembered: a proposal that the run itself recorded, until the run
pauses for it, and one that is closed. Outside a run nothing is.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from uuid import UUID

from alfred.engine.proposal import Proposal

_known: ContextVar[dict[UUID, Proposal] | None] = ContextVar("known_proposals", default=None)


@contextmanager
def remembering() -> Generator[None]:
    """Remember proposals while the block runs, in this task and those it starts."""
    if _known.get() is not None:
        yield
        return
    token = _known.set({})
    try:
        yield
    finally:
        _known.reset(token)


def remember(proposal: Proposal) -> None:
    """Keep a proposal that was just recorded, or one that is closed."""
    known = _known.get()
    if known is not None:
        known[proposal.id] = proposal


def recall(user_id: UUID, proposal_id: UUID) -> Proposal | None:
    """Return a remembered proposal of this user."""
    found = (_known.get() or {}).get(proposal_id)
    return found if found is not None and found.user_id == user_id else None


def forget(proposal_id: UUID) -> None:
    """Let the next one who asks read the ledger."""
    (_known.get() or {}).pop(proposal_id, None)
