"""CPU and wall time of a round of turns, and what waits for the network they take."""

from __future__ import annotations

import asyncio
import gc
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import psutil
import psycopg

from alfred.store.address import Address
from bench.posting import ROWS_PER_TURN, Posting
from bench.variant import Variant, count_rows

_NUMBERS = count(1)
"""Every turn of a run of the benchmark has a posting of its own."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one turn took, on the average of a round, in milliseconds."""

    python_ms: float
    postgres_ms: float
    wall_ms: float


async def run_round(variant: Variant, address: Address, *, turns: int, concurrency: int) -> Cost:
    """Run a round and make sure that it wrote every row once.

    Units: CPU of this process with all its threads, and of all processes of the server.
    """
    numbers = iter([next(_NUMBERS) for _ in range(turns)])
    before = count_rows(address, variant.users)
    server = Server(address)
    gc.collect()
    served, began, spent = server.cpu_s(), time.perf_counter(), time.process_time()
    await asyncio.gather(*(_work(variant, numbers) for _ in range(concurrency)))
    spent, took = time.process_time() - spent, time.perf_counter() - began
    served = server.cpu_s() - served
    check_rows(variant, before, count_rows(address, variant.users), turns)
    each = 1000 / turns
    return Cost(python_ms=spent * each, postgres_ms=served * each, wall_ms=took * each)


async def _work(variant: Variant, numbers: Iterator[int]) -> None:
    for number in numbers:
        await variant.turn(Posting(number))


def check_rows(variant: Variant, before: dict[str, int], after: dict[str, int], turns: int) -> None:
    """Stop the benchmark where a variant did not write what the others write."""
    written = {table: after[table] - before[table] for table in after}
    expected = {table: each * turns for table, each in ROWS_PER_TURN.items()}
    if written != expected:
        raise SystemExit(f"{variant.name} wrote {written} in {turns} turns, not {expected}.")


class Server:
    """The processes of a PostgreSQL server on this machine."""

    def __init__(self, address: Address) -> None:
        with psycopg.connect(address.admin_dsn()) as connection:
            row = connection.execute("SELECT pg_backend_pid()").fetchone()
            assert row is not None
            self._postmaster = psutil.Process(row[0]).parent()

    def cpu_s(self) -> float:
        """Add up the CPU seconds of all its processes, ended ones included."""
        if self._postmaster is None:
            return 0.0
        times = self._postmaster.cpu_times()
        total = times.user + times.system + times.children_user + times.children_system
        for child in self._postmaster.children():
            try:
                own = child.cpu_times()
            except psutil.NoSuchProcess:
                continue  # it has just been added to what its parent says of ended children
            total += own.user + own.system
        return total


@contextmanager
def counted() -> Generator[Counter[str]]:
    """Count the waits for the database's network and the statements sent, while the block runs."""
    found: Counter[str] = Counter()
    wait, execute = psycopg.AsyncConnection.wait, psycopg.AsyncCursor.execute
    executemany = psycopg.AsyncCursor.executemany

    async def counting_wait(self: Any, *args: Any, **more: Any) -> Any:
        found["waits"] += 1
        return await wait(self, *args, **more)

    async def counting_execute(self: Any, *args: Any, **more: Any) -> Any:
        found["statements"] += 1
        return await execute(self, *args, **more)

    async def counting_executemany(self: Any, query: Any, params: Any, **more: Any) -> Any:
        listed = list(params)
        found["statements"] += len(listed)
        return await executemany(self, query, listed, **more)

    driver: Any = psycopg
    driver.AsyncConnection.wait = counting_wait
    driver.AsyncCursor.execute = counting_execute
    driver.AsyncCursor.executemany = counting_executemany
    try:
        yield found
    finally:
        driver.AsyncConnection.wait = wait
        driver.AsyncCursor.execute = execute
        driver.AsyncCursor.executemany = executemany
