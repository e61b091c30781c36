"""Runs one node on its input, item by item, and makes the update of the graph's state."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from alfred.engine.chunking import MAX_CHUNKS
from alfred.engine.concurrency import CallLimit, in_order
from alfred.engine.context import RunContext
from alfred.engine.division import divide
from alfred.engine.excerpt import opening
from alfred.engine.hooks import Hooks, Skip
from alfred.engine.node_attempt import Result, Task, attempt_item, said_of
from alfred.engine.node_reading import total
from alfred.engine.node_step import told_step
from alfred.engine.state import AlfredState, group, instance_name, instances_of
from alfred.engine.trace import event

__all__ = ["Hooks", "Skip", "Update", "node_entry", "run_node"]

Update = dict[str, Any]
Entry = Callable[[AlfredState, RunnableConfig, Runtime[RunContext]], Awaitable[Update]]
MakeHooks = Callable[[AlfredState, RunContext], Awaitable[Hooks]]


def node_entry(name: str, hooks: Hooks | MakeHooks | None = None) -> Entry:
    """Make the function that a graph registers for a node.

    Hooks that rest on what other nodes left in the state are made anew for each attempt.
    """
    chosen = hooks or Hooks()

    async def entry(
        state: AlfredState, config: RunnableConfig, runtime: Runtime[RunContext]
    ) -> Update:
        step = int(config.get("metadata", {}).get("langgraph_step", 0))
        with told_step(runtime.context, name) as reached:
            own = chosen if isinstance(chosen, Hooks) else await chosen(state, runtime.context)
            update = await run_node(name, state, runtime.context, own, step=step)
            reached.by(update, name)
            return update

    entry.__name__ = f"{name}_node"
    return entry


async def run_node(
    name: str, state: AlfredState, context: RunContext, hooks: Hooks, *, step: int
) -> Update:
    """Run a node and return its update: its answers, its proposed actions, its events.

    An input that holds several items is read by an instance of the node for each: `name`,
    `name/2` and so on. One that fails keeps none of the others from its actions. An instance of
    an earlier attempt that this one has no item for is left with nothing.
    """
    attempt = state.get("attempt", 0)
    results = await _results(name, state, context, hooks)
    kept = ("pending_actions", "errors", "events", "extracted", "answers", "discarded")
    update: Update = {name: {} for name in kept}
    for instance in dict.fromkeys([*results, *instances_of(state, name)]):
        result, milliseconds = results.get(instance, (_GONE, 0))
        happened = event(
            name,
            result.outcome,
            result.reason,
            attempt=attempt,
            step=step,
            milliseconds=milliseconds,
            prompt_tokens=result.usage.prompt_tokens,
            completion_tokens=result.usage.completion_tokens,
        )
        happened["instance"] = instance
        update["pending_actions"] |= group(instance, attempt, step, list(result.actions))
        update["errors"] |= group(instance, attempt, step, list(result.errors))
        update["events"] |= group(instance, attempt, step, [happened])
        update["extracted"] |= group(instance, attempt, step, result.out or {})
        update["discarded"] |= group(instance, attempt, step, list(result.discarded))
        if result.held is not None:
            update["answers"] |= group(instance, attempt, step, result.held)
    return update


_GONE = Result(outcome="SKIPPED", reason="NO_ITEM")
_Timed = tuple[Result, int]
"""A result and the milliseconds it took."""


async def _results(
    name: str, state: AlfredState, context: RunContext, hooks: Hooks
) -> dict[str, _Timed]:
    """Run every instance, at once as far as the model allows; a node always has a first one."""
    if not hooks.gate(state, context):
        return {name: (Result(outcome="SKIPPED", reason="GATE_CLOSED"), 0)}
    given = state.get("input")
    if given is None:
        nothing = Result(outcome="FAILED", reason="NO_INPUT", errors=("There is no input.",))
        return {name: (nothing, 0)}
    manifest = context.manifest(name)
    began = time.monotonic()
    division = await divide(given, manifest, context)
    dividing_ms = _milliseconds_since(began)
    calls = CallLimit(lambda: context.model.parallel_calls)
    count = len(division.items)
    tasks = {
        instance_name(name, number): Task(
            manifest=manifest,
            context=context,
            hooks=hooks,
            instance=instance_name(name, number),
            item=item,
            calls=calls,
            max_chunks=max(1, MAX_CHUNKS // count),
        )
        for number, item in enumerate(division.items, start=1)
    }
    done = await in_order(_timed(task, state) for task in tasks.values())
    results = dict(zip(tasks, done, strict=True))
    if count > 1:
        results = {
            instance: (said_of(result, _called(number, count, tasks[instance])), milliseconds)
            for number, (instance, (result, milliseconds)) in enumerate(results.items(), start=1)
        }
    first, milliseconds = results[name]
    results[name] = (
        replace(
            first,
            errors=(*division.notes, *first.errors),
            usage=total([division.usage, first.usage]),
        ),
        milliseconds + dividing_ms,
    )
    return results


async def _timed(task: Task, state: AlfredState) -> _Timed:
    began = time.monotonic()
    result = await attempt_item(task, state)
    return result, _milliseconds_since(began)


def _milliseconds_since(began: float) -> int:
    return int((time.monotonic() - began) * 1000)


def _called(number: int, count: int, task: Task) -> str:
    """Name an item by its place and its first own words."""
    excerpt = task.item.excerpt
    own = excerpt.spans[-1]
    return f"{number} of {count} (“{opening(excerpt.source[own['start'] : own['end']])}”)"
