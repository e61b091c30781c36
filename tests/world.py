"""A composed Alfred for tests: real PostgreSQL, real LangGraph, a scripted model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg.rows import dict_row

from alfred.app import App, Ports
from alfred.engine.context import Told
from alfred.engine.database import Role
from alfred.engine.language_model import LanguageModel
from alfred.engine.proposal import Proposal
from alfred.inputs.linked_page import Fetch
from alfred.installed import load_domains
from alfred.settings import Settings
from alfred.store.address import Address
from alfred.store.pools import Pools

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
"""When messages of these tests arrive: a Monday."""


class Clock:
    """A clock that a test moves."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def settings_for(home: Path, user: str | None = None) -> Settings:
    """Make settings of a user whom no other test has."""
    return Settings(home=home, user=user or f"user-{uuid4()}", timezone="UTC", language="en")


@asynccontextmanager
async def open_world(
    address: Address,
    settings: Settings,
    model: LanguageModel,
    *,
    clock: Callable[[], datetime] | None = None,
    seen: list[Told] | None = None,
    fetch: Fetch | None = None,
) -> AsyncGenerator[App]:
    """Open an Alfred on a test's database."""
    ports = Ports(clock=clock or Clock(), model=model, fetch=fetch)
    if seen is not None:
        ports = replace(ports, on_progress=seen.append)
    async with Pools(address) as pools:
        app = App(settings, load_domains(), pools, ports)
        try:
            yield app
        finally:
            await app.aclose()


async def capture(app: App, text: str) -> Proposal:
    """Capture a text that leads to a proposal, and return it."""
    received = await app.receive(text.encode())
    assert received.standing is not None, received.refused
    assert received.standing.proposal is not None, received.standing.problems
    return received.standing.proposal


def look(address: Address, query: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Look at the database from outside, past row security, as its superuser."""
    with psycopg.connect(address.admin_dsn(), row_factory=dict_row) as connection:
        return connection.execute(query, parameters).fetchall()  # type: ignore[arg-type]


def count(address: Address, table: str, user_id: UUID) -> int:
    """Count a user's rows in a table, from outside."""
    return look(address, f"SELECT count(*) AS n FROM {table} WHERE user_id = %s", [user_id])[0]["n"]


__all__ = ["NOON", "Clock", "Role", "capture", "count", "look", "open_world", "settings_for"]
