"""Connections that are made only to addresses a guard permits."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, cast

import httpcore

from alfred.errors import InputRefused
from alfred.inputs.address_guard import AddressGuard

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Turns a host's name and a port into addresses, the preferred one first.

Errors: `OSError` or `UnicodeError` for a name that has none.
"""
MAX_ADDRESSES = 4
"""How many of a host's addresses are tried in turn."""


async def resolve_by_system(host: str, port: int) -> list[str]:
    """Ask the system for a host's addresses, as every program does."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Resolves a name once and connects to one of the addresses that it then checked.

    Nothing is asked again between check and connection, so that a name that changes its answer
    (DNS rebinding) gains nothing. TLS and the Host header keep the name; httpcore takes both from
    the URL.
    """

    def __init__(self, guard: AddressGuard, resolve: Resolve) -> None:
        self._guard = guard
        self._resolve = resolve
        self._network = cast(httpcore.AsyncNetworkBackend, httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to a host.

        Units: `timeout` in seconds for each address.
        Errors: `input.dns`, `input.private_address`; httpcore's for a connection that fails.
        """
        addresses = await self._permitted(host, port)
        for address in addresses[:-1]:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._network.connect_tcp(addresses[-1], port, timeout, local_address)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def _permitted(self, host: str, port: int) -> Sequence[str]:
        try:
            found = await self._resolve(host, port)
        except (OSError, UnicodeError) as exc:
            raise InputRefused(
                "input.dns",
                f"No address is known for {host}.",
                hint="Check the link's spelling and the network.",
            ) from exc
        permitted = [address for address in found if self._guard.permits(address, port)]
        if not permitted:
            places = ", ".join(found[:MAX_ADDRESSES])
            where = host if host == places else f"{host}, at {places},"
            raise InputRefused(
                "input.private_address",
                f"{where} is not on the public internet; Alfred fetches nothing from this machine"
                " or its own network.",
                hint="If you can see the page in your browser, save it there and capture the file.",
            )
        return permitted[:MAX_ADDRESSES]
