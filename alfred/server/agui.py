"""Runs in the AG-UI protocol: a message begins one, the answer to an interrupt goes on with it."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from ag_ui.core import ResumeEntry, RunAgentInput, TextPart, UserMessage
from fastapi import APIRouter, Depends, Response
from pydantic import ValidationError
from sse_starlette import ServerSentEvent

from alfred.app import App
from alfred.engine.action import unstorable
from alfred.engine.database import Role
from alfred.engine.turn import Turn
from alfred.engine.turn_event import TurnEvent, newest
from alfred.errors import AccessRefused, RequestRefused
from alfred.inbox import Inbox
from alfred.server import agui_events as agui
from alfred.server.event_stream import (
    IsOver,
    Seat,
    Stream,
    Tail,
    lasting,
    run_reader,
    text_of,
)
from alfred.server.problem import invalid
from alfred.server.refusals import refusals
from alfred.server.request_key import find_turn, require_same, turn_for
from alfred.server.routes.proposals import Correction, Decision, with_rest
from alfred.server.run_following import find_proposal, find_reply
from alfred.server.who import Reader, Visitor
from alfred.store.notifications import Bell


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A run as its client asked for it: the turn, and behind which event the run begins.

    `is_still` says that nothing was set going: the run tells at once how the turn stands.
    """

    turn_id: UUID
    after: int
    is_still: bool = False


LONGEST_RUN_S = 3_600.0
"""After so long a stream ends before its run, so that a token that was revoked hears no more."""


def add_agui(router: APIRouter, bell: Bell, seat: Seat) -> None:
    """Add the protocol's one address."""

    @router.post(
        "/agui",
        status_code=200,
        response_class=Stream,
        dependencies=[Depends(seat)],
        responses={
            **refusals(404, 409, 410),
            200: {
                "description": "The run's events, as server-sent events",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            },
        },
    )
    async def run_agent(  # pyright: ignore[reportUnusedFunction]
        body: RunAgentInput, visitor: Reader
    ) -> Response:
        """Read the last message, or go on with the review whose interrupt is answered.

        The stream ends with the run: at an interrupt, at its end, or with an error. The same run id
        sent again shows the same run. `forwardedProps.domain` names a domain.
        """
        asked = await (_resume(visitor, body.resume) if body.resume else _begin(visitor, body))
        return Stream(_told(visitor.app, bell, body, asked))


async def _begin(visitor: Visitor, body: RunAgentInput) -> Asked:
    """Store the last message and let a worker read it; one that is known is shown again."""
    app = visitor.app
    _require(visitor, "propose")
    content = _words(body).encode("utf-8", "surrogatepass")
    if reason := unstorable(body.run_id):
        raise _refused("runId", reason)
    turn_id = turn_for(app, f"agui {body.run_id}")
    is_unread = False
    if await find_turn(app, turn_id) is None:
        received = await Inbox(app).post(content, domain=_domain(body), turn_id=turn_id)
        is_unread = received.refused is not None
    require_same(await app.load_turn(turn_id), content)
    return Asked(turn_id=turn_id, after=0, is_still=is_unread)


async def _resume(visitor: Visitor, entries: list[ResumeEntry]) -> Asked:
    """Decide or correct a proposal as the answer to its interrupt says.

    One that was abandoned decides nothing: its proposal waits on.
    """
    app = visitor.app
    _require(visitor, "decide")
    if len(entries) != 1:
        raise _refused("resume", "one interrupt at a time is answered")
    entry = entries[0]
    try:
        proposal_id = UUID(entry.interrupt_id)
    except ValueError as exc:
        raise _refused("resume/0/interruptId", "it is no id of a proposal") from exc
    proposal = await app.approvals.load(app.user_id, proposal_id)
    if entry.status == "cancelled":
        return Asked(turn_id=proposal.turn_id, after=0, is_still=True)
    answer = _answer(entry.payload)
    async with app.database.transaction(Role.RUNTIME, app.user_id) as connection:
        after = await newest(connection)
    if isinstance(answer, Correction):
        now = await Inbox(app).correct(proposal_id, answer.words, seen=answer.digest)
    else:
        verdicts = with_rest(proposal, answer.verdicts, answer.rest)
        now = await Inbox(app).decide(proposal_id, verdicts, seen=answer.digest)
    return Asked(turn_id=now.turn_id, after=after, is_still=now.state == "pending")


def _answer(payload: Any) -> Decision | Correction:
    fields = cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}
    form = Correction if "words" in fields else Decision
    try:
        return form.model_validate(fields)
    except ValidationError as exc:
        places = ("body", "resume", 0, "payload")
        raise invalid([{**each, "loc": (*places, *each["loc"])} for each in exc.errors()]) from exc


def _words(body: RunAgentInput) -> str:
    """Take the words of the last message; errors: `request.invalid` where a person said nothing."""
    last = body.messages[-1] if body.messages else None
    if not isinstance(last, UserMessage):
        raise _refused("messages", "the last message has to be the user's")
    if isinstance(last.content, str):
        return last.content
    parts: Iterable[object] = last.content
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    if not texts:
        raise _refused("messages", "the last message has no text")
    return "\n".join(texts)


def _domain(body: RunAgentInput) -> str | None:
    given: Any = body.forwarded_props
    props = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    domain = props.get("domain")
    if domain is not None and not isinstance(domain, str):
        raise _refused("forwardedProps/domain", "a name is needed")
    return domain


def _require(visitor: Visitor, scope: str) -> None:
    if scope not in visitor.scopes:
        raise AccessRefused("access.scope", f"The token has not the scope {scope}.")


def _refused(place: str, message: str) -> RequestRefused:
    return invalid([{"loc": ("body", *place.split("/")), "msg": message}])


async def _told(
    app: App, bell: Bell, body: RunAgentInput, asked: Asked
) -> AsyncGenerator[ServerSentEvent]:
    """Give the events of the run that was asked for, under the ids that its client gave.

    Where no process told of the run, such as one at a command line, its end is told all the same.
    """
    is_begun = False
    if not asked.is_still:
        tail = Tail(
            app=app,
            read=run_reader(asked.turn_id),
            after=asked.after,
            is_over=lasting(_stands_still(app, asked.turn_id)),
            until=time.monotonic() + LONGEST_RUN_S,
        )
        async with aclosing(tail.events(bell)) as events:
            async for event in events:
                # Of the run before, the end may come only now.
                is_begun = is_begun or event.type == "RUN_STARTED"
                if is_begun:
                    yield _sent(event, body)
                if is_begun and event.type in agui.ENDS:
                    return
    turn = await app.load_turn(asked.turn_id)
    rows = [] if is_begun else [agui.run_started(turn, body.run_id)]
    if asked.is_still or await _is_still(app, turn):
        proposal, reply = await find_proposal(app, turn.id), await find_reply(app, turn)
        rows += agui.ended(turn, body.run_id, proposal=proposal, reply=reply)
    else:
        rows.append(agui.left())
    for kind, said in rows:
        yield _sent(TurnEvent(seq=0, type=kind, body=said), body)


def _sent(event: TurnEvent, body: RunAgentInput) -> ServerSentEvent:
    ids = {"threadId": body.thread_id, "runId": body.run_id}
    said = {**event.body, **{name: value for name, value in ids.items() if name in event.body}}
    return ServerSentEvent(
        data=text_of(TurnEvent(seq=event.seq, type=event.type, body=said)), sep="\n"
    )


def _stands_still(app: App, turn_id: UUID) -> IsOver:
    """Say whether a turn waits for nobody but its person, though none told so."""

    async def is_over() -> bool:
        return await _is_still(app, await app.load_turn(turn_id))

    return is_over


async def _is_still(app: App, turn: Turn) -> bool:
    if turn.state != "waiting":
        return turn.state in ("done", "failed")
    proposal = await find_proposal(app, turn.id)
    return proposal is not None and proposal.state == "pending"
