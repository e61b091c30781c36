"""The addresses of streams: what a turn's run tells, what changes for the user, AG-UI's runs."""

from __future__ import annotations

import time
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Response

from alfred.app import App
from alfred.engine.database import Role
from alfred.engine.turn_event import newest, read_run
from alfred.server.agui import add_agui
from alfred.server.event_stream import (
    Stream,
    Tail,
    as_sent,
    at_rest,
    change_reader,
    is_told,
    never,
    run_reader,
    seats,
)
from alfred.server.hall import Hall
from alfred.server.refusals import refusals
from alfred.server.who import Reader

LONGEST_S = 300.0
"""After so long a stream ends, and its client comes back with what lets it in."""
Place = Annotated[
    int | None,
    Header(
        alias="Last-Event-ID",
        ge=0,
        le=2**63 - 1,
        description="The id of the last event that came; the stream goes on behind it.",
    ),
]
STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


def events_router(hall: Hall) -> APIRouter:
    """Make the addresses of streams, which share one listening connection."""
    router, bell, seat = APIRouter(tags=["events"]), hall.bell, seats()

    @router.get(
        "/turns/{turn_id}/events",
        status_code=200,
        response_class=Stream,
        dependencies=[Depends(seat)],
        responses={
            **refusals(404),
            **STREAM,
            204: {"description": "The turn has come to its end, and everything was told."},
        },
    )
    async def get_turn_events(  # pyright: ignore[reportUnusedFunction]
        turn_id: UUID, visitor: Reader, place: Place = None
    ) -> Response:
        """Follow the runs of a turn, from their beginning or from where the client was."""
        app = visitor.app
        turn = await app.load_turn(turn_id)
        after = min(place or 0, await _newest(app))
        if turn.state in ("done", "failed") and await _has_heard(app, turn_id, after):
            return Response(status_code=204)
        tail = Tail(
            app=app,
            read=run_reader(turn_id),
            after=after,
            is_over=at_rest(app, turn_id),
            until=time.monotonic() + LONGEST_S,
        )
        return Stream(as_sent(tail.events(bell)))

    @router.get(
        "/events",
        status_code=200,
        response_class=Stream,
        dependencies=[Depends(seat)],
        responses={**refusals(), **STREAM},
    )
    async def get_events(  # pyright: ignore[reportUnusedFunction]
        visitor: Reader, place: Place = None
    ) -> Response:
        """Follow what changes for the user from now on, or from where the client was.

        Each event names what to look at anew: `{type: turn|proposal|due, id, state}`; one may come
        twice.
        """
        app = visitor.app
        now = await _newest(app)
        tail = Tail(
            app=app,
            read=change_reader(),
            after=now if place is None else min(place, now),
            is_over=never,
            until=time.monotonic() + LONGEST_S,
        )
        return Stream(as_sent(tail.events(bell)))

    add_agui(router, bell, seat)
    return router


async def _newest(app: App) -> int:
    async with app.database.transaction(Role.RUNTIME, app.user_id) as connection:
        return await newest(connection)


async def _has_heard(app: App, turn_id: UUID, after: int) -> bool:
    async with app.database.transaction(Role.RUNTIME, app.user_id) as connection:
        rest = await read_run(connection, turn_id, after=after)
    return not rest and await is_told(app, turn_id)
