"""Follows the run of a turn and stores what it tells, for browsers that other processes serve."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from uuid import UUID, uuid4

from alfred.app import App
from alfred.engine.context import FieldRead, NodeStep, Told
from alfred.engine.database import Database, Role
from alfred.engine.proposal import Proposal
from alfred.engine.turn import Turn
from alfred.engine.turn_event import last_run, write_events
from alfred.errors import StoreFailed
from alfred.server import agui_events as agui
from alfred.services.queries.turns import newest_proposal

log = logging.getLogger("alfred.server")

MAX_WAITING = 2_000
"""How much waits for a database that takes nothing; what goes beyond is not told."""
_AGAIN_S = 0.5
_LAST_TRY_S = 5.0


class Follower:
    """Takes what a run tells and stores it, in order, as events of the protocol.

    Whatever a run tells, the events make a valid sequence: a step ends once and only if it began,
    all have ended when the run ends, and what another process left open is closed.
    """

    def __init__(self, database: Database, turn: Turn) -> None:
        self._database = database
        self._turn = turn
        self._run_id = ""
        self._open: dict[str, None] = {}
        self._nodes: set[str] = set()
        self._waiting: list[agui.Row] = []
        self._news = asyncio.Event()
        self._is_left = False

    @property
    def run_id(self) -> str:
        """The run's id; empty where none is open."""
        return self._run_id

    async def begin(self, proposal: Proposal | None) -> None:
        """Find the run that another process left open and go on with it, or begin one if due."""
        async with self._database.transaction(Role.RUNTIME, self._turn.user_id) as connection:
            told = await last_run(connection, self._turn.id)
        is_open = bool(told) and told[-1].type not in agui.ENDS
        if is_open:
            self._run_id = told[0].body["runId"]
            for event in told:
                name = event.body.get("stepName", "")
                if event.type == "STEP_STARTED":
                    self._open[name] = None
                elif event.type == "STEP_FINISHED":
                    self._open.pop(name, None)
            self._close_steps()
        elif self._turn.resume_due:
            self._run_id = str(uuid4())
            self._add(agui.run_started(self._turn, self._run_id))
        if self._run_id:
            self._add(agui.state_snapshot(self._turn, proposal))

    def __call__(self, told: Told) -> None:
        """Take what the run tells; never waits and never fails."""
        if not self._run_id:
            return
        if isinstance(told, NodeStep):
            self._take_step(told)
        elif len(self._waiting) >= MAX_WAITING:
            return
        elif isinstance(told, FieldRead):
            self._add(agui.field_read(told, is_first=told.node not in self._nodes))
            self._nodes.add(told.node)
        else:
            self._add(agui.told(told.text))

    def _take_step(self, step: NodeStep) -> None:
        if step.node not in self._open:
            self._open[step.node] = None
            self._add(agui.step_started(step.node))
        if step.state == "finished":
            del self._open[step.node]
            self._add(agui.step_finished(step.node, step.reason))

    def end(self, turn: Turn, proposal: Proposal | None, reply: str | None) -> None:
        """Tell how the run came to rest."""
        self._close_steps()
        for row in agui.ended(turn, self._run_id, proposal=proposal, reply=reply):
            self._add(row)
        self._run_id = ""

    def _close_steps(self) -> None:
        for node in reversed(self._open):
            self._add(agui.step_finished(node, None))
        self._open.clear()

    def _add(self, row: agui.Row) -> None:
        self._waiting.append(row)
        self._news.set()

    async def write(self) -> None:
        """Store what waits, again and again until left; a database that is away is waited for.

        Whoever is told that another worker has the run stores nothing any more.
        """
        while True:
            await self._news.wait()
            if self._is_left:
                return
            try:
                await self.flush()
            except StoreFailed as error:
                if error.code == "store.fenced":
                    return
                await asyncio.sleep(_AGAIN_S)

    async def leave(self, writing: asyncio.Task[None]) -> None:
        """End a task that writes, between two of its transactions.

        One that is broken off while it commits may have stored what then is stored again.
        """
        self._is_left = True
        self._news.set()
        await asyncio.wait({writing}, timeout=_LAST_TRY_S)
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing

    async def flush(self) -> None:
        """Store what waits; errors: `StoreFailed`, and then it waits still."""
        self._news.clear()
        told = list(self._waiting)
        if not told:
            return
        try:
            await write_events(self._database, self._turn.user_id, self._turn.id, told)
        except BaseException:
            self._news.set()
            raise
        del self._waiting[: len(told)]


@asynccontextmanager
async def follow_run(app: App, turn_id: UUID) -> AsyncGenerator[Follower]:
    """Store what the run of a turn tells while the block runs, and how it came to rest.

    A run that is cut off stays open: whoever takes it over goes on with it.
    Errors: `StoreFailed` if the database is away at the beginning.
    """
    turn = await app.load_turn(turn_id)
    follower = Follower(app.database, turn)
    await follower.begin(await find_proposal(app, turn_id))
    writing = asyncio.create_task(follower.write(), name=f"follow-{turn_id}")
    try:
        yield follower
    finally:
        await follower.leave(writing)
        await _leave(app, follower, turn_id)


async def _leave(app: App, follower: Follower, turn_id: UUID) -> None:
    try:
        async with asyncio.timeout(_LAST_TRY_S):
            turn = await app.load_turn(turn_id)
            if follower.run_id and turn.state != "running":
                follower.end(turn, await find_proposal(app, turn_id), await find_reply(app, turn))
            await follower.flush()
    except (StoreFailed, TimeoutError) as error:
        log.info("Turn %s: %s", turn_id, error, extra={"action": "events.lost"})


async def find_proposal(app: App, turn_id: UUID) -> Proposal | None:
    """Load a turn's newest proposal."""
    async with app.reading() as connection:
        found = await newest_proposal(connection, turn_id)
    return await app.approvals.load(app.user_id, found) if found else None


async def find_reply(app: App, turn: Turn) -> str | None:
    """Read what the domain answered, once the turn has come to its end."""
    return await app.runs.load_reply(turn) if turn.state == "done" else None
