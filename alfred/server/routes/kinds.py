"""Kinds of actions with the schemas of their arguments, and the graphs as they can be drawn."""

from __future__ import annotations

from fastapi import APIRouter, Request

from alfred.server.documents import Drawing, Kind
from alfred.server.refusals import refusals
from alfred.server.who import Reader, door_of

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
async def get_graph(name: str, _: Reader, request: Request) -> Drawing:
    """Draw a domain's graph, what runs inside its steps unfolded; `root` is all together."""
    edges = door_of(request).hall.drawings.edges_of(name)
    nodes = sorted({*edges, *(target for targets in edges.values() for target in targets)})
    pairs = [(source, target) for source in sorted(edges) for target in sorted(edges[source])]
    return Drawing(nodes=nodes, edges=pairs)
