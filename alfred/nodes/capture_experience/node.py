"""When `capture_experience` has something to read: only where its own match rules fire."""

from __future__ import annotations

from alfred.engine.context import RunContext
from alfred.engine.state import AlfredState


def tells_experience(state: AlfredState, _: RunContext) -> bool:
    """Say whether the user speaks of what they did; a plain posting then costs no second call."""
    return "capture_experience" in state.get("matched", [])
