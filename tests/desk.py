"""A served Alfred whose model reads postings and answers a recorded incident, and can be held."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from alfred.app import Clock, Ports
from alfred.engine.language_model import Completion, ModelRequest, TextSink
from alfred.engine.yaml_text import read_yaml
from alfred.models.scripted import stream_text
from alfred.store.address import Address
from evals.record_answers import ANSWERS, AnsweringModel
from tests.diagnosis_shell import Change, write_recording
from tests.diagnosis_turns import POOL
from tests.served import Served, open_served, reading
from tests.world import settings_for

MACHINE = ("planner", "executor", "verifier", "composer")
PATIENCE_S = 30.0


class DeskModel:
    """Answers the nodes of one case as its author would, and every other node with a reading.

    It stops in the middle of the answer of the diagnosis node in `stops_at`, or of "any" answer,
    until it is `let_go`.
    """

    name = "scripted"
    context_tokens = 8192
    parallel_calls = 1

    def __init__(self, case: Path = POOL) -> None:
        self.stops_at = ""
        self.read: Mapping[str, Any] | None = None
        """What it reads in every posting, of it what it is asked for; else `reading` answers."""
        self._machine = AnsweringModel(read_yaml((case / ANSWERS).read_text("utf-8")).value)
        self._stopped = asyncio.Event()
        self._released = asyncio.Event()

    async def complete(self, request: ModelRequest, on_text: TextSink | None = None) -> Completion:
        """Answer, with a stop half way where a test wants one."""
        node = request.messages[0].content.split("\n", 1)[0].removeprefix("Alfred · ").strip()
        text = await self._text(node, request)
        half = len(text) // 2
        await stream_text(text[:half], on_text)
        if self.stops_at in (node, "any"):
            self._stopped.set()
            await self._released.wait()
        await stream_text(text[half:], on_text)
        return Completion(text=text, finish_reason="stop")

    async def _text(self, node: str, request: ModelRequest) -> str:
        if node in MACHINE:
            return (await self._machine.complete(request)).text
        if self.read is not None:
            asked = (request.schema or {}).get("properties", self.read)
            told = {name: value for name, value in self.read.items() if name in asked}
            return json.dumps(told, ensure_ascii=False)
        return reading(request)

    async def stopped(self) -> None:
        """Wait until it has stopped."""
        async with asyncio.timeout(PATIENCE_S):
            await self._stopped.wait()

    def let_go(self, stops_at: str = "") -> None:
        """Finish the answer; stop next at another node, or at none."""
        self.stops_at = stops_at
        self._stopped = asyncio.Event()
        self._released.set()
        self._released = asyncio.Event()

    async def aclose(self) -> None:
        """Hold nothing."""


@dataclass(frozen=True, kw_only=True)
class Desk:
    """A running server and the model behind it."""

    served: Served
    model: DeskModel


@asynccontextmanager
async def open_desk(
    database: Address,
    home: Path,
    *,
    case: Path = POOL,
    change: Change | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[Desk]:
    """Serve with a worker and the case's tools, whose answers fit any time.

    `change` may alter each of their recorded calls.
    """
    write_recording(case, home / "recorded", change)
    tools = home / "tools.yaml"
    tools.write_text("replay: recorded\n", encoding="utf-8")
    model = DeskModel(case)
    ports = Ports(model=model) if clock is None else Ports(model=model, clock=clock)
    settings = replace(settings_for(home), tools=tools)
    async with open_served(database, settings, ports=ports) as served:
        try:
            yield Desk(served=served, model=model)
        finally:
            model.let_go()
