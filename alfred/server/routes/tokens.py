"""Tokens of programs: made, listed, revoked."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from alfred.engine.action import text
from alfred.engine.database import Row
from alfred.errors import AccessRefused
from alfred.server.documents import NewToken, TokenDocument
from alfred.server.page import Page
from alfred.server.refusals import refusals
from alfred.server.who import Admin, Visitor
from alfred.store.tokens import Scope, create_token, list_tokens, revoke_token

router = APIRouter(tags=["tokens"])


class TokenWish(BaseModel):
    """A token to be made: what it is for, what it may, and for how long."""

    model_config = ConfigDict(extra="forbid")
    name: Annotated[str, text(100)]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=4)]
    days: Annotated[int, Field(ge=1, le=366)] = 90


@router.get("/tokens", responses=refusals())
async def get_tokens(visitor: Admin) -> Page[TokenDocument]:
    """List tokens, the newest first, also those that let in no more; they are few."""
    rows = await list_tokens(visitor.app.database, visitor.user_id)
    return Page[TokenDocument].model_validate({"items": list(map(_document, rows)), "next": None})


@router.post("/tokens", status_code=201, responses=refusals())
async def post_token(body: TokenWish, visitor: Admin) -> NewToken:
    """Make a token; its text is told this once.

    A token makes none that may more than it may itself.
    """
    _require_own(visitor, body.scopes)
    expires_at = visitor.app.now() + timedelta(days=body.days)
    row, secret = await create_token(
        visitor.app.database, visitor.user_id, body.name, body.scopes, expires_at
    )
    return NewToken.model_validate({**_document(row), "token": secret})


@router.delete("/tokens/{token_id}", status_code=204, responses=refusals(404))
async def delete_token(token_id: UUID, visitor: Admin) -> None:
    """Revoke a token: its next request is refused."""
    await revoke_token(visitor.app.database, visitor.user_id, token_id, visitor.app.now())


def _require_own(visitor: Visitor, scopes: list[Scope]) -> None:
    beyond = sorted(set(scopes) - visitor.scopes)
    if beyond:
        raise AccessRefused("access.scope", f"This token may not {', '.join(beyond)} itself.")


def _document(row: Row) -> dict[str, Any]:
    return {**row, "last_used": row["used_at"]}
