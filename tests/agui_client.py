"""The AG-UI protocol's own client, in a process of Node's."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "agui"
PATIENCE_S = 150.0


def install() -> None:
    """Fetch the client's packages, as its lock file has them, where they are not there yet."""
    locked = HERE / "package-lock.json"
    installed = HERE / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < locked.stat().st_mtime:
        subprocess.run(["npm", "ci", "--silent"], cwd=HERE, check=True, timeout=300)


@dataclass(frozen=True)
class Agent:
    """One conversation of the client: it keeps state, messages and open interrupts itself."""

    process: asyncio.subprocess.Process

    async def run(self, **parameters: Any) -> dict[str, Any]:
        """Run the agent once: `say` adds a message before; the rest is `runAgent`'s.

        Shapes: events, error, state, messages, interrupts.
        """
        writer, reader = self.process.stdin, self.process.stdout
        assert writer is not None
        assert reader is not None
        writer.write(json.dumps(parameters).encode() + b"\n")
        await writer.drain()
        async with asyncio.timeout(PATIENCE_S):
            return json.loads(await reader.readline())


@asynccontextmanager
async def open_agent(url: str, token: str, thread: str) -> AsyncGenerator[Agent]:
    """Start the client for an address; it ends with the block."""
    process = await asyncio.create_subprocess_exec(
        *("node", "client.mjs", url, token, thread),
        cwd=HERE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        limit=16_000_000,
    )
    try:
        yield Agent(process)
    finally:
        process.kill()
        await process.wait()


def types_of(run: dict[str, Any]) -> list[str]:
    """Name the types of a run's events, in order."""
    return [event["type"] for event in run["events"]]


def steps_of(run: dict[str, Any]) -> list[str]:
    """Name the steps that ended, in order."""
    return [event["stepName"] for event in run["events"] if event["type"] == "STEP_FINISHED"]
