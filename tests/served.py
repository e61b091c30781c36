"""A real server on a real socket, with a worker, in this process; and clients of its users."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar
from uuid import uuid4

import httpx

from alfred.app import Ports
from alfred.engine.language_model import LanguageModel
from alfred.installed import load_domains
from alfred.models.scripted import ScriptedModel
from alfred.server.app import make_server
from alfred.server.hall import Hall, UserRow
from alfred.server.pace import Pace
from alfred.server.service import serve
from alfred.server.site import Site
from alfred.settings import Settings
from alfred.store.address import Address
from alfred.store.pools import Pools
from alfred.store.tokens import SCOPES, Scope, create_token
from alfred.store.web_sessions import make_link
from alfred.worker.service import run_worker
from tests.shell import posting

PATIENCE_S = 30.0
Found = TypeVar("Found")


@dataclass
class Served:
    """A running server; `client` makes a client with a token of a user whom no other test has."""

    url: str
    hall: Hall
    clients: list[httpx.AsyncClient] = field(default_factory=list[httpx.AsyncClient])

    async def user(self, name: str | None = None) -> UserRow:
        app = self.hall.first.for_user(name or f"user-{uuid4()}")
        await app.enter()
        return UserRow(id=app.user_id, name=app.settings.user)

    async def token(self, user: UserRow, scopes: Sequence[Scope] = SCOPES, days: float = 1) -> str:
        expires_at = self.hall.now() + timedelta(days=days)
        _, secret = await create_token(self.hall.pools, user.id, "test", scopes, expires_at)
        return secret

    async def client(
        self, user: UserRow | None = None, scopes: Sequence[Scope] = SCOPES
    ) -> httpx.AsyncClient:
        token = await self.token(user or await self.user(), scopes)
        return self.bare({"Authorization": f"Bearer {token}"})

    def bare(self, headers: dict[str, str] | None = None) -> httpx.AsyncClient:
        """Make a client that shows nothing but these headers."""
        made = httpx.AsyncClient(base_url=self.url, headers=headers, timeout=PATIENCE_S)
        self.clients.append(made)
        return made

    async def link(self, user: UserRow) -> str:
        return await make_link(self.hall.pools, user.id, self.hall.now())

    async def browser(self, user: UserRow) -> httpx.AsyncClient:
        """Sign in as a browser does; every change then carries its proof."""
        made = self.bare({"Origin": self.url})
        answer = await made.post("/v1/session", json={"link": await self.link(user)})
        assert answer.status_code == 200, answer.text
        made.headers["X-Alfred-CSRF"] = answer.json()["csrf"]
        return made


@asynccontextmanager
async def open_served(
    address: Address,
    settings: Settings,
    model: LanguageModel | None = None,
    *,
    users: Pace | None = None,
    strangers: Pace | None = None,
    has_worker: bool = True,
    ports: Ports | None = None,
) -> AsyncGenerator[Served]:
    """Serve on a free port until the block ends."""
    ports = ports or Ports(model=model or ScriptedModel([reading] * 100))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        site = Site(port=listening.getsockname()[1])
        async with Pools(address) as pools:
            hall = Hall(settings, load_domains(), pools, ports)
            stop = asyncio.Event()
            server = make_server(hall, site=site, users=users, strangers=strangers)
            tasks = [asyncio.create_task(serve(server, listening, stop))]
            if has_worker:
                tasks.append(asyncio.create_task(run_worker(hall, stop)))
            served = Served(url=site.url, hall=hall)
            try:
                await until(lambda: _answers(served), "the server answers")
                yield served
            finally:
                for client in served.clients:
                    await client.aclose()
                stop.set()
                await asyncio.gather(*tasks)
                await hall.aclose()


async def _answers(served: Served) -> bool:
    async with httpx.AsyncClient(base_url=served.url) as client:
        try:
            return (await client.get("/v1/health")).is_success
        except httpx.TransportError:
            return False


async def until(ask: Callable[[], Awaitable[Found]], what: str) -> Found:
    """Ask until the answer is true; what takes too long fails."""
    give_up_at = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_at:
        if found := await ask():
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"{what}: not within {PATIENCE_S:.0f} s")


def reading(request: Any) -> str:
    """Answer as a model that reads the company out of a posting of `tests.shell`."""
    words = request.messages[-1].content
    company = words.partition("We are hiring: ")[2].partition(" seeks")[0] or "Acme"
    return json.dumps(posting(company)[1], ensure_ascii=False)


async def post(client: httpx.AsyncClient, text: str, **headers: str) -> str:
    """Send words and return the id of their turn."""
    answer = await client.post("/v1/messages", json={"text": text}, headers=headers)
    assert answer.status_code == 202, answer.text
    return answer.json()["turn"]


async def turn_in(client: httpx.AsyncClient, turn: str, *states: str) -> dict[str, Any]:
    """Wait until a turn is in one of these states."""

    async def ask() -> dict[str, Any] | None:
        found = (await client.get(f"/v1/turns/{turn}")).json()
        return found if found["state"] in states else None

    return await until(ask, f"turn {turn} is {states}")


async def proposed(client: httpx.AsyncClient, company: str) -> dict[str, Any]:
    """Send a posting, and return what is proposed once it was read."""
    turn = await post(client, posting(company)[0])
    found = await turn_in(client, turn, "waiting", "failed", "done")
    assert found["state"] == "waiting", found
    return (await client.get(f"/v1/proposals/{found['proposal']}")).json()


async def approved(client: httpx.AsyncClient, proposal: dict[str, Any]) -> dict[str, Any]:
    """Approve all of a proposal that is ticked, reject the rest."""
    verdicts = {a["id"]: "approve" if a["ticked"] else "reject" for a in proposal["actions"]}
    answer = await client.post(
        f"/v1/proposals/{proposal['proposal']}/decide",
        json={"digest": proposal["digest"], "verdicts": verdicts},
    )
    assert answer.status_code == 200, answer.text
    return answer.json()
