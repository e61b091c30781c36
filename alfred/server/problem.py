"""Problem documents (RFC 9457): every refusal of the server, with its code and what to do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from alfred.cli.document import proposal_document
from alfred.engine.proposal import Proposal
from alfred.errors import AlfredError, RequestRefused, StoreFailed, all_codes
from alfred.server.status import status_of

MEDIA_TYPE = "application/problem+json"
MAX_PLACES = 50
"""How many mistakes of one body are named."""
_ROUTING = {404: "request.unknown", 405: "request.method", 413: "request.too_large"}


class Problem(BaseModel):
    """Why a request was refused (RFC 9457)."""

    type: str = Field(description="`urn:alfred:error:` and the code")
    title: str = Field(description="What the code means")
    status: int
    detail: str = Field(description="What happened, with the values")
    code: str = Field(description="One of docs/errors.md")
    hint: str = Field(description="What to do; may be empty")
    proposal: dict[str, Any] | None = Field(
        default=None, description="The proposal as it is now, where a decision saw another"
    )
    problems: list[dict[str, Any]] | None = Field(
        default=None, description="Each mistake with its place: `{place, message}`"
    )


class _Document(JSONResponse):
    """A document that can be sent whatever the request said that it repeats."""

    media_type = MEDIA_TYPE

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


def problem_document(error: AlfredError) -> dict[str, Any]:
    """Describe an error as a problem document.

    Where the database is, and as whom it is asked, is nothing for those who ask the server.
    """
    title = all_codes()[error.code]
    document: dict[str, Any] = {
        "type": f"urn:alfred:error:{error.code}",
        "title": title,
        "status": status_of(error.code),
        "detail": title if isinstance(error, StoreFailed) else error.message,
        "code": error.code,
        "hint": error.hint,
    }
    proposal = error.details.get("proposal")
    if isinstance(proposal, Proposal):
        document["proposal"] = proposal_document(proposal)
    pointers: Mapping[str, str] = error.details.get("pointers", {})
    places = [{"place": place, "message": message} for place, message in pointers.items()]
    if places := error.details.get("places", places):
        document["problems"] = places
    return document


def problem_response(error: AlfredError) -> JSONResponse:
    """Answer with an error's document."""
    document = problem_document(error)
    headers: dict[str, str] = {}
    if document["status"] == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if "retry_after_s" in error.details:
        headers["Retry-After"] = str(error.details["retry_after_s"])
    if "allow" in error.details:
        headers["Allow"] = error.details["allow"]
    return _Document(jsonable_encoder(document), document["status"], headers)


def add_problem_handlers(server: FastAPI) -> None:
    """Let every refusal be answered with a problem document; what breaks, the frame answers."""
    server.add_exception_handler(AlfredError, _alfred)
    server.add_exception_handler(RequestValidationError, _invalid)
    server.add_exception_handler(HTTPException, _routing)


async def _alfred(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AlfredError)
    return problem_response(error)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return problem_response(invalid(error.errors()))


async def _routing(_: Request, error: Exception) -> JSONResponse:
    """Name what the routing refuses: an unknown address, a wrong method, a broken form."""
    assert isinstance(error, HTTPException)
    code = _ROUTING.get(error.status_code, "request.invalid")
    allow = (error.headers or {}).get("Allow")
    details = {"allow": allow} if allow else {}
    return problem_response(RequestRefused(code, f"{error.detail}.", **details))


def invalid(mistakes: Any) -> RequestRefused:
    """Refuse a body or query by pydantic's mistakes, named by JSON pointer, without the values."""
    places = [
        {"place": "/" + "/".join(map(str, each["loc"])), "message": str(each["msg"])}
        for each in list(mistakes)[:MAX_PLACES]
    ]
    told = "; ".join(f"{each['place']}: {each['message']}" for each in places[:3])
    return RequestRefused("request.invalid", f"The request does not fit: {told}.", places=places)
