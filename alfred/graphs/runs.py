"""Drives a turn's graph as far as it goes without a person; safe to repeat from any crash."""

# LangGraph leaves type parameters of its builders open; what goes in and out is typed here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot
from langsmith import tracing_context

from alfred.engine.approvals import Approvals
from alfred.engine.context import RunContext
from alfred.engine.database import Connection, Database, Role
from alfred.engine.proposal import Proposal
from alfred.engine.skill_input import SkillInput
from alfred.engine.state import AlfredState, read_errors, read_events
from alfred.engine.trace import store_events
from alfred.engine.turn import Turn, TurnState, finish_turn, load_turn
from alfred.errors import ReviewRefused, StoreFailed
from alfred.store.checkpoints import run_user

PATIENCE_S = 60.0
"""How long a turn that another process runs is waited for; a model needs half a minute."""
_BETWEEN_TRIES_S = 0.1


class Sessions(Database, Protocol):
    """Database access that also lends a connection outside any transaction."""

    def autocommit(self, role: Role, user_id: UUID) -> AbstractAsyncContextManager[Connection]: ...


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far a turn is: finished with an outcome, or waiting for a decision on a proposal."""

    turn_id: UUID
    state: TurnState
    outcome: str | None
    proposal: Proposal | None
    problems: list[str]


@dataclass(frozen=True, kw_only=True)
class Starting:
    """How a run begins: from a stored turn, which a repeat finds unchanged."""

    read_input: Callable[[Turn], SkillInput]
    make_context: Callable[[Turn], RunContext]


class Runs:
    """Starts, continues and resumes runs; one LangGraph thread per turn."""

    def __init__(
        self,
        sessions: Sessions,
        approvals: Approvals,
        graph: CompiledStateGraph[Any, Any, Any, Any],
        starting: Starting,
        *,
        recursion_limit: int,
    ) -> None:
        self._sessions = sessions
        self._approvals = approvals
        self.graph = graph
        self._starting = starting
        self._recursion_limit = recursion_limit

    async def advance(
        self, user_id: UUID, turn_id: UUID, *, patience_s: float = PATIENCE_S
    ) -> Standing:
        """Run a turn up to its review, or from a decided review to its end.

        Where another process runs the turn just now, this one waits for it and finds it done.
        Units: `patience_s` in seconds, 0 for not waiting.
        Errors: `store.busy` if another process still runs this turn; `review.paused_elsewhere` if
        the pause was lost with a renamed node; `review.stale` if a due commit finds changed rows.
        """
        token = run_user.set(user_id)
        try:
            # LangGraph would send the words to LangSmith wherever its variables are set for another
            # program; what leaves the machine is the user's choice of a model, and nothing else.
            async with self._alone(user_id, turn_id, patience_s):
                with tracing_context(enabled=False):
                    return await self._run(user_id, turn_id)
        finally:
            run_user.reset(token)

    async def _run(self, user_id: UUID, turn_id: UUID) -> Standing:
        async with self._sessions.transaction(Role.RUNTIME, user_id) as connection:
            turn = await load_turn(connection, turn_id)
        return await self._advance(turn)

    async def _advance(self, turn: Turn) -> Standing:
        context = self._starting.make_context(turn)
        options: dict[str, Any] = {"context": context, "durability": "exit"}
        config = self._config(turn)
        snapshot = await self.graph.aget_state(config)
        if not snapshot.metadata:
            # No checkpoint: the run is new, or was killed before its first pause. The journal
            # answers what was already asked.
            await self.graph.ainvoke(self._first(turn), config, **options)
        elif snapshot.interrupts:
            proposal_id = UUID(snapshot.interrupts[0].value["proposal_id"])
            proposal = await self._approvals.load(turn.user_id, proposal_id)
            if proposal.state == "pending":
                return await self._record(turn, _state(snapshot), proposal)
            if proposal.state == "approved" or proposal.closed_at is None:
                await self._approvals.commit(turn.user_id, proposal_id)
            wake = Command(resume={snapshot.interrupts[0].id: True})
            await self.graph.ainvoke(wake, config, **options)
        elif snapshot.next:
            await self.graph.ainvoke(None, config, **options)
        elif snapshot.values.get("outcome") is None:
            raise ReviewRefused(
                "review.paused_elsewhere",
                f"Turn {turn.id} waits at a step that this version of the graph does not have.",
                hint="The proposal can still be read; capture the text again to decide it.",
            )
        return await self._settle(turn)

    async def _settle(self, turn: Turn) -> Standing:
        """Read where the run stopped; a pause whose proposal is decided meanwhile goes on."""
        snapshot = await self.graph.aget_state(self._config(turn))
        if not snapshot.interrupts:
            return await self._record(turn, _state(snapshot), None)
        proposal_id = UUID(snapshot.interrupts[0].value["proposal_id"])
        proposal = await self._approvals.load(turn.user_id, proposal_id)
        if proposal.state == "pending":
            return await self._record(turn, _state(snapshot), proposal)
        return await self._advance(turn)

    async def _record(self, turn: Turn, values: AlfredState, proposal: Proposal | None) -> Standing:
        outcome = values.get("outcome")
        problems = read_errors(values)
        state: TurnState = "waiting"
        if proposal is None:
            state = "failed" if outcome == "failed" else "done"
        await store_events(self._sessions, turn.user_id, turn.id, read_events(values))
        await finish_turn(
            self._sessions,
            turn,
            state=state,
            domain=values.get("domain"),
            outcome=outcome,
            problem="; ".join(problems) or None,
        )
        return Standing(
            turn_id=turn.id, state=state, outcome=outcome, proposal=proposal, problems=problems
        )

    def _first(self, turn: Turn) -> AlfredState:
        return {
            "input": self._starting.read_input(turn),
            "chat_message_id": str(turn.message_id),
            "thread_id": str(turn.thread_id),
            "turn_id": str(turn.id),
            "memory_context": [],
            "confirmations": {},
            "attempt": 0,
        }

    def _config(self, turn: Turn) -> RunnableConfig:
        return {
            "configurable": {"thread_id": str(turn.id)},
            "recursion_limit": self._recursion_limit,
        }

    @asynccontextmanager
    async def _alone(self, user_id: UUID, turn_id: UUID, patience_s: float) -> AsyncGenerator[None]:
        """Hold the turn's lock: two resumes at once would both run the tail."""
        key = f"turn/{turn_id}"
        give_up_at = time.monotonic() + patience_s
        async with self._sessions.autocommit(Role.RUNTIME, user_id) as connection:
            while not await _locked(connection, key):
                if time.monotonic() < give_up_at:
                    await asyncio.sleep(_BETWEEN_TRIES_S)
                    continue
                raise StoreFailed(
                    "store.busy",
                    f"Another process is running turn {turn_id}.",
                    hint="Wait for it; `alfred pending` shows when it is done.",
                )
            try:
                yield
            finally:
                await connection.execute(
                    "SELECT pg_advisory_unlock(hashtextextended(%s, 1))", (key,)
                )


def _state(snapshot: StateSnapshot) -> AlfredState:
    return cast(AlfredState, snapshot.values)


async def _locked(connection: Connection, key: str) -> bool:
    cursor = await connection.execute(
        "SELECT pg_try_advisory_lock(hashtextextended(%s, 1)) AS locked", (key,)
    )
    row = await cursor.fetchone()
    return bool(row and row["locked"])
