"""Words that come in: as JSON, or as a file in a form."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.datastructures import UploadFile as FormFile

from alfred.engine.action import unstorable
from alfred.engine.canonical import derive_id
from alfred.errors import RequestRefused
from alfred.inbox import Inbox
from alfred.server.documents import Posted
from alfred.server.problem import invalid
from alfred.server.refusals import refusals
from alfred.server.request_key import Key, find_turn, require_same, turn_for
from alfred.server.who import Proposer

router = APIRouter(tags=["messages"])
MAX_FORM_FIELDS = 4
JSON, FORM = "application/json", "multipart/form-data"


class Words(BaseModel):
    """A message: text, a question, or one link."""

    model_config = ConfigDict(extra="forbid")
    text: str
    domain: Annotated[str | None, Field(max_length=100)] = None


_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            JSON: {"schema": Words.model_json_schema()},
            FORM: {
                "schema": {
                    "type": "object",
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "domain": {"type": "string"},
                    },
                    "required": ["file"],
                }
            },
        },
    }
}


@router.post("/messages", status_code=202, responses=refusals(409, 415), openapi_extra=_BODY)
async def post_message(request: Request, visitor: Proposer, key: Key = None) -> Posted:
    """Store a message at once; a worker reads it then, and proposes what it makes of it.

    What cannot be read is stored all the same, and its turn says why.
    """
    content, source, domain = await _read(request)
    app = visitor.app
    turn_id = turn_for(app, key)
    if key is None or await find_turn(app, turn_id) is None:
        await Inbox(app).post(content, source=source, domain=domain, turn_id=turn_id)
    turn = await app.load_turn(turn_id)
    if key is not None:
        require_same(turn, content)  # of two at once the later one finds the other's words
    return Posted(turn=turn_id, message=derive_id("message", turn_id), state=turn.state)


async def _read(request: Request) -> tuple[bytes, str | None, str | None]:
    """Read the words, the file's name and the domain that the sender named."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == FORM:
        return await _read_form(request)
    if kind != JSON:
        raise RequestRefused(
            "request.media", f"The body is {kind or 'of no kind'}, not {JSON} or {FORM}."
        )
    try:
        words = Words.model_validate_json(await request.body())
    except ValidationError as exc:
        raise invalid(_in_body(exc)) from exc
    if reason := unstorable(words.domain or ""):
        raise _refused("domain", reason)
    return words.text.encode("utf-8", "surrogatepass"), None, words.domain


async def _read_form(request: Request) -> tuple[bytes, str | None, str | None]:
    async with request.form(max_files=1, max_fields=MAX_FORM_FIELDS) as form:
        file, domain = form.get("file"), form.get("domain")
        if not isinstance(file, FormFile):
            raise _refused("file", "a file is needed")
        if isinstance(domain, FormFile):
            raise _refused("domain", "a name is needed, not a file")
        return await file.read(), file.filename or None, domain or None


def _in_body(error: ValidationError) -> list[Any]:
    return [{**each, "loc": ("body", *each["loc"])} for each in error.errors()]


def _refused(field: str, message: str) -> RequestRefused:
    return invalid([{"loc": ("body", field), "msg": message}])
