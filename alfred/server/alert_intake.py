"""The webhook that Alertmanager posts to: each new alert begins one diagnosis."""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from alfred.diagnoses import AlertTaken
from alfred.errors import AlfredError, InputRefused, StoreFailed
from alfred.probes.alerts import Alert, read_webhook

PATH = "/v1/alerts"
MAX_BODY_BYTES = 4_000_000
MAX_TAKEN_BYTES = 64_000_000
_BEARER = "Bearer "

Take = Callable[[Sequence[Alert]], Awaitable[Sequence[AlertTaken]]]


def make_alert_app(take: Take, *, token: str | None) -> Starlette:
    """Make the application that takes notifications; with a `token` it wants that one.

    A notification is answered as soon as its questions are stored; the diagnoses come after.
    What is no notification is answered with a problem document (RFC 9457).
    """

    async def receive(request: Request) -> Response:
        if token is not None and not _is_allowed(request, token):
            return _problem(401, "alerts.token", "The token is missing or wrong.")
        try:
            body = await _read(request)
            taken = await take(read_webhook(_parse(body)))
        except ClientDisconnect:
            return Response(status_code=400)
        except InputRefused as error:
            status = 413 if error.code == "input.too_large" else 400
            return _problem(status, error.code, error.message)
        except AlfredError as error:
            # The sender tries again: the alert is not lost while the database is away.
            status = 503 if isinstance(error, StoreFailed) else 500
            return _problem(status, error.code, error.message)
        return JSONResponse({"taken": [_document(each) for each in taken]})

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    return Starlette(
        routes=[
            Route(PATH, receive, methods=["POST"]),
            Route("/healthz", health, methods=["GET"]),
        ]
    )


def _is_allowed(request: Request, token: str) -> bool:
    given = request.headers.get("authorization", "")
    sent = given.removeprefix(_BEARER).encode() if given.startswith(_BEARER) else b""
    return hmac.compare_digest(sent, token.encode())


async def _read(request: Request) -> bytes:
    """Read the body as far as it may go: what is larger is not kept in memory.

    It is still taken in within bounds, since a sender that is cut off never reads why.
    """
    body, size = bytearray(), 0
    async for piece in request.stream():
        size += len(piece)
        if size <= MAX_BODY_BYTES:
            body += piece
        elif size > MAX_TAKEN_BYTES:
            break
    if size > MAX_BODY_BYTES:
        raise InputRefused(
            "input.too_large", f"The notification has more than {MAX_BODY_BYTES:,} bytes."
        )
    return bytes(body)


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise InputRefused("input.alert", f"The notification is not JSON: {exc}.") from exc


def _document(taken: AlertTaken) -> dict[str, Any]:
    return {
        "alert": taken.alert.name,
        "fingerprint": taken.alert.fingerprint,
        "run": str(taken.turn_id) if taken.turn_id else None,
        "is_new": taken.is_new,
    }


def _problem(status: int, code: str, detail: str) -> Response:
    return JSONResponse(
        {"type": f"urn:alfred:{code}", "title": code, "status": status, "detail": detail},
        status_code=status,
        media_type="application/problem+json",
    )
