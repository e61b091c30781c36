"""How many requests each caller may make; counted in this process, and forgotten with it."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from alfred.errors import RequestRefused

MAX_CALLERS = 10_000
"""Whoever was not heard of for longest is forgotten first: memory stays bounded."""


class Pace:
    """Lets each caller make `burst` requests at once and `per_minute` in the long run."""

    def __init__(
        self,
        *,
        per_minute: float,
        burst: int,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_s = per_minute / 60
        self._burst = burst
        self._clock_s = clock_s
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, caller: Hashable) -> None:
        """Count a request; errors: `request.too_many`, which says when the next may come."""
        left = self._refilled(caller)
        if left < 1:
            self._keep(caller, left)
            wait_s = math.ceil((1 - left) / self._per_s)
            raise RequestRefused(
                "request.too_many",
                f"There were too many requests; the next may come in {wait_s} s.",
                retry_after_s=wait_s,
            )
        self._keep(caller, left - 1)

    def _refilled(self, caller: Hashable) -> float:
        left, at_s = self._left.get(caller, (float(self._burst), 0.0))
        return min(float(self._burst), left + (self._clock_s() - at_s) * self._per_s)

    def _keep(self, caller: Hashable, left: float) -> None:
        self._left[caller] = (left, self._clock_s())
        self._left.move_to_end(caller)
        if len(self._left) > MAX_CALLERS:
            self._left.popitem(last=False)
