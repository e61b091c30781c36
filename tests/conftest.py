"""Fixtures that more than one suite needs."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from alfred.installed import load_domains
from alfred.models.catalog import CatalogModel, catalog_model
from alfred.models.download import pull_model
from alfred.models.model_file import require_verified
from alfred.models.provider import models_folder
from alfred.settings import Settings, read_settings
from alfred.store.address import Address
from alfred.store.migrate import migrate
from tests.postgres import short_home, start_test_server
from tests.world import settings_for

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background so, and the processes of these tests would inherit
    # that Ctrl-C does nothing.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True)
class Asked:
    """A request that a test's server received."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """What a test's server sends; `pieces` go out one by one, without a length being announced."""

    status: int = 200
    kind: str = "application/json"
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    pieces: Iterable[bytes] | None = None


Answer = Callable[[Asked], Reply]


class LocalServer:
    """A real HTTP server on the loopback interface; it answers with a function and keeps notes."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[Asked] = []
        asked, reply = self.asked, answer

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Asked(self.command, self.path, headers, self.rfile.read(length))
                asked.append(request)
                try:
                    self._send(reply(request))
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            do_GET = do_POST = answer  # noqa: N815

            def _send(self, answer: Reply) -> None:
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.kind)
                if answer.pieces is None and "Content-Length" not in answer.headers:
                    self.send_header("Content-Length", str(len(answer.body)))
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)
                for piece in answer.pieces or ():
                    self.wfile.write(piece)
                    self.wfile.flush()

            def log_message(self, *_: object) -> None:
                """Stay silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def serve() -> Generator[Callable[[Answer], LocalServer]]:
    """Start local HTTP servers that answer with a function of the request."""
    started: list[LocalServer] = []

    def start(answer: Answer) -> LocalServer:
        started.append(LocalServer(answer))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def reply() -> type[Reply]:
    """Give the class of what such a function returns."""
    return Reply


@dataclass(frozen=True)
class ModelFile:
    model: CatalogModel
    path: Path


@pytest.fixture(scope="session")
def small_model() -> ModelFile:
    """Find the small embedded model, or fetch it into a folder that later runs find again."""
    model = catalog_model("qwen2.5-coder-0.5b-instruct")
    settings = read_settings()
    shared = Path(platformdirs.user_cache_dir("alfred", appauthor=False)) / "models"
    for folder in (models_folder(settings.home), shared):
        if (folder / model.file_name).exists():
            return ModelFile(model, require_verified(model, folder))
    pull = pull_model(model, shared, package_index=settings.package_index)
    return ModelFile(model, asyncio.run(pull))


@pytest.fixture(scope="session")
def database() -> Generator[Address]:
    """Start one PostgreSQL for the whole run, with the schema of every installed domain.

    Tests share it and keep apart by users, as people do.
    """
    with short_home() as home:
        address = start_test_server(home)
        migrate(address, load_domains())
        yield address


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Give the settings of a user whom no other test has."""
    return settings_for(tmp_path)
