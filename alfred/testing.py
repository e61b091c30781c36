"""For tests of what is built on Alfred: fakes of the model, and an Alfred that ends with its test.

Both fakes implement `alfred.engine.language_model.LanguageModel`; hand one to `alfred.app.Ports`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from alfred.app import App, Ports
from alfred.installed import load_domains
from alfred.models.recorded import RecordedModel
from alfred.models.scripted import Answer, ScriptedModel
from alfred.preparation import migrate_database
from alfred.settings import Settings
from alfred.store.address import Address
from alfred.store.embedded import EmbeddedServer, ServerOptions
from alfred.store.pools import Pools

__all__ = ["NOON", "RecordedModel", "ScriptedModel", "open_test_app"]

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
"""When the messages of an `open_test_app` arrive: a Monday."""


@asynccontextmanager
async def open_test_app(answers: Sequence[Answer]) -> AsyncGenerator[App]:
    """Open an Alfred with every installed domain, whose model gives these answers in turn.

    It has a PostgreSQL of its own, which starts in some seconds and is gone afterwards, and a clock
    that stands still at `NOON`.
    Errors: those of the embedded server.
    """
    domains = load_domains()
    ports = Ports(clock=lambda: NOON, model=ScriptedModel(answers))
    with _own_server() as (home, address):
        migrate_database(address, domains)
        async with Pools(address) as pools:
            yield App(Settings(home=home, user="test"), domains, pools, ports)


@contextmanager
def _own_server() -> Generator[tuple[Path, Address]]:
    home = Path(tempfile.mkdtemp(prefix="alfred-"))
    home.chmod(0o711)  # started by root, PostgreSQL runs as another user, who has to pass through
    server = EmbeddedServer(home, options=ServerOptions(durable=False))
    try:
        yield home, server.ensure()
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)
