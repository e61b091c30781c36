"""Drives a turn's graph as far as it goes without a person; safe to repeat from any crash."""

# LangGraph leaves type parameters of its builders open; what goes in and out is typed here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.types import INTERRUPT
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, GraphOutput, StateSnapshot
from langsmith import tracing_context

from alfred.engine.approvals import Approvals
from alfred.engine.context import RunContext
from alfred.engine.database import Database, Role
from alfred.engine.journal import NewTurnJournal
from alfred.engine.proposal import Proposal
from alfred.engine.run_memory import remembering
from alfred.engine.skill_input import SkillInput
from alfred.engine.standing import Standing
from alfred.engine.state import AlfredState, read_errors, read_events
from alfred.engine.turn import (
    NewMessage,
    Turn,
    TurnEnd,
    TurnState,
    load_turn,
    new_turn,
    store_message,
    write_end,
)
from alfred.errors import ReviewRefused, StoreFailed
from alfred.store.checkpoints import RunCheckpoints, run_checkpoints, run_user

log = logging.getLogger("alfred")

PATIENCE_S = 60.0
"""How long a turn that another process runs is waited for; a model needs half a minute."""


class Sessions(Database, Protocol):
    """Database access with locks that every process sees; False where another keeps one."""

    def lock(self, name: str, *, patience_s: float) -> AbstractAsyncContextManager[bool]: ...


@dataclass(frozen=True, kw_only=True)
class Starting:
    """How a run begins: from a stored turn, which a repeat finds unchanged.

    `complete` fetches first what a message only names; it may refuse with `InputRefused`.
    """

    complete: Callable[[Turn], Awaitable[Turn]]
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
        the step that waits was renamed and its proposal is not decided; `review.stale` if a due
        commit finds changed rows.
        """
        async with self._alone(user_id, turn_id, patience_s):
            turn = await self._load(user_id, turn_id)
            return await self._advance(await self._starting.complete(turn))

    async def _load(self, user_id: UUID, turn_id: UUID) -> Turn:
        """Read a turn, and its checkpoint in the same transaction for whoever asks next."""
        async with self._sessions.transaction(Role.RUNTIME, user_id) as connection:
            turn = await load_turn(connection, turn_id)
            with _checkpoints().reading(connection):
                await self._saver.aget_tuple(self._config(turn_id))
        return turn

    async def start(self, message: NewMessage, given: SkillInput | None) -> Standing:
        """Store a message and run its turn up to its review; `given` is it as read, if it was.

        The lock is taken first: nobody else can have begun the turn, so that nothing is looked up.
        Errors: as `advance`.
        """
        async with self._alone(message.user_id, message.turn_id, PATIENCE_S):
            if not await store_message(self._sessions, message):
                turn = await self._load(message.user_id, message.turn_id)
                return await self._advance(await self._starting.complete(turn))
            turn = await self._starting.complete(new_turn(message))
            context = self._starting.make_context(turn)
            context = replace(context, journal=NewTurnJournal(context.journal))
            _checkpoints().is_new = True
            first = await self._first(turn, given)
            return await self._settle(turn, await self._invoke(turn, first, context))

    async def _advance(self, turn: Turn) -> Standing:
        context = self._starting.make_context(turn)
        config = self._config(turn.id)
        snapshot = await self.graph.aget_state(config)
        if not snapshot.metadata:
            # No checkpoint: the run is new, or was killed before its first pause. The journal
            # answers what was already asked.
            reached = await self._invoke(turn, await self._first(turn), context)
        elif snapshot.interrupts:
            proposal_id = UUID(snapshot.interrupts[0].value["proposal_id"])
            proposal = await self._approvals.load(turn.user_id, proposal_id)
            if proposal.state == "pending":
                return await self._record(turn, _state(snapshot), proposal)
            if proposal.state != "corrected" and proposal.closed_at is None:
                await self._approvals.commit(turn.user_id, proposal_id)
            wake = Command(resume={snapshot.interrupts[0].id: True})
            reached = await self._invoke(turn, wake, context)
        elif snapshot.next:
            reached = await self._invoke(turn, None, context)
        elif pause := await self._lost_pause(config):
            return await self._end_without_graph(turn, _state(snapshot), pause)
        elif snapshot.values.get("outcome") is None:
            raise _lost(turn)
        else:
            return await self._record(turn, _state(snapshot), None)
        return await self._settle(turn, reached)

    async def _invoke(
        self, turn: Turn, given: AlfredState | Command[Any] | None, context: RunContext
    ) -> GraphOutput[AlfredState]:
        """Run the graph until it stops; return the state it reached, with what it pauses for."""
        try:
            return await self.graph.ainvoke(
                given, self._config(turn.id), context=context, durability="exit", version="v2"
            )
        except BaseException:
            await self._keep_checkpoints(turn)
            raise

    async def _keep_checkpoints(self, turn: Turn) -> None:
        """Write what the run leaves behind, where no record of the turn goes with it."""
        checkpoints = _checkpoints()
        if checkpoints.waits:
            async with self._sessions.transaction(Role.RUNTIME, turn.user_id) as connection:
                await checkpoints.write(connection)

    async def _settle(self, turn: Turn, reached: GraphOutput[AlfredState]) -> Standing:
        """Record where the run stopped; a pause whose proposal is decided meanwhile goes on."""
        if not reached.interrupts:
            return await self._record(turn, reached.value, None)
        proposal_id = UUID(reached.interrupts[0].value["proposal_id"])
        proposal = await self._approvals.load(turn.user_id, proposal_id)
        if proposal.state == "pending":
            return await self._record(turn, reached.value, proposal)
        await self._keep_checkpoints(turn)
        return await self._advance(turn)

    async def find_lost_pauses(self, user_id: UUID, turn_ids: Iterable[UUID]) -> set[UUID]:
        """Say which of these turns wait at a step that the graph does not have any more."""
        lost: set[UUID] = set()
        token = run_user.set(user_id)
        try:
            for turn_id in turn_ids:
                config = self._config(turn_id)
                snapshot = await self.graph.aget_state(config)
                if not (snapshot.interrupts or snapshot.next) and await self._lost_pause(config):
                    lost.add(turn_id)
        finally:
            run_user.reset(token)
        return lost

    async def _lost_pause(self, config: RunnableConfig) -> UUID | None:
        """Return the proposal that a run waits for although its graph says that it has ended.

        The stored writes of a renamed step are all that tells such a run from a finished one.
        """
        stored = await self._saver.aget_tuple(config)
        writes = (stored.pending_writes or []) if stored else []
        pauses = [value for _, channel, value in writes if channel == INTERRUPT]
        return UUID(pauses[0][0].value["proposal_id"]) if pauses else None

    async def _end_without_graph(
        self, turn: Turn, values: AlfredState, proposal_id: UUID
    ) -> Standing:
        """Carry out a decision whose run is lost: the ledger alone says what was approved."""
        proposal = await self._approvals.load(turn.user_id, proposal_id)
        if proposal.state in ("pending", "corrected"):
            raise _lost(turn)
        if proposal.closed_at is None:
            await self._approvals.commit(turn.user_id, proposal_id)
            proposal = await self._approvals.load(turn.user_id, proposal_id)
        log.warning("Turn %s ended without its graph.", turn.id, extra={"action": "run.lost"})
        return await self._record(
            turn, {**values, "outcome": proposal.state}, None, str(_lost(turn))
        )

    async def _record(
        self, turn: Turn, values: AlfredState, proposal: Proposal | None, *more: str
    ) -> Standing:
        outcome = values.get("outcome")
        problems = [*read_errors(values), *more]
        state: TurnState = "waiting"
        if proposal is None:
            state = "failed" if outcome == "failed" else "done"
        end = TurnEnd(
            state=state,
            domain=values.get("domain"),
            outcome=outcome,
            problem="; ".join(problems) or None,
        )
        async with self._sessions.transaction(Role.RUNTIME, turn.user_id) as connection:
            await _checkpoints().write(connection)
            await write_end(connection, turn, end, read_events(values))
        return Standing(
            turn_id=turn.id,
            state=state,
            outcome=outcome,
            proposal=proposal,
            problems=problems,
            reply=values.get("reply"),
        )

    async def load_reply(self, turn: Turn) -> str | None:
        """Read what the domain answered in words; None where it has not, or not yet."""
        user = run_user.set(turn.user_id)
        try:
            snapshot = await self.graph.aget_state(self._config(turn.id))
        finally:
            run_user.reset(user)
        return _state(snapshot).get("reply")

    async def _first(self, turn: Turn, given: SkillInput | None = None) -> AlfredState:
        # A large page takes seconds to read, in which other runs go on and a worker tells it lives.
        return {
            "input": given or await asyncio.to_thread(self._starting.read_input, turn),
            "chat_message_id": str(turn.message_id),
            "thread_id": str(turn.thread_id),
            "turn_id": str(turn.id),
            "domain": turn.domain,
            "memory_context": [],
            "confirmations": {},
            "attempt": 0,
        }

    def _config(self, turn_id: UUID) -> RunnableConfig:
        return {
            "configurable": {"thread_id": str(turn_id)},
            "recursion_limit": self._recursion_limit,
        }

    @property
    def _saver(self) -> BaseCheckpointSaver[Any]:
        return cast("BaseCheckpointSaver[Any]", self.graph.checkpointer)

    @asynccontextmanager
    async def _alone(self, user_id: UUID, turn_id: UUID, patience_s: float) -> AsyncGenerator[None]:
        """Hold the turn's lock while its run goes on: two resumes at once would both run the tail.

        LangGraph would send the words to LangSmith wherever its variables are set for another
        program; what leaves the machine is the user's choice of a model, and nothing else.
        """
        async with self._sessions.lock(f"turn/{turn_id}", patience_s=patience_s) as is_held:
            if not is_held:
                raise StoreFailed(
                    "store.busy",
                    f"Another process is running turn {turn_id}.",
                    hint="Wait for it; `alfred pending` shows when it is done.",
                )
            user, checkpoints = run_user.set(user_id), run_checkpoints.set(RunCheckpoints())
            try:
                with tracing_context(enabled=False), remembering():
                    yield
            finally:
                run_checkpoints.reset(checkpoints)
                run_user.reset(user)


def _state(snapshot: StateSnapshot) -> AlfredState:
    return cast(AlfredState, snapshot.values)


def _checkpoints() -> RunCheckpoints:
    found = run_checkpoints.get()
    assert found is not None, "a run goes on under its turn's lock"
    return found


def _lost(turn: Turn) -> ReviewRefused:
    return ReviewRefused(
        "review.paused_elsewhere",
        f"Turn {turn.id} waits at a step that this version of the graph does not have.",
        hint="Its proposal can be read and decided; for what comes after, capture the text again.",
    )
