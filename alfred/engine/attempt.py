"""The wrapper around each step of a machine: it alone writes statuses, counters and events.

A step's own code (its port) reads what it declares and returns what it found. Whether it failed,
how often it ran and what happens next is decided here, by pure functions that the edges and the
proof use too.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, cast

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from alfred.engine.failure_status import failure_status
from alfred.engine.orchestration_event import OrchestrationEvent, make_event
from alfred.errors import GraphInvalid, LoopExhausted

log = logging.getLogger("alfred")

State = Mapping[str, Any]
Update = dict[str, Any]
Merge = Callable[[Any, Any], Any]


class Port(Protocol):
    """What a step does: from the part of the state that it may read to what it found."""

    def __call__(
        self, view: State, config: RunnableConfig, runtime: Runtime[Any]
    ) -> Awaitable[Mapping[str, Any]]: ...


class Decision(NamedTuple):
    """Where the run goes from here, and the code that says why."""

    route: str
    reason: str


Decide = Callable[[str, State], Decision]

DEEPEST_VALUE = 100
"""How many levels a value may have; a checkpoint's format holds no more than a few hundred."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One node of a machine.

    `reads` is all that its port sees, as a copy. `writes` is all that its port may write: what it
    leaves out is cleared, so that nothing of an earlier attempt is taken for this one's. `status`
    is the key among them that says how it ended, one of `statuses`; a step without one always goes
    on.
    `control` gives the counters and resets that follow from the state before the step.
    `merge` joins what was held with what was written, for keys that grow.
    """

    node: str
    reads: frozenset[str]
    writes: frozenset[str]
    entries: int
    status: str | None = None
    statuses: frozenset[str] = frozenset()
    control: Callable[[State], Update] = lambda _: {}
    merge: Mapping[str, Merge] = field(default_factory=dict[str, Merge])


def settle(
    step: Step, before: State, given: Mapping[str, Any], decide: Decide, *, events: str
) -> Update:
    """Turn what a port returned into the update of the state, its event included. Pure.

    Shapes: `given` is plain JSON; `events` names the key that holds the run's events.
    """
    written = {key: given.get(key) for key in step.writes}
    for key, join in step.merge.items():
        written[key] = join(before.get(key), written[key])
    update = {**written, **step.control(before)}
    happened = entered(before, step.node, events=events) + 1
    reason = decide(step.node, {**before, **update}).reason
    event = make_event(step.node, _outcome(step, update, given), reason, happened)
    return {**update, events: [event]}


def entered(state: State, node: str, *, events: str) -> int:
    """Count how often a node has run so far."""
    held = cast("list[OrchestrationEvent]", state.get(events) or [])
    return sum(1 for event in held if event["node"] == node)


def attempted(
    step: Step, port: Port, decide: Decide, *, events: str
) -> Callable[[Any, RunnableConfig, Runtime[Any]], Awaitable[Update]]:
    """Wrap a port for a graph: bounded entries, failures as statuses, one event per attempt."""

    async def node(state: State, config: RunnableConfig, runtime: Runtime[Any]) -> Update:
        if entered(state, step.node, events=events) >= step.entries:
            raise LoopExhausted(
                "graph.budget",
                f"The node {step.node!r} was to run more than {step.entries} times.",
                hint="A guard of the graph lets through what it should stop.",
            )
        try:
            # A copy: what a port does to its view must not reach the state behind its event's back.
            view = deepcopy({key: state[key] for key in step.reads if key in state})
            given = _checked(step, await port(view, config, runtime))
        except GraphBubbleUp:  # a pause or a cancelled run is no failure of the step
            raise
        except Exception as error:  # whatever a port meets has a route; see docs/adr/0019
            log.warning(
                "%s failed: %s", step.node, type(error).__name__, extra={"action": "attempt.failed"}
            )
            given = {step.status or FAILED_WITHOUT_STATUS: _failed(step, error)}
        return settle(step, state, given, decide, events=events)

    node.__name__ = f"{step.node}_step"
    return node


FAILED_WITHOUT_STATUS = "__failed__"
"""Marks the failure of a step that has no status; it is told in the event alone."""


def _checked(step: Step, given: Any) -> Mapping[str, Any]:
    """Refuse what a port has no business to write: counters, events, others' values."""
    if not isinstance(given, Mapping):
        raise GraphInvalid(
            "graph.port", f"{step.node} returned {type(given).__name__}, not a mapping of values."
        )
    fields = cast("Mapping[str, Any]", given)
    if foreign := sorted(set(fields) - step.writes):
        raise GraphInvalid(
            "graph.port",
            f"{step.node} returned {', '.join(map(repr, foreign))}, which it may not write.",
            hint=f"It may write {', '.join(sorted(step.writes))}.",
        )
    return _as_json(step, fields)


def _as_json(step: Step, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Copy values as plain JSON, an enum's member as the text or number that it stands for.

    What a checkpoint cannot hold is refused here, where it has a route, and not when it is saved.
    """
    try:
        text = json.dumps(dict(fields), allow_nan=False)
        values: dict[str, Any] = json.loads(text, parse_int=_held_int)
        if _depth(values) > DEEPEST_VALUE:
            raise ValueError(f"more than {DEEPEST_VALUE} levels")
    except (TypeError, ValueError, RecursionError) as exc:
        raise GraphInvalid(
            "graph.port",
            f"{step.node} returned what is no plain JSON: {exc}.",
            hint="Give text, numbers of at most 64 bits, booleans, null, lists and mappings.",
        ) from exc
    return values


def _held_int(digits: str) -> int:
    number = int(digits)
    if not -(2**63) <= number < 2**63:
        raise ValueError("an integer of more than 64 bits")
    return number


def _depth(value: Any) -> int:
    inner: Iterable[Any] = ()
    if isinstance(value, dict):
        inner = cast("dict[str, Any]", value).values()
    elif isinstance(value, list):
        inner = cast("list[Any]", value)
    return 1 + max(map(_depth, inner), default=0)


def _failed(step: Step, error: Exception) -> str:
    """Judge a failure in the words of the step: one that is never tried again has just failed."""
    status = failure_status(error)
    return status if status in step.statuses else "FAILED"


def _outcome(step: Step, update: Update, given: Mapping[str, Any]) -> str:
    if step.status is None:
        return str(given.get(FAILED_WITHOUT_STATUS, "COMPLETED"))
    status = update[step.status]
    return status if isinstance(status, str) and status in step.statuses else "UNKNOWN"
