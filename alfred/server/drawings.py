"""The installed graphs as edges, read once: they do not change while a process runs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from alfred.app import App
from alfred.errors import RequestRefused
from alfred.installed import load_builders, load_prefilter, named

if TYPE_CHECKING:
    from alfred.engine.check import Edges

ROOT = "root"


class Drawings:
    """What can be drawn; the first drawing imports LangGraph, which takes more than a second."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._known: dict[str, Edges] = {}

    def edges_of(self, name: str) -> Edges:
        """Read a domain's graph, what runs inside its steps unfolded; `root` is all together.

        Errors: `request.unknown`.
        """
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    @cached_property
    def _builders(self) -> dict[str, Any]:
        return dict(load_builders(self._app.domains))

    def _read(self, name: str) -> Edges:
        from alfred.engine.check import flatten, read_edges
        from alfred.graphs.proof import installed_edges

        if name == ROOT:
            return installed_edges(self._builders, load_prefilter(self._app.registry))
        domain = next((domain for domain in self._app.domains if domain.name == name), None)
        if domain is None:
            known = ", ".join([ROOT, *self._builders])
            raise RequestRefused(
                "request.unknown", f"There is no graph {name!r}.", hint=f"There are: {known}."
            )
        inner: dict[str, Any] = named(domain.machines)() if domain.machines else {}
        unfolded = {step: read_edges(builder) for step, builder in inner.items()}
        return flatten(read_edges(self._builders[name]), unfolded)
