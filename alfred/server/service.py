"""The server as a task of this process: it begins with its socket and ends when it is told to."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from alfred.server.connection import Connection

GRACE_S = 10
"""How long requests may go on once the server was told to stop."""


@dataclass(frozen=True, kw_only=True)
class Encryption:
    """Certificate and private key, as PEM files; both or none."""

    certificate: Path | None = None
    key: Path | None = None


class _Server(uvicorn.Server):
    """Leaves signals to the process, which has a worker to end as well."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


async def serve(
    application: ASGIApp,
    listening: socket.socket,
    stop: asyncio.Event,
    *,
    encryption: Encryption | None = None,
    is_proxied: bool = False,
) -> None:
    """Answer requests that come in by a socket, until `stop` is set.

    Behind a proxy of this machine its word counts for who asks. Requests that go on then have ten
    seconds.
    """
    encryption = encryption or Encryption()
    config = uvicorn.Config(
        application,
        http=Connection,
        ws="none",
        log_level="warning",
        timeout_graceful_shutdown=GRACE_S,
        server_header=False,
        proxy_headers=is_proxied,
        ssl_certfile=encryption.certificate,
        ssl_keyfile=encryption.key,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    ending = asyncio.create_task(stop.wait())
    await asyncio.wait([serving, ending], return_when=asyncio.FIRST_COMPLETED)
    ending.cancel()
    server.should_exit = True
    await serving
