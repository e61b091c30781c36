"""JSON pointers (RFC 6901): the one way to name a place in an answer."""

from __future__ import annotations

from collections.abc import Iterable


def extend(pointer: str, step: str | int) -> str:
    """Name a member or an item of what `pointer` names."""
    return f"{pointer}/{escape(step)}"


def from_steps(steps: Iterable[str | int]) -> str:
    """Write keys and indexes as one pointer; no steps give `""`, the whole value."""
    return "".join(f"/{escape(step)}" for step in steps)


def escape(step: str | int) -> str:
    """Write one key or index as it stands in a pointer."""
    return str(step).replace("~", "~0").replace("/", "~1")
