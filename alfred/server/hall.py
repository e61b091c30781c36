"""What a server holds for all its users: settings, domains, pools, and an Alfred for each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from alfred.app import App, Ports
from alfred.engine.domain import Domain
from alfred.installed import load_domains
from alfred.preparation import Say, prepare_database
from alfred.server.drawings import Drawings
from alfred.settings import Settings
from alfred.store.notifications import Bell
from alfred.store.pools import Pools

EXPORTS_AT_ONCE = 2
"""Each holds a connection and a copy of everything; the next ones wait, and others read on."""


@dataclass(frozen=True, kw_only=True)
class UserRow:
    """A user as the database has them."""

    id: UUID
    name: str


class Hall:
    """One process's Alfreds: they share pools, nodes, graph, model and tools, and no rows."""

    def __init__(
        self, settings: Settings, domains: Sequence[Domain], pools: Pools, ports: Ports
    ) -> None:
        self.settings = settings
        self.domains = domains
        self.pools = pools
        self.ports = replace(ports, origin="http", fetches_model=True)
        self._first = App(settings, domains, pools, self.ports)
        self._apps = {settings.user: self._first}
        self.drawings = Drawings(self._first)
        self.bell = Bell(pools.address)
        self.exports = asyncio.Semaphore(EXPORTS_AT_ONCE)

    def app_of(self, user: UserRow) -> App:
        """Return a user's Alfred, made when it is first asked for."""
        if user.name not in self._apps:
            self._apps[user.name] = self._first.for_user(user.name)
        return self._apps[user.name]

    @property
    def first(self) -> App:
        """The Alfred of the user whom the settings name."""
        return self._first

    def now(self) -> datetime:
        """Return the present moment."""
        return self.ports.clock()

    async def aclose(self) -> None:
        """Close what the Alfreds share; the pools are closed by whoever opened them."""
        await self._first.aclose()


@asynccontextmanager
async def open_hall(
    settings: Settings, *, say: Say = lambda _: None, ports: Ports | None = None
) -> AsyncGenerator[Hall]:
    """Open what a server or a worker needs, as `open_app` does for one user.

    Errors: those of `prepare_database`.
    """
    domains = load_domains()
    address = prepare_database(settings, domains, say)
    async with Pools(address) as pools:
        hall = Hall(settings, domains, pools, ports or Ports())
        try:
            yield hall
        finally:
            await hall.aclose()
