"""The trace of a run: one event per node attempt, never a word of what was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict
from uuid import UUID

from alfred.engine.database import Database, Role

START = "__start__"


class Event(TypedDict):
    """What one attempt of one node instance came to. `reason` is a code, never text."""

    node: str
    instance: str
    outcome: str
    reason: str
    attempt: int
    step: int
    milliseconds: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, kw_only=True)
class Transition:
    """A declared edge that the run took, with the reason its source gave."""

    source: str
    target: str
    reason: str


def event(node: str, outcome: str, reason: str, *, attempt: int, step: int, **cost: int) -> Event:
    """Make an event; `cost` may give milliseconds, prompt_tokens and completion_tokens."""
    return {
        "node": node,
        "instance": node,
        "outcome": outcome,
        "reason": reason,
        "attempt": attempt,
        "step": step,
        "milliseconds": cost.get("milliseconds", 0),
        "prompt_tokens": cost.get("prompt_tokens", 0),
        "completion_tokens": cost.get("completion_tokens", 0),
    }


def transitions(events: Sequence[Event], edges: Mapping[str, frozenset[str]]) -> list[Transition]:
    """Connect events by the graph's declared edges.

    Branches run in parallel, so that neighbours in the list need not be neighbours in the graph:
    each event is reached from the latest earlier one that has an edge to it.
    """
    taken: list[Transition] = []
    for place, current in enumerate(events):
        earlier = [e for e in events[:place] if current["node"] in edges.get(e["node"], ())]
        if earlier:
            source = earlier[-1]
            taken.append(
                Transition(source=source["node"], target=current["node"], reason=source["reason"])
            )
        elif current["node"] in edges.get(START, ()):
            taken.append(Transition(source=START, target=current["node"], reason=""))
    return taken


async def store_events(
    database: Database, user_id: UUID, turn_id: UUID, events: Sequence[Mapping[str, Any]]
) -> None:
    """Keep a run's events; those of an earlier stretch of the same run stay as they are."""
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        await connection.cursor().executemany(
            "INSERT INTO trace_event (user_id, turn_id, instance, attempt, step, node, outcome,"
            " reason, milliseconds, prompt_tokens, completion_tokens) VALUES (%(user_id)s,"
            " %(turn_id)s, %(instance)s, %(attempt)s, %(step)s, %(node)s, %(outcome)s, %(reason)s,"
            " %(milliseconds)s, %(prompt_tokens)s, %(completion_tokens)s)"
            " ON CONFLICT (user_id, turn_id, instance, attempt) DO UPDATE SET"
            " outcome = excluded.outcome, reason = excluded.reason, step = excluded.step",
            [{**e, "user_id": user_id, "turn_id": turn_id} for e in events],
        )


async def read_trace(database: Database, user_id: UUID, turn_id: UUID) -> list[Event]:
    """Read a turn's events in the order of their steps."""
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        cursor = await connection.execute(
            "SELECT node, instance, outcome, reason, attempt, step, milliseconds, prompt_tokens,"
            " completion_tokens FROM trace_event WHERE turn_id = %s ORDER BY attempt, step, at",
            (turn_id,),
        )
        return [Event(**row) for row in await cursor.fetchall()]
