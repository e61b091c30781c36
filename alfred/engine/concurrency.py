"""Several waits at once, at most so many: results in order, and nothing left running."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

Result = TypeVar("Result")


async def in_order(works: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Run all at once and give their results in the order of the works.

    Errors: the first that a work raises; the others are then stopped before it gets out.
    """
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class CallLimit:
    """Lets so many in at once as its function says, which is asked when the first comes."""

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self._places: asyncio.Semaphore | None = None

    async def __aenter__(self) -> None:
        if self._places is None:
            self._places = asyncio.Semaphore(self._limit())
        await self._places.acquire()

    async def __aexit__(self, *_: object) -> None:
        assert self._places is not None
        self._places.release()
