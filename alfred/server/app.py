"""The server's application: who is let in, the engine's addresses, those of domains, the pages."""

from __future__ import annotations

from typing import Any, cast

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.telemetry import TelemetryConfig

from alfred import __version__
from alfred.engine.domain import WHAT_IMPORT_RAISES
from alfred.errors import ManifestInvalid
from alfred.installed import named
from alfred.server import client_pages
from alfred.server.events import events_router
from alfred.server.frame import Frame
from alfred.server.hall import Hall
from alfred.server.pace import Pace
from alfred.server.problem import Problem, add_problem_handlers
from alfred.server.routes import (
    export,
    health,
    kinds,
    messages,
    proposals,
    session,
    threads,
    tokens,
    turns,
)
from alfred.server.site import Site
from alfred.server.who import Door, Gate

ROOT = "/v1"
DOCUMENT = f"{ROOT}/openapi.json"
PER_MINUTE, BURST = 1_200, 400
"""Requests of one user: a page asks for a dozen things at once."""
STRANGERS_PER_MINUTE, STRANGERS_BURST = 20, 20
"""Requests of one address that show nothing, or something wrong."""
SILENT: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "auto_configure": False,
}
"""FastAPI would tell of requests where OpenTelemetry is set up for another program."""
PARTS = (health, session, messages, turns, proposals, kinds, threads, export, tokens)
ABOUT = (
    "Alfred says nothing without evidence and writes nothing without approval. Refusals are"
    " problem documents (RFC 9457) with the codes of docs/errors.md."
)


def make_server(
    hall: Hall,
    *,
    site: Site | None = None,
    users: Pace | None = None,
    strangers: Pace | None = None,
) -> FastAPI:
    """Make the application; the paces say how fast users and everybody else may ask.

    Errors: `manifest.domain` for a domain whose addresses cannot be loaded.
    """
    site = site or Site()
    server = FastAPI(
        title="Alfred",
        version=__version__,
        description=ABOUT,
        openapi_url=DOCUMENT,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        telemetry=SILENT,
    )
    door = Door(
        hall=hall,
        site=site,
        users=users or Pace(per_minute=PER_MINUTE, burst=BURST),
        strangers=strangers or Pace(per_minute=STRANGERS_PER_MINUTE, burst=STRANGERS_BURST),
    )
    server.state.door = door
    server.add_middleware(Gate, door=door)
    server.add_middleware(Frame, site=site)  # around the gate
    add_problem_handlers(server)
    for part in PARTS:
        server.include_router(part.router, prefix=ROOT)
    server.include_router(events_router(hall), prefix=ROOT)
    for domain in hall.domains:
        if domain.api is not None:
            server.include_router(_router_of(domain.name, domain.api), prefix=ROOT)
    server.include_router(client_pages.router)
    server.openapi = lambda: _document(server)  # type: ignore[method-assign]
    return server


def _router_of(domain: str, place: str) -> APIRouter:
    try:
        return cast("APIRouter", named(place)())
    except WHAT_IMPORT_RAISES as error:
        raise ManifestInvalid(
            "manifest.domain",
            f"The addresses of the domain {domain} cannot be made from {place}:"
            f" {type(error).__name__}: {error}.",
        ) from error


def _document(server: FastAPI) -> dict[str, Any]:
    """Describe the API, with the schema that every refusal refers to."""
    if server.openapi_schema is None:
        found = get_openapi(
            title=server.title,
            version=server.version,
            description=server.description,
            routes=server.routes,
        )
        schemas = found.setdefault("components", {}).setdefault("schemas", {})
        schemas["Problem"] = Problem.model_json_schema()
        server.openapi_schema = found
    return server.openapi_schema
