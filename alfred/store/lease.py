"""The lease of a run that a worker does: without it nothing of the run is written any more."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from alfred.errors import StoreFailed

LOST = "AF001"
"""The SQLSTATE of `queue.hold_lease` where somebody else has the run."""


@dataclass(frozen=True)
class Lease:
    """Who does what: the number of the run in the queue, and of the worker that took it."""

    run: int
    worker: int

    @property
    def check(self) -> str:
        """The statement that fails once the lease is lost, and else keeps it until the commit."""
        return f"SELECT queue.hold_lease({self.run:d}, {self.worker:d})"


run_lease: ContextVar[Lease | None] = ContextVar("run_lease", default=None)
"""The lease that this task writes under; None outside workers."""


@contextmanager
def leased(lease: Lease) -> Generator[None]:
    """Write under a lease while the block runs, in this task and those it starts."""
    token = run_lease.set(lease)
    try:
        yield
    finally:
        run_lease.reset(token)


def lost() -> StoreFailed:
    """Say that another worker has the run."""
    return StoreFailed(
        "store.fenced",
        "Another worker has taken this run over; nothing was written.",
        hint="Nothing is to be done: the other worker finishes it.",
    )
