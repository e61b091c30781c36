"""The trace of a run: one event per node attempt, never a word of what was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString, TypedDict
from uuid import UUID

from psycopg.types.json import Jsonb

from alfred.engine.database import Connection, Database, Role

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
    each event is reached from the latest earlier one that has an edge to it. Instances of a node
    that ran side by side were reached once.
    """
    taken: list[Transition] = []
    reached: set[tuple[str, int, int]] = set()
    for place, current in enumerate(events):
        visit = current["node"], current["attempt"], current["step"]
        if visit in reached:
            continue
        reached.add(visit)
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
        await write_events(connection, user_id, turn_id, events)


async def write_events(
    connection: Connection, user_id: UUID, turn_id: UUID, events: Sequence[Mapping[str, Any]]
) -> None:
    """Do what `store_events` does in a caller's transaction."""
    values = {"user_id": user_id, "turn_id": turn_id, "events": event_values(events)}
    await connection.execute(EVENTS, values)


def event_values(events: Sequence[Mapping[str, Any]]) -> Jsonb:
    """Give the parameter `events` of `EVENTS`: the last of each instance and attempt."""
    latest = {(each["instance"], each["attempt"]): each for each in events}
    return Jsonb([dict(each) for each in latest.values()])


EVENTS: LiteralString = """
    INSERT INTO trace_event (user_id, turn_id, instance, attempt, step, node, outcome, reason,
        milliseconds, prompt_tokens, completion_tokens)
    SELECT %(user_id)s, %(turn_id)s, instance, attempt, step, node, outcome, reason, milliseconds,
        prompt_tokens, completion_tokens
    FROM jsonb_to_recordset(%(events)s) AS event (instance text, attempt integer, step integer,
        node text, outcome text, reason text, milliseconds integer, prompt_tokens integer,
        completion_tokens integer)
    ON CONFLICT (user_id, turn_id, instance, attempt) DO UPDATE SET
        outcome = excluded.outcome, reason = excluded.reason, step = excluded.step
"""


async def read_trace(database: Database, user_id: UUID, turn_id: UUID) -> list[Event]:
    """Read a turn's events in the order of their steps."""
    async with database.transaction(Role.RUNTIME, user_id) as connection:
        cursor = await connection.execute(
            "SELECT node, instance, outcome, reason, attempt, step, milliseconds, prompt_tokens,"
            " completion_tokens FROM trace_event WHERE turn_id = %s ORDER BY attempt, step, at",
            (turn_id,),
        )
        return [Event(**row) for row in await cursor.fetchall()]
