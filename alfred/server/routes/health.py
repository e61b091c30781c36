"""Whether the server can work; the one address, beside signing in, that asks nobody's name."""

from __future__ import annotations

from fastapi import APIRouter, Request

from alfred import __version__
from alfred.engine.database import Role
from alfred.server.documents import Health
from alfred.server.refusals import refusals
from alfred.server.who import door_of

router = APIRouter(tags=["health"])


@router.get("/health", responses=refusals())
async def get_health(request: Request) -> Health:
    """Say that the server runs and its database answers."""
    hall = door_of(request).hall
    async with hall.pools.transaction(Role.READER, hall.first.user_id) as connection:
        await connection.execute("SELECT 1")
    return Health(status="ok", version=__version__)
