"""Procrastinate's jobs, ended and handed back only by the worker that has them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from psycopg import AsyncConnection

from alfred.engine.database import Role
from alfred.errors import StoreFailed
from alfred.queue.schema import SCHEMA
from alfred.store.address import Address

QUEUE = "alfred"
_CHECKOUT_S = 5.0


class LeasedJobs(JobManager):
    """The library ends a job by its number alone; here the worker's number decides as well.

    A worker that was taken for dead would otherwise end the job under the hands of the one that
    took it over.
    """

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        """End a job, unless another worker has it by now."""
        await self.connector.execute_query_one_async(
            "SELECT finish(%(job)s, %(worker)s, %(status)s::procrastinate_job_status, %(gone)s)",
            job=job.id,
            worker=job.worker_id,
            status=status.value,
            gone=delete_job,
        )

    async def retry_job(
        self,
        job: Job,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        """Hand a job back, unless another worker has it by now; the rest of it stays the same."""
        await self.connector.execute_query_one_async(
            "SELECT hand_back(%(job)s, %(worker)s, %(due)s)",
            job=job.id,
            worker=job.worker_id,
            due=retry_at or datetime.now(UTC),
        )

    async def beat(self, worker_id: int, *, lease_s: float) -> bool:
        """Say that a worker lives, and hand back what dead ones had.

        Gives False where this worker was silent for longer than the lease, and taken for dead.
        """
        row = await self.connector.execute_query_one_async(
            "SELECT beat(%(worker)s, %(lease)s) AS lives", worker=worker_id, lease=lease_s
        )
        return bool(row["lives"])


def open_queue(address: Address) -> App:
    """Make the library's app over the runtime login; it is opened by `open_async`."""
    connector = PsycopgConnector(
        conninfo=address.dsn(Role.RUNTIME),
        configure=_look_into_queue,
        min_size=1,
        max_size=4,
        timeout=_CHECKOUT_S,
    )
    app = App(connector=connector)
    app.job_manager = LeasedJobs(connector)
    return app


@contextmanager
def queue_errors(address: Address) -> Generator[None]:
    """Turn the library's errors of a database into ours while the block runs."""
    try:
        yield
    except ConnectorException as exc:
        why = str(exc.__cause__ or exc).strip().partition("\n")[0].rstrip(".")
        raise StoreFailed(
            "store.unreachable",
            f"The queue in {address} cannot be used: {why}.",
            hint="Check that the server runs.",
        ) from exc


async def _look_into_queue(connection: AsyncConnection[Any]) -> None:
    await connection.execute(f"SET search_path = {SCHEMA}, public")
    await connection.commit()
