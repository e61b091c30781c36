"""How fast a worker lives."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Units: seconds, but for `at_once`, the number of turns that run at the same time.

    A worker that was silent for the lease is taken for dead; it has to be long against whatever
    keeps an event loop busy at a stretch, such as the import of LangGraph.
    """

    beat_s: float = 2.0
    lease_s: float = 15.0
    grace_s: float = 15.0
    """How long a worker that is to stop lets its runs go on, before it hands them back."""
    at_once: int = 4
