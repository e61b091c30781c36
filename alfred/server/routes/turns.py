"""Turns: what came in, how far it is, and the path it took."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import BaseModel

from alfred.app import App
from alfred.cli.document import trace_document, turn_document
from alfred.engine.database import Row
from alfred.engine.trace import read_trace, transitions
from alfred.engine.turn import Turn
from alfred.inbox import Inbox
from alfred.server.documents import FullTurn, Posted, Trace, TurnDocument
from alfred.server.drawings import ROOT
from alfred.server.page import Cursor, Limit, Page, page_of, read_cursor
from alfred.server.refusals import refusals
from alfred.server.who import Proposer, Reader, door_of
from alfred.services.queries.turns import list_turns, newest_proposal

router = APIRouter(tags=["turns"])


class Again(BaseModel):
    """Which domain is to read the message; without one the nodes' rules choose."""

    domain: str | None = None


@router.get("/turns", responses=refusals())
async def get_turns(
    visitor: Reader, limit: Limit = 50, cursor: Cursor = None
) -> Page[TurnDocument]:
    """List turns, the newest first."""
    after = read_cursor(cursor)
    async with visitor.app.reading() as connection:
        rows = await list_turns(connection, after=after, limit=limit + 1)
    page = page_of(rows, limit, lambda row: (row["created_at"], row["id"]), _listed)
    return Page[TurnDocument].model_validate(page)


@router.get("/turns/{turn_id}", responses=refusals(404))
async def get_turn(turn_id: UUID, visitor: Reader) -> FullTurn:
    """Tell everything about a turn."""
    app = visitor.app
    turn = await app.load_turn(turn_id)
    document = await describe_turn(app, turn)
    reply = await app.runs.load_reply(turn) if turn.state != "running" else None
    problems = [turn.problem] if turn.problem else []
    return FullTurn.model_validate({**document, "reply": reply, "problems": problems})


@router.post("/turns/{turn_id}/again", status_code=202, responses=refusals(404, 415))
async def post_again(turn_id: UUID, visitor: Proposer, body: Again | None = None) -> Posted:
    """Start a new turn for the message of an earlier one, such as one that had no model."""
    app = visitor.app
    received = await Inbox(app).post_again(turn_id, domain=body.domain if body else None)
    turn = await app.load_turn(received.turn_id)
    return Posted(turn=turn.id, message=turn.message_id, state=turn.state)


@router.get("/turns/{turn_id}/trace", responses=refusals(404))
async def get_trace(turn_id: UUID, visitor: Reader, request: Request) -> Trace:
    """Tell each step of a turn: outcome, reason, time and tokens, and never a word."""
    app = visitor.app
    turn = await app.load_turn(turn_id)
    events = await read_trace(app.database, app.user_id, turn.id)
    taken = transitions(events, door_of(request).hall.drawings.edges_of(ROOT))
    return Trace.model_validate(trace_document(turn, events, taken))


async def describe_turn(app: App, turn: Turn) -> dict[str, Any]:
    """Describe a turn with its words and the newest proposal."""
    async with app.reading() as connection:
        proposal = await newest_proposal(connection, turn.id)
    return {
        **turn_document(turn),
        "thread": turn.thread_id,
        "text": turn.text,
        "proposal": proposal,
    }


def _listed(row: Row) -> dict[str, Any]:
    return {**row, "turn": row["id"], "thread": row["thread_id"]}
