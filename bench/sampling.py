"""A profile by sampling: where a process's CPU time goes, by package and by function."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePath
from types import FrameType
from typing import Any

EVERY_S = 0.001
STANDARD = "standard library"


@dataclass
class Samples:
    """How often each package and function was found running.

    `packages` counts for whom something ran: the standard library for its caller. `own` counts the
    innermost frame, `under` every function of Alfred's or of the benchmark's on the stack.
    """

    total: int = 0
    packages: Counter[str] = field(default_factory=Counter[str])
    own: Counter[str] = field(default_factory=Counter[str])
    under: Counter[str] = field(default_factory=Counter[str])

    def take(self, _: int, frame: FrameType | None) -> None:
        if frame is None:
            return
        self.total += 1
        self.own[_where(frame)[1]] += 1
        on_stack: set[str] = set()
        behalf = STANDARD
        caller: FrameType | None = frame
        while caller is not None:
            package, place = _where(caller)
            if behalf == STANDARD:
                behalf = package
            if package in _OURS:
                on_stack.add(place)
            caller = caller.f_back
        self.packages[behalf] += 1
        self.under.update(on_stack)

    def shares(self, counted: Counter[str], top: int) -> dict[str, float]:
        """Give the largest shares, in percent."""
        return {name: round(100 * n / self.total, 1) for name, n in counted.most_common(top)}

    def document(self, top: int = 25) -> dict[str, Any]:
        """Give the profile as plain JSON."""
        return {
            "samples": self.total,
            "packages": self.shares(self.packages, top),
            "functions": self.shares(self.own, top),
            "alfred_functions_with_callees": self.shares(self.under, top),
        }


_OURS = ("alfred", "bench")


def _where(frame: FrameType) -> tuple[str, str]:
    """Name the package and the function of a frame."""
    path = PurePath(frame.f_code.co_filename).parts
    called = f"{'/'.join(path[-3:])}:{frame.f_code.co_qualname}"
    for root in ("site-packages", *_OURS):
        if root in path[:-1]:
            place = path.index(root)
            return (path[place + 1] if root == "site-packages" else root), called
    return STANDARD, called


@contextmanager
def sampled() -> Generator[Samples]:
    """Look every millisecond of CPU time at what runs. Time inside C counts for its caller."""
    samples = Samples()
    kept = signal.signal(signal.SIGPROF, samples.take)
    signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)
    try:
        yield samples
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, kept)
