"""One request over a guarded connection, and its answer in bounded pieces."""

from __future__ import annotations

import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpcore
import httpx

from alfred import __version__
from alfred.errors import InputRefused
from alfred.inputs.link import SAVE_IT, port_of
from alfred.inputs.robots import AGENT

HEADERS = [
    (b"User-Agent", f"{AGENT}/{__version__} (one page, at its user's request)".encode()),
    (b"Accept", b"text/html, application/xhtml+xml, text/plain;q=0.9, */*;q=0.1"),
    (b"Accept-Encoding", b"gzip"),
]
"""All that a site is told. There is no cookie, no key and no referring page."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a site answers; the body is fetched only when it is read.

    Shapes: header names in lower case; of several values the last counts.
    """

    url: httpx.URL
    status: int
    headers: Mapping[str, str]
    stream: AsyncIterator[bytes]

    @property
    def location(self) -> str | None:
        """Where the site redirects to; None if it does not."""
        return self.headers.get("location") if self.status in _REDIRECTS else None

    async def read(self, max_bytes: int) -> bytes:
        """Read the whole body, unpacked.

        Errors: `input.too_large` beyond `max_bytes`; `input.unreadable` for a body whose
        compression cannot be undone; `input.unreachable` where it ends too early.
        """
        body, is_whole = await self.read_beginning(max_bytes)
        if not is_whole:
            raise InputRefused(
                "input.too_large",
                f"The page at {self.url.host} has more than {max_bytes:,} bytes.",
                hint="Open it in your browser and capture only the part that matters.",
                limit=max_bytes,
            )
        return body

    async def read_beginning(self, max_bytes: int) -> tuple[bytes, bool]:
        """Read at most so many bytes of the body, unpacked; say whether that was all.

        What comes over the wire is bounded alike: a compressed body may unpack to nothing.
        """
        unpack = self._unpacker()
        body, wire = bytearray(), 0
        async for piece in self.stream:
            wire += len(piece)
            body += unpack.next(piece, max_bytes + 1 - len(body)) if unpack else piece
            if max(wire, len(body)) > max_bytes:
                return bytes(body[:max_bytes]), False
        if unpack and wire and not unpack.is_complete:
            raise _unreachable(self.url, "broke off in the midst of the page")
        return bytes(body), True

    def _unpacker(self) -> _Unpacker | None:
        coding = self.headers.get("content-encoding", "").strip().lower()
        if coding in ("", "identity"):
            return None
        if coding not in ("gzip", "x-gzip", "deflate"):
            raise _unreadable(self.url, f"is packed as {coding[:40]}, which was not asked for")
        return _Unpacker(self.url)


class _Unpacker:
    """Undoes gzip piece by piece, never further than asked: a bomb goes off no more than that."""

    def __init__(self, url: httpx.URL) -> None:
        self._url = url
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)

    @property
    def is_complete(self) -> bool:
        return self._stream.eof

    def next(self, piece: bytes, max_bytes: int) -> bytes:
        """Unpack a piece to at most `max_bytes`, which is more than 0; what is over is lost."""
        unpacked = bytearray()
        while piece and len(unpacked) < max_bytes:
            if self._stream.eof:  # gzip files may follow one another
                self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
            try:
                unpacked += self._stream.decompress(piece, max_bytes - len(unpacked))
            except zlib.error as exc:
                raise _unreadable(self._url, "cannot be unpacked") from exc
            piece = self._stream.unconsumed_tail or self._stream.unused_data
        return bytes(unpacked)


@asynccontextmanager
async def open_answer(
    pool: httpcore.AsyncConnectionPool, url: httpx.URL, *, connect_s: float
) -> AsyncGenerator[Answer]:
    """Ask a site for a page; failures here and while reading the answer come in Alfred's words.

    Errors: those of `GuardedNetwork`; `input.tls`, `input.timeout`, `input.unreachable`.
    """
    wire_url = httpcore.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )
    timeouts = {"timeout": {"connect": connect_s}}
    try:
        async with pool.stream("GET", wire_url, headers=HEADERS, extensions=timeouts) as response:
            yield Answer(
                url=url,
                status=response.status,
                headers={_text(name).lower(): _text(value) for name, value in response.headers},
                stream=response.aiter_stream(),
            )
    except httpcore.TimeoutException as exc:
        raise InputRefused(
            "input.timeout", f"{url.host} did not answer in time.", hint="Try again later."
        ) from exc
    except (httpcore.NetworkError, httpcore.ProtocolError) as exc:
        raise _translated(url, exc) from exc


def _text(value: bytes) -> str:
    """Decode a header; addresses in it may be UTF-8 although no standard says so."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _translated(url: httpx.URL, exc: Exception) -> InputRefused:
    failure = _tls_failure(exc)
    if isinstance(failure, ssl.SSLCertVerificationError):
        return InputRefused(
            "input.tls",
            f"{url.host} cannot prove that it is {url.host}: {failure.verify_message}.",
            hint=f"Check the link. {SAVE_IT}",
        )
    if failure is not None:
        return InputRefused(
            "input.tls",
            f"{url.host} speaks no TLS that Alfred accepts on port {port_of(url)}"
            f" ({failure.reason or failure}).",
            hint=f"Check whether the link should begin with http://. {SAVE_IT}",
        )
    if isinstance(exc, httpcore.ConnectError):
        return _unreachable(url, f"accepts no connection on port {port_of(url)}")
    if isinstance(exc, httpcore.ProtocolError):
        return _unreachable(url, f"broke off, or answered with something that is not HTTP ({exc})")
    return _unreachable(url, "broke the connection off")


def _tls_failure(exc: BaseException | None) -> ssl.SSLError | None:
    """Find the TLS error that another error was made of."""
    while exc is not None:
        if isinstance(exc, ssl.SSLError):
            return exc
        exc = exc.__cause__ or exc.__context__
    return None


def _unreachable(url: httpx.URL, what: str) -> InputRefused:
    return InputRefused("input.unreachable", f"{url.host} {what}.", hint="Try again later.")


def _unreadable(url: httpx.URL, what: str) -> InputRefused:
    return InputRefused("input.unreadable", f"The page at {url.host} {what}.", hint=SAVE_IT)
