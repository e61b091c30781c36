"""Kinds of actions with the schemas of their arguments, and the graphs as they can be drawn."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from alfred.app import App, load_builders, load_prefilter, named
from alfred.errors import RequestRefused
from alfred.server.documents import Drawing, Kind
from alfred.server.refusals import refusals
from alfred.server.who import Reader

router = APIRouter(tags=["kinds"])


@router.get("/kinds", responses=refusals())
async def get_kinds(visitor: Reader) -> dict[str, Kind]:
    """Tell what each kind of action takes, for the forms in which values are edited."""
    return {
        name: Kind.model_validate(
            {"schema": kind.arguments.model_json_schema(), "called": list(kind.called)}
        )
        for name, kind in visitor.app.kinds.items()
        if not kind.is_automatic
    }


@router.get("/graphs/{name}", responses=refusals(404))
async def get_graph(name: str, visitor: Reader) -> Drawing:
    """Draw a domain's graph, what runs inside its steps unfolded; `root` is all together."""
    edges = _draw(visitor.app, name)
    nodes = sorted({*edges, *(target for targets in edges.values() for target in targets)})
    pairs = [(source, target) for source in sorted(edges) for target in sorted(edges[source])]
    return Drawing(nodes=nodes, edges=pairs)


def _draw(app: App, name: str) -> dict[str, frozenset[str]]:
    # They import LangGraph, which only these answers need.
    from alfred.engine.check import flatten, read_edges
    from alfred.graphs.proof import installed_edges

    builders = load_builders(app.domains)
    if name == "root":
        return installed_edges(builders, load_prefilter(app.registry))
    domain = next((domain for domain in app.domains if domain.name == name), None)
    if domain is None:
        known = ", ".join(["root", *builders])
        raise RequestRefused(
            "request.unknown", f"There is no graph {name!r}.", hint=f"There are: {known}."
        )
    inner: dict[str, Any] = named(domain.machines)() if domain.machines else {}
    unfolded = {step: read_edges(builder) for step, builder in inner.items()}
    return flatten(read_edges(builders[name]), unfolded)
