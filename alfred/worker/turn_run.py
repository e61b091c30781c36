"""One job of the queue: a turn, taken as far as it goes without a person."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from uuid import UUID

from procrastinate import BaseRetryStrategy, JobContext, RetryDecision
from procrastinate.jobs import Job

from alfred.app import App
from alfred.engine.context import ProgressSink
from alfred.engine.database import Role
from alfred.errors import AccessRefused, AlfredError, ReviewRefused, ServerFailed, StoreFailed
from alfred.server.fault import place_of
from alfred.server.hall import Hall, UserRow
from alfred.store.lease import Lease, leased

log = logging.getLogger("alfred")

Follow = Callable[[App, UUID], AbstractAsyncContextManager[ProgressSink]]
"""Opens what follows the run of a turn: it is told how the run goes on."""
MOST_LOST = 4
"""How many workers a turn may cost: one that ends each of them would leave none for the others."""
_LONGEST_WAIT_S = 10.0


class TryAgain(BaseRetryStrategy):
    """Hands back what the database stopped, or the worker's end; what else fails has ended."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        """Say when a job is to be tried again; None for never."""
        if isinstance(exception, asyncio.CancelledError):
            return RetryDecision()
        if isinstance(exception, StoreFailed):
            wait_s = min(0.5 * 2 ** min(job.attempts, 6), _LONGEST_WAIT_S)
            return RetryDecision(retry_in={"seconds": int(max(1, wait_s))})
        return None


class TurnRuns:
    """The runs of one worker."""

    def __init__(self, hall: Hall, follow: Follow) -> None:
        self._hall = hall
        self._follow = follow
        self._going: set[asyncio.Task[object]] = set()

    async def run(self, context: JobContext, user_id: str, turn_id: str, lost: int = 0) -> None:
        """Take a turn as far as it goes, under the lease of its job.

        `lost` is how many workers died with it. Errors: `StoreFailed`, upon which the turn waits
        again.
        """
        job = context.job
        assert job.id is not None, "a fetched job has a number"
        assert job.worker_id is not None, "and a worker"
        task = asyncio.current_task()
        assert task is not None, "a coroutine runs in a task"
        self._going.add(task)
        try:
            with leased(Lease(job.id, job.worker_id)):
                await self._take(UUID(user_id), UUID(turn_id), lost)
        finally:
            self._going.discard(task)

    def drop(self) -> None:
        """Break off every run: another worker has them."""
        for task in self._going:
            task.cancel()

    async def _take(self, user_id: UUID, turn_id: UUID, lost: int) -> None:
        try:
            app = self._hall.app_of(await find_user(self._hall, user_id))
            turn = await app.load_turn(turn_id)
        except (AccessRefused, ReviewRefused):
            log.info("Turn %s is gone.", turn_id, extra={"action": "worker.gone"})
            return
        async with self._follow(app, turn_id) as sink:
            if lost >= MOST_LOST and turn.resume_due:
                log.error("Turn %s ends its workers.", turn_id, extra={"action": "worker.deadly"})
                problem = f"{lost} workers died while they ran it; it is not tried again."
                await app.give_up(turn_id, ServerFailed("server.failed", problem))
                return
            try:
                await app.continue_turn(turn_id, on_progress=sink)
            except AlfredError:
                raise
            except Exception as error:  # the last handler: a mistake of one turn stops no other
                told = {"action": "worker.broke"}
                log.error("Turn %s broke off: %s", turn_id, place_of(error), extra=told)
                problem = "The run met what nobody thought of; the worker's log says where."
                await app.give_up(turn_id, ServerFailed("server.failed", problem))


async def find_user(hall: Hall, user_id: UUID) -> UserRow:
    """Read a user's name.

    Errors: `access.user` for one who is gone.
    """
    async with hall.pools.transaction(Role.RUNTIME, user_id) as connection:
        query = "SELECT id, name FROM alfred_user WHERE id = %s"
        row = await (await connection.execute(query, (user_id,))).fetchone()
    if row is None:
        raise AccessRefused("access.user", f"There is no user {user_id}.")
    return UserRow(id=row["id"], name=row["name"])
