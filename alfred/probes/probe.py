"""What a probe is: a read-only tool with a name, arguments, and an answer in lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from alfred.probes.tool_call import Kind


@dataclass(frozen=True, kw_only=True)
class Window:
    """The incident's time, both ends with a zone; `end` is when the question was asked."""

    start: datetime
    end: datetime


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a probe found: lines to read and to cite, one thing said a line.

    No lines mean that it was asked and there is nothing; `asked` then says what was searched.
    `start` and `end` bound the data in time where the source knows it. `truncated` says that there
    is more than is given.
    """

    asked: str
    where: str
    lines: tuple[str, ...] = ()
    start: datetime | None = None
    end: datetime | None = None
    truncated: bool = False


class Probe(Protocol):
    """One read-only tool.

    `parameters` is the JSON Schema of its arguments: an object, closed, bounded, flat. The schema
    is also what a model is held to; keep it to a few string, number and enum properties.
    `description` is one short sentence for the model that plans. `is_primary` says that it sees
    the thing itself; a report about it (an alert, a log of another service) is indirect.
    """

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> Kind: ...

    @property
    def description(self) -> str: ...

    @property
    def parameters(self) -> Mapping[str, Any]: ...

    @property
    def is_primary(self) -> bool: ...

    @property
    def timeout_s(self) -> float: ...

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        """Ask the source; `arguments` fit `parameters`.

        Errors: `ProbeFailed` with `probe.unreachable`, `probe.answer` (what came is not the
        source's language), `probe.refused` (it would write, or is not allowed) or `probe.too_much`.
        """
        ...

    async def first_look(
        self, window: Window, scope: Mapping[str, str]
    ) -> Mapping[str, Any] | None:
        """Return the arguments to call this probe with before any model; None to leave it out."""
        ...

    async def aclose(self) -> None:
        """Release connections and processes."""
        ...
