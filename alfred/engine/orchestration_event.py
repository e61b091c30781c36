"""What one attempt of one step of a machine came to, as the run's state carries it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, cast

from alfred.errors import GraphInvalid

FIELDS = ("node", "outcome", "reason_code", "attempt")


class OrchestrationEvent(TypedDict):
    """Which node, how it ended, why the run went on as it did. No payload, no word of a user.

    `attempt` counts the node's executions in this run, from 1.
    """

    node: str
    outcome: str
    reason_code: str
    attempt: int


def make_event(node: str, outcome: str, reason_code: str, attempt: int) -> OrchestrationEvent:
    """Make an event; errors: `graph.event` for a blank word or an attempt below 1."""
    return read_event(
        {"node": node, "outcome": outcome, "reason_code": reason_code, "attempt": attempt}
    )


def read_event(given: Any) -> OrchestrationEvent:
    """Take a value for an event, or say what is wrong with it.

    Errors: `graph.event` for anything but a mapping of exactly the four fields.
    """
    if not isinstance(given, Mapping):
        raise _refused(f"expected a mapping, got {type(given).__name__}")
    fields = cast("Mapping[str, Any]", given)
    if set(fields) != set(FIELDS):
        raise _refused(f"expected {', '.join(FIELDS)}, got {', '.join(map(str, fields))}")
    for name in FIELDS[:3]:
        if not isinstance(fields[name], str) or not fields[name].strip():
            raise _refused(f"{name} is {fields[name]!r}, not a word")
    attempt = fields["attempt"]
    if not isinstance(attempt, int) or isinstance(attempt, bool) or attempt < 1:
        raise _refused(f"attempt is {attempt!r}; it counts from 1")
    return OrchestrationEvent(
        node=fields["node"],
        outcome=fields["outcome"],
        reason_code=fields["reason_code"],
        attempt=attempt,
    )


def append_events(held: list[OrchestrationEvent], added: Any) -> list[OrchestrationEvent]:
    """Append to a run's events; one that is held already is not taken twice.

    A graph hands its whole state back to a graph around it, which would double what both hold.
    Errors: `graph.event` for what is no list of events.
    """
    if not isinstance(added, list):
        raise _refused(f"expected a list of them, got {type(added).__name__}")
    events = map(read_event, cast("list[Any]", added))
    return [*held, *(event for event in events if event not in held)]


def _refused(problem: str) -> GraphInvalid:
    return GraphInvalid(
        "graph.event",
        f"An event of a run can't be used: {problem}.",
        hint="Only the wrapper of a node writes events.",
    )
