"""Runs the machine on a thread of its own, step by step, from where it was cut off."""

# LangGraph leaves type parameters of its builders open; what goes in and out is typed here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langsmith import tracing_context

from alfred.graphs.diagnosis.factory import Compiled
from alfred.graphs.diagnosis.state import DiagnosisState, State
from alfred.nodes.diagnosis_context import DiagnosisContext
from alfred.store.checkpoints import run_user

OnStep = Callable[[State], Awaitable[None]]
Result = TypeVar("Result")


async def run_machine(
    graph: Compiled,
    initial: DiagnosisState,
    context: DiagnosisContext,
    on_step: OnStep,
    on_start: Callable[[str], None],
) -> State:
    """Run a diagnosis to its end and return its last state.

    Its thread is its own, since the turn around it has the run's id for one. A run that was cut
    off goes on behind its last finished step; one that has ended is not run again. `on_start` hears
    the name of each step that begins, `on_step` the state at the beginning, as it is held, and
    after each step. Every step is stored before the next begins.
    """
    config: RunnableConfig = {"configurable": {"thread_id": f"{initial.get('run_id')}/machine"}}
    held = await graph.aget_state(config)
    if held.metadata and not held.next:
        state = cast("State", held.values)
        await on_step(state)
        return state
    state: State = initial
    async for mode, values in graph.astream(
        None if held.metadata else initial,
        config,
        context=context,
        stream_mode=["values", "tasks"],
        durability="sync",
    ):
        told = cast("State", values)
        if mode == "values":
            state = told
            await on_step(state)
        elif "input" in told:  # a task is told twice, with its input and with its result
            on_start(told["name"])
    return state


async def detached(work: Coroutine[Any, Any, Result], user_id: UUID) -> Result:
    """Run work beside the graph whose step this is, with checkpoints of its own.

    LangGraph finds the graph around a step in the task's context and would take what runs inside
    for a part of it: one thread, one checkpoint at the end. A context of its own has none of that.
    """
    return await asyncio.create_task(_alone(work, user_id), context=Context())


async def _alone(work: Coroutine[Any, Any, Result], user_id: UUID) -> Result:
    run_user.set(user_id)
    with tracing_context(enabled=False):
        return await work
