"""How the API's document names refusals: by status, each as a problem document."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from alfred.server.problem import MEDIA_TYPE

EVERYWHERE = (401, 403, 413, 421, 422, 429, 500, 503)
"""What any address that asks who one is may answer."""
_SCHEMA = {"$ref": "#/components/schemas/Problem"}
Responses = dict[int | str, dict[str, Any]]


def refusals(*statuses: int) -> Responses:
    """Name the refusals of an address: those that are possible everywhere, and its own."""
    found: Responses = {
        status: _refusal(HTTPStatus(status).phrase) for status in sorted({*EVERYWHERE, *statuses})
    }
    found["default"] = _refusal("Any other refusal")
    return found


def _refusal(phrase: str) -> dict[str, Any]:
    return {"description": phrase, "content": {MEDIA_TYPE: {"schema": _SCHEMA}}}
