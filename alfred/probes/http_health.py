"""A probe that asks configured web addresses whether they answer, how fast, and with what."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import httpx

from alfred.errors import ProbeFailed
from alfred.probes.probe import Finding, Window
from alfred.probes.said import say_count, say_text
from alfred.probes.source_client import (
    is_packed,
    network_words,
    read_only_client,
    shown,
    web_address,
)
from alfred.probes.tool_call import Kind

MAX_BODY_BYTES = 2_000
MAX_BODY_CHARS = 160
BODY_S = 2.0
"""How long the beginning of a body may take; that an answer began is known by then."""
MAX_REDIRECTS = 3
MAX_TARGETS = 30


@dataclass(frozen=True, kw_only=True)
class HealthTarget:
    """One address, and whether its body is asked for."""

    url: str
    method: Literal["GET", "HEAD"] = "GET"


@dataclass(frozen=True, kw_only=True)
class HealthSettings:
    """Which addresses may be asked, by name; a service's name is a good one.

    Units: `answer_s` is how long one may take, `timeout_s` all of them.
    """

    targets: Mapping[str, HealthTarget]
    answer_s: float = 5.0
    timeout_s: float = 10.0


class HttpHealth:
    """`health`: status, latency and first words of one configured address, or of all."""

    name = "health"
    kind: Kind = "health"
    description = "Whether configured web addresses answer now: status, latency, first words."
    is_primary = True

    def __init__(self, settings: HealthSettings) -> None:
        if not 0 < len(settings.targets) <= MAX_TARGETS:
            raise ProbeFailed(
                "probe.settings",
                f"{len(settings.targets)} web addresses are configured; 1 to {MAX_TARGETS} fit.",
                hint="Name them under targets, or leave the section out.",
            )
        self._urls = {
            name: web_address(target.url, f"health target {name}")
            for name, target in settings.targets.items()
        }
        self._settings = settings
        self._client: httpx.AsyncClient | None = None
        self.timeout_s = settings.timeout_s
        self.parameters: Mapping[str, Any] = {
            "type": "object",
            "properties": {"target": {"type": "string", "enum": list(settings.targets)}},
            "required": [],
            "additionalProperties": False,
        }

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        asked = str(arguments.get("target", ""))
        names = [asked] if asked else list(self._urls)
        began = datetime.now(UTC)
        lines = await asyncio.gather(*(self._ask(name) for name in names))
        return Finding(
            asked=f"{say_count(len(names), 'web address', 'web addresses')} asked at"
            f" {began:%Y-%m-%dT%H:%M:%SZ}.",
            where=", ".join(shown(self._urls[name]) for name in names),
            lines=tuple(lines),
            start=began,
            end=datetime.now(UTC),
        )

    async def _ask(self, name: str) -> str:
        """Ask one address. That it does not answer is what was to be found out, not an error."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._settings.answer_s):
                said = await self._answer(name, self._urls[name])
        except (TimeoutError, httpx.TimeoutException):
            return f"{name}: no answer within {self._settings.answer_s:g} s"
        except httpx.HTTPError as error:
            return f"{name}: no answer: {network_words(error)}"
        milliseconds = (time.monotonic() - began) * 1000
        return f"{name}: {said[0]} after {milliseconds:.0f} ms{said[1]}"

    async def _answer(self, name: str, url: httpx.URL) -> tuple[str, str]:
        """Give status and body, following redirects within the same host."""
        method = self._settings.targets[name].method
        status = ""
        for _ in range(MAX_REDIRECTS + 1):
            async with self._opened().stream(method, url) as answer:
                status = f"status {answer.status_code}"
                if answer.next_request is None:
                    return status, await _beginning(answer)
                onwards = answer.next_request.url
            if (onwards.scheme, onwards.host, onwards.port) != (url.scheme, url.host, url.port):
                return status, f", a redirect to {say_text(shown(onwards), 120)}, not followed"
            url = onwards
        return status, f", the last of more than {MAX_REDIRECTS} redirects"

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = read_only_client(self._settings.answer_s)
        return self._client

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> None:
        return None

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None


async def _beginning(answer: httpx.Response) -> str:
    """Read the first words of a body; one that stalls is told, since the answer itself came."""
    if is_packed(answer):
        return ", a packed body"
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for piece in answer.aiter_raw():
                body += piece
                if len(body) >= MAX_BODY_BYTES:
                    break
    except TimeoutError:
        return f", its body does not end within {BODY_S:g} s"
    said = say_text(bytes(body[:MAX_BODY_BYTES]).decode("utf-8", "replace"), MAX_BODY_CHARS)
    return f', body: "{said}"' if said else ""
