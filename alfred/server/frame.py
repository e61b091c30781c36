"""What surrounds every request: its host, the size and pace of its body, the answer's headers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alfred.errors import AlfredError, RequestRefused
from alfred.server.headers import headers_for
from alfred.server.problem import problem_response
from alfred.server.site import Site

LARGE_BODIES: Mapping[str, int] = {"/v1/messages": 64_000_000, "/v1/alerts": 4_000_000}
MAX_BODY_BYTES = 1_000_000
"""The limit of every address that is not among `LARGE_BODIES`."""
PATIENCE_S = 30.0
"""How long the next piece of a body may take."""
DISCARDED_BYTES = 128_000_000
DISCARDED_S = 20.0
"""How much of a body that is refused is still read, so that its sender hears why."""


class Frame:
    """The outermost part of the server: an ASGI application around another."""

    def __init__(self, inner: ASGIApp, *, site: Site) -> None:
        self._inner = inner
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        headers = Headers(scope=scope)
        body = _Body(receive, LARGE_BODIES.get(scope["path"], MAX_BODY_BYTES))
        answer = _Answer(send, body, headers_for(scope["path"], self._site))
        try:
            if not self._site.knows_host(headers.get("host", "")):
                raise RequestRefused("request.host", "The request is meant for another host.")
            body.expect(headers.get("content-length", ""))
            await self._inner(scope, body.receive, answer.send)
        except AlfredError as error:
            await body.discard()
            await answer.refuse(scope, body.receive, error)
        else:
            if body.refusal is not None:  # it was taken for a broken body by whoever read it
                await body.discard()
                await answer.refuse(scope, body.receive, body.refusal)


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


class _Body:
    """Reads a request's body piece by piece, as much and as fast as it may be."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self._size = 0
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
            async with asyncio.timeout(PATIENCE_S):
                message = await self._receive()
        except TimeoutError as exc:
            self.refusal = RequestRefused(
                "request.too_slow", f"For {PATIENCE_S:g} s nothing more of the body came."
            )
            raise self.refusal from exc
        self._note(message)
        if self._size > self._limit:
            raise self._refused("The body is longer")
        return message

    async def discard(self) -> None:
        """Read on without keeping anything, so that the sender gets to hear the answer."""
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
