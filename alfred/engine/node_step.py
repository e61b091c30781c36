"""Telling that a node of a graph begins and ends, to whoever follows a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime

from alfred.engine.context import NodeStep, RunContext
from alfred.engine.state import AlfredState

Step = Callable[[AlfredState, Runtime[RunContext]], Awaitable[dict[str, Any]]]


@dataclass
class Reached:
    """What a step came to; None where it paused, was cut off or has no event."""

    reason: str | None = None

    def by(self, update: Mapping[str, Any], node: str) -> None:
        """Take the reason from the event that the step's update carries, if it does."""
        held = update.get("events", {}).get(node)
        self.reason = held["values"][-1]["reason"] if held else None


@contextmanager
def told_step(context: RunContext, node: str) -> Generator[Reached]:
    """Tell that a node begins, and, however the block is left, that it ended."""
    context.on_progress(NodeStep(node=node, state="started"))
    reached = Reached()
    try:
        yield reached
    finally:
        context.on_progress(NodeStep(node=node, state="finished", reason=reached.reason))


def told(node: str, step: Step) -> Step:
    """Let a step of a graph tell when it begins and ends."""

    async def telling(state: AlfredState, runtime: Runtime[RunContext]) -> dict[str, Any]:
        with told_step(runtime.context, node) as reached:
            update = await step(state, runtime)
            reached.by(update, node)
            return update

    telling.__name__ = node
    return telling
