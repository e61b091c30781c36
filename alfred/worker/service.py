"""A worker's life: it takes turns from the queue until it is to stop."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from importlib import import_module

from procrastinate import App as Queue
from procrastinate.worker import Worker

from alfred.errors import StoreFailed
from alfred.queue.entrance import enrol
from alfred.queue.leased_jobs import QUEUE, LeasedJobs, open_queue, queue_errors
from alfred.server.hall import Hall
from alfred.server.run_following import follow_run
from alfred.worker.pace import Pace
from alfred.worker.sweep import Sweep
from alfred.worker.turn_run import Follow, TryAgain, TurnRuns

log = logging.getLogger("alfred")

EVERY_MINUTE = "* * * * *"
_BETWEEN_LIVES_S = 1.0


async def run_worker(
    hall: Hall,
    stop: asyncio.Event,
    *,
    pace: Pace | None = None,
    follow: Follow = follow_run,
) -> None:
    """Run turns until `stop` is set; then let the runs end, or hand them back.

    A database that goes away is waited for. A worker that was taken for dead, because it was
    stopped for longer than its lease, breaks off what it had and begins anew.
    Errors: `StoreFailed` if the queue cannot be reached at the start.
    """
    pace = pace or Pace()
    address = hall.pools.address
    queue = open_queue(address)
    runs = TurnRuns(hall, follow)
    sweep = Sweep(hall)
    queue.task(name="run_turn", queue=QUEUE, pass_context=True, retry=TryAgain())(runs.run)
    sweeping = queue.task(name="sweep", queue=QUEUE, lock="sweep", queueing_lock="sweep")
    queue.periodic(cron=EVERY_MINUTE)(sweeping(sweep.run))
    # More than a second of CPU, which would keep the worker from beating at its first turn.
    await asyncio.to_thread(import_module, "alfred.graphs.root")
    with queue_errors(address):
        await queue.open_async()
    try:
        await _enrol_first(hall)
        while not stop.is_set():
            try:
                with queue_errors(address):
                    await _live(queue, runs, stop, pace)
            except StoreFailed as error:
                log.warning("%s", error, extra={"action": "worker.away"})
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _BETWEEN_LIVES_S)
    finally:
        await queue.close_async()


async def _enrol_first(hall: Hall) -> None:
    """Let the periodic tasks look after the settings' user, who may never use the queue."""
    await hall.first.enter()
    await enrol(hall.pools, hall.first.user_id)


async def _live(queue: Queue, runs: TurnRuns, stop: asyncio.Event, pace: Pace) -> None:
    """Be one worker of the queue, until it is to stop or was taken for dead."""
    worker = Worker(
        queue,
        queues=[QUEUE],
        concurrency=pace.at_once,
        delete_jobs="always",
        install_signal_handlers=False,
        fetch_job_polling_interval=pace.beat_s,
        update_heartbeat_interval=pace.beat_s,
        stalled_worker_timeout=pace.lease_s,
        shutdown_graceful_timeout=pace.grace_s,
    )
    working = asyncio.ensure_future(worker.run())
    beating = asyncio.ensure_future(_beat(worker, pace))
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((working, beating, stopping), return_when=asyncio.FIRST_COMPLETED)
        if beating.done() and not beating.cancelled() and beating.exception() is None:
            log.warning("Taken for dead; beginning anew.", extra={"action": "worker.fenced"})
            runs.drop()
    finally:
        worker.stop()
        try:
            await working
        finally:
            for task in (beating, stopping):
                task.cancel()
            await asyncio.gather(beating, stopping, return_exceptions=True)


async def _beat(worker: Worker, pace: Pace) -> None:
    """Beat until the worker was taken for dead."""
    jobs = worker.app.job_manager
    assert isinstance(jobs, LeasedJobs), "open_queue made it so"
    while True:
        await asyncio.sleep(pace.beat_s)
        if worker.worker_id is not None and not await jobs.beat(
            worker.worker_id, lease_s=pace.lease_s
        ):
            return
