"""Signing in by a link, signing out, and who is signed in."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from alfred.errors import AccessRefused
from alfred.queue.entrance import enrol
from alfred.server.documents import Me
from alfred.server.hall import UserRow
from alfred.server.refusals import refusals
from alfred.server.who import (
    COOKIE,
    Reader,
    Visitor,
    door_of,
    note_stranger,
    require_own_origin,
)
from alfred.store.tokens import SCOPES
from alfred.store.web_sessions import SESSION_LASTS, begin_session, end_session

router = APIRouter(tags=["session"])


class SignIn(BaseModel):
    """What a sign-in link has behind its `#`."""

    link: Annotated[str, Field(min_length=1, max_length=200)]


@router.post("/session", responses=refusals())
async def sign_in(body: SignIn, request: Request, response: Response) -> Me:
    """Use a sign-in link up and begin a session, which the browser keeps as a cookie."""
    door = door_of(request)
    if "origin" in request.headers:
        require_own_origin(door.site, request)
    try:
        visit = await begin_session(door.hall.pools, body.link, door.hall.now())
    except AccessRefused:
        note_stranger(door, request)
        raise
    await enrol(door.hall.pools, visit.user_id)  # what is due is told to whoever has a page open
    response.set_cookie(
        COOKIE,
        visit.secret,
        max_age=int(SESSION_LASTS.total_seconds()),
        path="/",
        httponly=True,
        samesite="strict",
        secure=door.site.is_secure,
    )
    user = UserRow(id=visit.user_id, name=visit.user)
    app = door.hall.app_of(user)
    return _me(Visitor(user=user, app=app, scopes=frozenset(SCOPES), visit=visit))


@router.delete("/session", status_code=204, responses=refusals())
async def sign_out(visitor: Reader, request: Request, response: Response) -> None:
    """End the session; a token's program has none, and nothing happens."""
    if visitor.visit is not None:
        await end_session(door_of(request).hall.pools, visitor.visit)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")


@router.get("/me", responses=refusals())
async def get_me(visitor: Reader) -> Me:
    """Tell who asks, and what changes in the session have to show."""
    return _me(visitor)


def _me(visitor: Visitor) -> Me:
    app = visitor.app
    return Me(
        user=visitor.user.name,
        language=app.settings.language,
        csrf=visitor.proof,
        scopes=[scope for scope in SCOPES if scope in visitor.scopes],
        domains=[domain.name for domain in app.domains],
    )
