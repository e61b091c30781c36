"""The diagnosis domain's addresses: questions, runs, alerts."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Body
from pydantic import BaseModel, ConfigDict, Field

from alfred.cli.diagnose import diagnosis_document
from alfred.cli.document import taken_document
from alfred.diagnoses import Diagnoses
from alfred.engine.action import text
from alfred.engine.database import Row
from alfred.errors import RequestRefused
from alfred.graphs.diagnosis.first_look import Wish
from alfred.graphs.diagnosis.time_words import read_since
from alfred.probes.alerts import read_webhook
from alfred.server.page import Cursor, Limit, Page, page_of, read_cursor
from alfred.server.refusals import refusals
from alfred.server.request_key import Key, find_turn, require_same, turn_for
from alfred.server.who import Proposer, Reader
from alfred.store.reading import Place

router = APIRouter(tags=["diagnosis"])
Object = dict[str, Any]
Name = Annotated[str, text(200)]


def make_router() -> APIRouter:
    """Give the domain's router."""
    return router


class Question(BaseModel):
    """What is to be found out; `since` is `30m`, `14:00` or a moment."""

    model_config = ConfigDict(extra="forbid")
    question: Annotated[str, text(20_000)]
    since: Annotated[str, text(100)] | None = None
    scope: Annotated[dict[Name, Name], Field(max_length=20)] = {}
    follow: UUID | None = None


class FirstLook(BaseModel):
    """What tools showed before any model was asked, or the reply in its place."""

    turn: UUID
    run: Object | None
    calls: list[Object]
    notices: list[str]
    reply: str


class DiagnosisDocument(BaseModel):
    """Everything on record of a run; `answer`, `trace` and `cost` are null while it goes on."""

    run: Object
    calls: list[Object]
    facts: list[Object]
    events: list[Object]
    answer: Object | None
    trace: Object | None
    cost: Object | None


class Taken(BaseModel):
    """What became of an alert: the run that looks into it, and whether it is new."""

    alert: str
    fingerprint: str
    run: UUID | None
    is_new: bool


class AllTaken(BaseModel):
    """What became of each alert of a notification."""

    taken: list[Taken]


@router.get("/diagnoses", responses=refusals())
async def get_diagnoses(visitor: Reader, limit: Limit = 50, cursor: Cursor = None) -> Page[Object]:
    """List diagnoses, the newest first, each with how it ended."""
    after = read_cursor(cursor)
    rows = await Diagnoses(visitor.app).list(limit=limit + 1, after=after)
    return Page[Object].model_validate(page_of(rows, limit, _place, dict))


@router.post("/diagnoses", status_code=202, responses=refusals(409))
async def post_question(body: Question, visitor: Proposer, key: Key = None) -> FirstLook:
    """Store a question and answer with a first look; a worker takes it to its answer."""
    app = visitor.app
    turn_id = turn_for(app, key)
    known = await find_turn(app, turn_id) if key is not None else None
    if known is not None:
        require_same(known, body.question.encode())
    start = read_since(body.since, app.now()) if body.since else None
    wish = Wish(since=start, scope=body.scope, follow=body.follow)
    begun = await Diagnoses(app).post(body.question, wish, turn_id=turn_id)
    if key is not None:
        require_same(begun.turn, body.question.encode())  # another may have come at the same time
    opened = begun.opened
    return FirstLook.model_validate(
        {
            "turn": begun.turn.id,
            "run": opened.run,
            "calls": list(opened.calls),
            "notices": list(opened.notices),
            "reply": opened.reply,
        }
    )


@router.get("/diagnoses/{run_id}", responses=refusals(404))
async def get_diagnosis(run_id: UUID, visitor: Reader) -> DiagnosisDocument:
    """Show a diagnosis: question, calls, facts, answer, path."""
    stored = await Diagnoses(visitor.app).load(run_id)
    if stored is None:
        raise RequestRefused("request.unknown", f"There is no diagnosis {run_id}.")
    return DiagnosisDocument.model_validate(diagnosis_document(stored, None))


@router.post("/diagnoses/{run_id}/cancel", status_code=202, responses=refusals(404))
async def post_cancel(run_id: UUID, visitor: Proposer) -> DiagnosisDocument:
    """Ask a run to stop, within seconds; one that has ended stays as it is."""
    diagnoses = Diagnoses(visitor.app)
    document = await get_diagnosis(run_id, visitor)
    if document.answer is None:
        await diagnoses.cancel(run_id)
    return await get_diagnosis(run_id, visitor)


@router.post("/alerts", responses=refusals())
async def post_alerts(payload: Annotated[Object, Body()], visitor: Proposer) -> AllTaken:
    """Take a notification of Alertmanager: each alert that fires and is new begins one question."""
    taken = await Diagnoses(visitor.app).post_alerts(read_webhook(payload))
    return AllTaken.model_validate({"taken": list(map(taken_document, taken))})


def _place(row: Row) -> Place:
    return row["began_at"], row["id"]
