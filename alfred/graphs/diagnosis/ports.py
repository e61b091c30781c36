"""The eight ports through which a diagnosis acts: what runs in each node, given from outside."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields

from alfred.engine.attempt import Port
from alfred.errors import GraphInvalid


@dataclass(frozen=True, kw_only=True)
class DiagnosisActions:
    """One async function a node: it gets its part of the state, the run's config and context.

    Errors: `graph.port` for one that is missing or not async.
    """

    planner: Port
    executor: Port
    gatekeeper: Port
    verified_input: Port
    verifier: Port
    evidence_retry: Port
    composer: Port
    fallback: Port

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            if not _is_async(getattr(self, name)):
                raise GraphInvalid(
                    "graph.port",
                    f"The port {name!r} is {getattr(self, name)!r}, not an async function.",
                    hint="Give every node of the diagnosis an `async def`.",
                )

    def of(self, node: str) -> Port:
        """Return the port of a node."""
        port: Port = getattr(self, node)
        return port


def _is_async(port: object) -> bool:
    # An object with an async `__call__` is one; its class, given by mistake in its place, is not.
    called = getattr(type(port), "__call__", None)  # noqa: B004 - asked of the type on purpose
    return inspect.iscoroutinefunction(port) or inspect.iscoroutinefunction(called)
