"""The job domain's addresses: postings, applications, what is due, the funnel."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from alfred.api.job_documents import (
    ApplicationDocument,
    DueDocument,
    FullPosting,
    FunnelDocument,
    PostingDocument,
)
from alfred.cli.document import proposal_document
from alfred.engine.command import Wanted
from alfred.engine.database import Row
from alfred.errors import ActionRefused, RequestRefused
from alfred.server.documents import ProposalDocument
from alfred.server.page import Cursor, Limit, Page, page_of, read_cursor
from alfred.server.refusals import refusals
from alfred.server.request_key import Key, find_turn, require_same, turn_for
from alfred.server.who import Proposer, Reader
from alfred.services.application import Status, require_change
from alfred.services.funnel import count_funnel
from alfred.services.queries.applications import list_applications
from alfred.services.queries.due import list_due
from alfred.services.queries.history import list_changes
from alfred.services.queries.jobs import get_posting, list_postings
from alfred.services.queries.matching import find_needs
from alfred.store.reading import Place

router = APIRouter(tags=["job"])
MAX_NEEDS = 10
STATUS_WORDS: Mapping[str, Mapping[Status, str]] = {
    "zh": {
        "saved": "已收藏",
        "applied": "已投递",
        "interviewing": "面试中",
        "offer": "已录用",
        "rejected": "被拒",
        "withdrawn": "已撤回",
    }
}
"""How a move is worded as the message that it is kept as; where nothing stands, by its name."""
Days = Annotated[int, Query(ge=1, le=3650)]


def make_router() -> APIRouter:
    """Give the domain's router."""
    return router


class NewStatus(BaseModel):
    """Where an application is to stand."""

    model_config = ConfigDict(extra="forbid")
    status: Status
    applied_on: Annotated[date | None, Field(description="The day of applying")] = None


@router.get("/jobs", responses=refusals())
async def get_postings(
    visitor: Reader,
    needs: Annotated[
        list[str],
        Query(max_length=MAX_NEEDS, description="Only those that ask for all these skills."),
    ] = [],  # noqa: B006 - FastAPI copies it
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[PostingDocument]:
    """List stored postings, the newest first."""
    after = read_cursor(cursor)
    if any(not words.strip() for words in needs):
        raise RequestRefused("request.invalid", "A blank names no skill.")
    async with visitor.app.reading() as connection:
        rows = await list_postings(connection, after=after, limit=None if needs else limit + 1)
        asked = [await find_needs(connection, words) for words in needs]
    fitting = [row for row in rows if all(row["id"] in found for found in asked)]
    page = page_of(fitting[: limit + 1], limit, _place, dict)
    return Page[PostingDocument].model_validate(page)


@router.get("/jobs/funnel", responses=refusals())
async def get_funnel(visitor: Reader, within: Days | None = None) -> FunnelDocument:
    """Count how far applications got; with `within` only those of so many days."""
    now = visitor.app.now()
    since = now.date() - timedelta(days=within) if within is not None else None
    async with visitor.app.reading() as connection:
        changes = await list_changes(connection)
    counted = count_funnel(changes, now.tzinfo or UTC, since=since)
    return FunnelDocument.model_validate({"since": since, **counted})


@router.get("/jobs/{posting_id}", responses=refusals(404))
async def get_one_posting(posting_id: UUID, visitor: Reader) -> FullPosting:
    """Show a posting with everything that belongs to it."""
    return FullPosting.model_validate(await _find(visitor, posting_id))


@router.get("/applications", responses=refusals())
async def get_applications(
    visitor: Reader,
    status: Annotated[Status | None, Query(description="Only those.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[ApplicationDocument]:
    """List applications, the newest first."""
    after = read_cursor(cursor)
    async with visitor.app.reading() as connection:
        rows = await list_applications(connection, status=status, after=after, limit=limit + 1)
    return Page[ApplicationDocument].model_validate(page_of(rows, limit, _place, dict))


@router.post("/applications/{job_id}/status", status_code=201, responses=refusals(404, 409))
async def post_status(
    job_id: UUID, body: NewStatus, visitor: Proposer, key: Key = None
) -> ProposalDocument:
    """Propose to move the application to a posting; it is decided like every proposal."""
    app = visitor.app
    found = await _find(visitor, job_id)
    application, name = found["application"], f"{found['company']}: {found['title']}"
    day = body.applied_on.isoformat() if body.applied_on else None
    told = STATUS_WORDS.get(app.settings.language, {}).get(body.status, body.status)
    words = f"{found['title']} · {found['company']} → {told}" + (f" ({day})" if day else "")
    turn_id = turn_for(app, key)
    known = await find_turn(app, turn_id) if key is not None else None
    if known is not None:
        require_same(known, words.encode())
    elif application is not None:
        require_change(application["status"], body.status, name)
    args = {"posting": str(job_id), "status": body.status, **({"applied_on": day} if day else {})}
    wanted = [Wanted(kind="record_application", args=args)]
    proposal = await app.propose_actions(words, wanted, turn_id=turn_id)
    if key is not None:
        require_same(await app.load_turn(turn_id), words.encode())  # of two at once
    return ProposalDocument.model_validate(proposal_document(proposal))


@router.get("/reminders", responses=refusals())
async def get_reminders(visitor: Reader, within: Days = 14) -> Page[DueDocument]:
    """List what is overdue and what falls due within some days; all of it at once."""
    async with visitor.app.reading() as connection:
        due = await list_due(connection, now=visitor.app.now(), days=within)
    return Page[DueDocument].model_validate({"items": due, "next": None})


async def _find(visitor: Reader, posting_id: UUID) -> dict[str, Any]:
    try:
        async with visitor.app.reading() as connection:
            return await get_posting(connection, str(posting_id))
    except ActionRefused as exc:
        raise RequestRefused("request.unknown", f"There is no posting {posting_id}.") from exc


def _place(row: Row) -> Place:
    moment: datetime = row["created_at"]
    return moment, row["id"]
