"""What surrounds every request: its host, the size and pace of its body, the answer's headers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alfred.errors import AlfredError, RequestRefused, ServerFailed
from alfred.server.fault import place_of
from alfred.server.headers import headers_for
from alfred.server.problem import problem_response
from alfred.server.site import Site

log = logging.getLogger("alfred.server")

BODY_LIMITS: Mapping[str, int] = {
    "/v1/messages": 64_000_000,
    "/v1/alerts": 4_000_000,
    "/v1/session": 10_000,  # read before anybody is let in
}
MAX_BODY_BYTES = 1_000_000
"""The limit of every address that is not among `BODY_LIMITS`."""
PATIENCE_S = 30.0
"""How long the next piece of a body may take, and the whole beyond its slowest pace."""
SLOWEST_BYTES_PER_S = 1_000
MAX_HELD_BYTES, RETRY_AFTER_S = 130_000_000, 5
"""Two of the largest bodies at once: to read one takes several times the memory of its bytes."""
DISCARDED_BYTES = 128_000_000
DISCARDED_S = 20.0
"""How much of a body that is refused is still read, so that its sender hears why."""


class Frame:
    """The outermost part of the server: an ASGI application around another."""

    def __init__(self, inner: ASGIApp, *, site: Site) -> None:
        self._inner = inner
        self._site = site
        self._room = _Room()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        headers = Headers(scope=scope)
        body = _Body(receive, BODY_LIMITS.get(scope["path"], MAX_BODY_BYTES), self._room)
        answer = _Answer(send, body, headers_for(scope["path"], self._site))
        try:
            if not self._site.knows_host(headers.get("host", "")):
                raise RequestRefused("request.host", "The request is meant for another host.")
            body.expect(headers.get("content-length", ""))
            await self._inner(scope, body.receive, answer.send)
        except AlfredError as error:
            await body.discard()
            await answer.refuse(scope, body.receive, error)
        except ClientDisconnect:
            log.info("A client vanished in mid-request.", extra={"action": "request.vanish"})
        except Exception as error:  # the last handler: what nobody thought of
            _report(scope, error)
            await answer.refuse(scope, body.receive, body.refusal or _failed())
        else:
            if body.refusal is not None:  # it was taken for a broken body by whoever read it
                await body.discard()
                await answer.refuse(scope, body.receive, body.refusal)
        finally:
            body.leave()


def _report(scope: Scope, error: Exception) -> None:
    """Log what broke, and where; what an error says may repeat a user's words."""
    log.error(
        "%s %s failed: %s",
        scope["method"],
        scope["path"],
        place_of(error),
        extra={"action": "request.fail"},
    )


def _failed() -> ServerFailed:
    return ServerFailed(
        "server.failed",
        "The server met what nobody thought of; its log says where.",
        hint="What was stored stays. Try again, and report it if it happens again.",
    )


class _Answer:
    """Sends what the application answers with our headers; nothing of it once a body is refused."""

    def __init__(self, send: Send, body: _Body, headers: Mapping[str, str]) -> None:
        self._send = send
        self._body = body
        self._headers = headers
        self._has_begun = False

    async def send(self, message: Message) -> None:
        if self._body.refusal is None or self._has_begun:
            await self._pass(message)

    async def refuse(self, scope: Scope, receive: Receive, error: AlfredError) -> None:
        if not self._has_begun:
            await problem_response(error)(scope, receive, self._pass)

    async def _pass(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._has_begun = True
            headers = MutableHeaders(scope=message)
            for name, value in self._headers.items():
                headers.setdefault(name, value)
        await self._send(message)


class _Room:
    """How much of large bodies the process holds, each beyond what any body may have."""

    def __init__(self) -> None:
        self.held = 0


class _Body:
    """Reads a request's body piece by piece, as much and as fast as it may be."""

    def __init__(self, receive: Receive, limit: int, room: _Room) -> None:
        self._receive = receive
        self._limit = limit
        self._room = room
        self._share = 0
        self._size = 0
        self._begun_at_s = time.monotonic()
        self._is_complete = False
        self.refusal: RequestRefused | None = None

    def expect(self, length: str) -> None:
        """Refuse a body whose announced length is too much, before any of it is read."""
        if length.isdecimal() and int(length) > self._limit:
            raise self._refused(f"The body has {int(length):,} bytes")

    async def receive(self) -> Message:
        if self._is_complete:
            return await self._receive()
        try:
            async with asyncio.timeout(self._patience_s()):
                message = await self._receive()
        except TimeoutError as exc:
            self.refusal = RequestRefused(
                "request.too_slow",
                f"Of the body {self._size:,} bytes came, and then too little for too long.",
            )
            raise self.refusal from exc
        self._note(message)
        if self._size > self._limit:
            raise self._refused("The body is longer")
        self._hold(max(0, self._size - MAX_BODY_BYTES))
        return message

    def leave(self) -> None:
        """Make room for others: nothing of this body is held any more."""
        self._room.held -= self._share
        self._share = 0

    def _hold(self, share: int) -> None:
        self._room.held += share - self._share
        self._share = share
        if self._room.held > MAX_HELD_BYTES:
            self.refusal = RequestRefused(
                "request.too_many",
                "As many large bodies are being read as there is room for.",
                retry_after_s=RETRY_AFTER_S,
            )
            raise self.refusal

    def _patience_s(self) -> float:
        """Give how long may be waited for more; single bytes now and then do not prolong it."""
        spent_s = time.monotonic() - self._begun_at_s
        return min(PATIENCE_S, PATIENCE_S + self._size / SLOWEST_BYTES_PER_S - spent_s)

    async def discard(self) -> None:
        """Read on without keeping anything, so that the sender gets to hear the answer."""
        self.leave()
        with suppress(TimeoutError):
            async with asyncio.timeout(DISCARDED_S):
                while not self._is_complete and self._size <= DISCARDED_BYTES:
                    self._note(await self._receive())

    def _note(self, message: Message) -> None:
        self._size += len(message.get("body", b""))
        self._is_complete = message["type"] != "http.request" or not message.get("more_body")

    def _refused(self, told: str) -> RequestRefused:
        self.refusal = RequestRefused(
            "request.too_large", f"{told}; at most {self._limit:,} bytes are taken here."
        )
        return self.refusal
