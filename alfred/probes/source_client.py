"""The one HTTP client of probes: GET and HEAD, bounded in bytes and seconds, no redirects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, cast

import httpx

from alfred.errors import ProbeFailed
from alfred.probes.regular_file import read_secret
from alfred.probes.said import say_text

MAX_BYTES = 4_000_000
"""How much of one answer is read."""
READ_METHODS = frozenset({"GET", "HEAD"})
CLOCK_TOLERANCE_S = 30
_UNPACKED = frozenset({"", "identity"})


class ReadOnlyTransport(httpx.AsyncBaseTransport):
    """Lets through what reads; whatever else is asked of the client never reaches the network."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method not in READ_METHODS:
            raise ProbeFailed(
                "probe.refused",
                f"{request.method} {request.url.host} would change something; probes only read.",
                hint="Use GET or HEAD.",
            )
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def read_only_client(
    timeout_s: float, headers: Mapping[str, str] | None = None
) -> httpx.AsyncClient:
    """Make a client that can only read, follows no redirect and uses no proxy."""
    return httpx.AsyncClient(
        transport=ReadOnlyTransport(httpx.AsyncHTTPTransport(trust_env=False)),
        timeout=timeout_s,
        # Unpacked, a few bytes may become gigabytes before anybody can count them.
        headers={"user-agent": "alfred", "accept-encoding": "identity", **(headers or {})},
        follow_redirects=False,
        trust_env=False,
    )


@dataclass(frozen=True, kw_only=True)
class SourceAnswer:
    """What a source answered. `clock_s` is how far its clock is ahead of ours; None: not said."""

    status: int
    body: bytes
    clock_s: float | None


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a source is: `url` without query, credentials in a file or in the URL."""

    name: str
    url: str
    token_file: Path | None = None
    timeout_s: float = 10.0
    max_bytes: int = MAX_BYTES


class SourceClient:
    """Asks one source; its address is told without credentials."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._url = web_address(source.url, source.name)
        self.where = f"{source.name} at {shown(self._url)}"
        self._client: httpx.AsyncClient | None = None

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> SourceAnswer:
        """Read one answer.

        Errors: `ProbeFailed` with `probe.unreachable` or `probe.too_much`; TimeoutError when the
        source accepts the question and does not answer.
        """
        url = self._url.copy_with(path=self._url.path.rstrip("/") + path)
        try:
            async with self._opened().stream("GET", url, params=params) as answer:
                body = await self._read(answer)
                return SourceAnswer(
                    status=answer.status_code, body=body, clock_s=_clock_s(answer.headers)
                )
        except (httpx.ReadTimeout, httpx.PoolTimeout, httpx.WriteTimeout) as exc:
            raise TimeoutError(f"{self.where} did not answer in time.") from exc
        except httpx.HTTPError as exc:
            raise self.unreachable(exc) from exc

    def unreachable(self, error: httpx.HTTPError) -> ProbeFailed:
        """Say that the source does not answer, and what the network said."""
        return ProbeFailed(
            "probe.unreachable",
            f"{self.where} does not answer: {network_words(error)}.",
            hint="Check that it runs and that its address in the tools file is right.",
        )

    async def _read(self, answer: httpx.Response) -> bytes:
        if is_packed(answer):
            raise ProbeFailed(
                "probe.answer",
                f"{self.where} answered with packed bytes, which were not asked for.",
                hint="Let whatever stands before it pass the header accept-encoding on.",
            )
        body = bytearray()
        async for piece in answer.aiter_raw(65_536):
            body += piece
            if len(body) > self._source.max_bytes:
                raise ProbeFailed(
                    "probe.too_much",
                    f"{self.where} answered with more than {self._source.max_bytes:,} bytes;"
                    " the rest was not read.",
                    hint="Ask for less: fewer series, a narrower selector or a shorter window.",
                )
        return bytes(body)

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            token_file = self._source.token_file
            headers = {"authorization": f"Bearer {_token(token_file)}"} if token_file else {}
            self._client = read_only_client(self._source.timeout_s, headers)
        return self._client

    async def aclose(self) -> None:
        """Close the connections; asking again opens new ones."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None


def is_packed(answer: httpx.Response) -> bool:
    """Say whether an answer's body would have to be unpacked."""
    return answer.headers.get("content-encoding", "identity").strip().lower() not in _UNPACKED


def web_address(url: str, name: str) -> httpx.URL:
    """Parse a configured address. Errors: `probe.settings`; the address itself is not repeated."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError) as exc:
        raise _no_address(name) from exc
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise _no_address(name)
    return parsed


def _no_address(name: str) -> ProbeFailed:
    return ProbeFailed(
        "probe.settings",
        f"The url of {name} is not a web address.",
        hint="Write http://HOST:PORT or https://HOST.",
    )


def shown(url: httpx.URL) -> str:
    """Write an address without user, password and query."""
    return str(url.copy_with(username=None, password=None, query=None, fragment=None)).rstrip("/")


def network_words(error: httpx.HTTPError) -> str:
    """Say in a few words what the network said."""
    if isinstance(error, httpx.ConnectTimeout):
        return "no connection within the time given"
    return say_text(str(error), 160).rstrip(".") or type(error).__name__


def json_object(answer: SourceAnswer, where: str) -> dict[str, Any]:
    """Parse an answer that has to be a JSON object. Errors: `probe.answer`."""
    try:
        value = json.loads(answer.body.decode("utf-8"))
    except (ValueError, RecursionError) as exc:
        is_page = answer.body.lstrip()[:1] == b"<"
        what = "a web page, not JSON" if is_page else "something that is not JSON"
        raise _not_its_language(where, what, answer.status) from exc
    if not isinstance(value, dict):
        raise _not_its_language(where, "JSON that is no object", answer.status)
    return cast("dict[str, Any]", value)


def _not_its_language(where: str, what: str, status: int) -> ProbeFailed:
    return ProbeFailed(
        "probe.answer",
        f"{where} answered with {what} (status {status}).",
        hint="Check the address: a proxy or a login page may stand before it.",
    )


def clock_sentence(clock_s: float | None) -> str:
    """Say that a source's clock differs from ours; nothing where it does not, or is not known."""
    if clock_s is None or abs(clock_s) <= CLOCK_TOLERANCE_S:
        return ""
    side = "ahead of" if clock_s > 0 else "behind"
    return f" Its clock is {abs(clock_s):.0f} s {side} ours; times are given as it gave them."


def _clock_s(headers: httpx.Headers) -> float | None:
    try:
        told = parsedate_to_datetime(headers["date"])
    except (KeyError, ValueError, OverflowError):
        return None
    return (told.replace(tzinfo=told.tzinfo or UTC) - datetime.now(UTC)).total_seconds()


def _token(path: Path) -> str:
    try:
        token = read_secret(path)
        if " " in token or not token.isascii():
            raise ValueError("it does not hold one word")
    except (OSError, ValueError) as exc:
        raise ProbeFailed(
            "probe.settings",
            f"The token file {path} cannot be read.",
            hint="Write the token alone into it, or correct token_file.",
        ) from exc
    return token
