"""The webhook that Alertmanager posts to: each new alert begins one diagnosis."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Sequence

from fastapi.encoders import jsonable_encoder
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from alfred.cli.document import taken_document
from alfred.diagnoses import AlertTaken
from alfred.errors import AccessRefused, AlfredError
from alfred.probes.alerts import Alert, read_notification
from alfred.server.frame import Frame
from alfred.server.problem import problem_response
from alfred.server.site import Site

PATH = "/v1/alerts"
_BEARER = "Bearer "

Take = Callable[[Sequence[Alert]], Awaitable[Sequence[AlertTaken]]]


def make_alert_app(take: Take, *, site: Site, token: str | None) -> ASGIApp:
    """Make the application that takes notifications; with a `token` it wants that one.

    A notification is answered as soon as its questions are stored; the diagnoses come after. While
    the database is away the answer is 503, upon which the sender tries again.
    """

    async def receive(request: Request) -> Response:
        try:
            _require_allowed(request, token)
            taken = await take(read_notification(await request.body()))
        except ClientDisconnect:
            return Response(status_code=400)
        except AlfredError as error:
            return problem_response(error)
        return JSONResponse(jsonable_encoder({"taken": list(map(taken_document, taken))}))

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    routes = [
        Route(PATH, receive, methods=["POST"]),
        Route("/healthz", health, methods=["GET"]),
    ]
    return Frame(Starlette(routes=routes), site=site)


def _require_allowed(request: Request, token: str | None) -> None:
    """Errors: `access.forgery` for what a browser sends for a page; `access.invalid`."""
    if "origin" in request.headers:
        raise AccessRefused("access.forgery", "Alerts are not taken from pages in a browser.")
    given = request.headers.get("authorization", "")
    sent = given.removeprefix(_BEARER).encode() if given.startswith(_BEARER) else b""
    if token is not None and not hmac.compare_digest(sent, token.encode()):
        raise AccessRefused(
            "access.invalid",
            "The token is missing or wrong.",
            hint="Show the one of the file that `--token-file` names.",
        )
