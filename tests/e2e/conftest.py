"""Fixtures of the tests that run commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from alfred.installed import load_domains
from alfred.store.address import Address
from alfred.store.migrate import migrate
from tests.conftest import Answer, Asked, LocalServer, Reply
from tests.postgres import short_home, start_test_server
from tests.shell import Shell, completion, url_of


@pytest.fixture(scope="session")
def served_database() -> Generator[Address]:
    """Start a PostgreSQL for servers: their workers look after every user they find there."""
    with short_home() as home:
        address = start_test_server(home)
        migrate(address, load_domains())
        yield address


@pytest.fixture
def shell_with(
    database: Address, tmp_path: Path, serve: Callable[[Answer], LocalServer]
) -> Callable[[dict[str, Any] | str], Shell]:
    """Make a user whose model gives one answer over real HTTP."""

    def make(answer: dict[str, Any] | str) -> Shell:
        def reply(_: Asked) -> Reply:
            return Reply(kind="text/event-stream", body=completion(answer))

        kept = {k: v for k, v in os.environ.items() if not k.startswith("ALFRED_")}
        return Shell(
            {
                **kept,
                "ALFRED_HOME": str(tmp_path / "home"),
                "ALFRED_DATABASE_URL": url_of(database),
                "ALFRED_MODEL": f"{serve(reply).url}/v1#scripted",
                "ALFRED_USER": f"user-{uuid4()}",
                "ALFRED_LANGUAGE": "en",
                "ALFRED_TIMEZONE": "UTC",
                "COLUMNS": "200",
            }
        )

    return make
