"""Probes that are tools of MCP servers: each allowed by its name and the hash of its schema."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from alfred.engine.canonical import digest
from alfred.errors import ProbeFailed
from alfred.probes.probe import Finding, Window
from alfred.probes.regular_file import read_secret
from alfred.probes.said import say_text
from alfred.probes.tool_call import Kind

MAX_CHARS = 200_000
"""How much of an answer is looked at; what a call keeps is far less."""
MAX_ASKED_CHARS = 200

NO_ARGUMENTS: Mapping[str, Any] = {
    "type": "object",
    "properties": {},
    "additionalProperties": False,
}


@dataclass(frozen=True, kw_only=True)
class McpToolSettings:
    """A tool that may be called.

    `schema_sha256` is the hash of the server's own schema, `parameters` what a model may fill in:
    that schema, or a narrower one. `description` is written by a person: a server's would be an
    instruction to the model from outside.
    """

    name: str
    schema_sha256: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: NO_ARGUMENTS)
    kind: Kind = "other"
    is_primary: bool = False


@dataclass(frozen=True, kw_only=True)
class McpServerSettings:
    """A server: `command` starts it, or `url` reaches it, with a token from `token_file`."""

    name: str
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    url: str = ""
    token_file: Path | None = None
    tools: tuple[McpToolSettings, ...] = ()
    timeout_s: float = 20.0


class _Offered(Protocol):
    name: str
    description: str
    schema: Mapping[str, Any]


class _Answer(Protocol):
    texts: tuple[str, ...]
    is_error: bool


class _Session(Protocol):
    async def tools(self) -> list[_Offered]: ...

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> _Answer: ...


@dataclass(frozen=True, kw_only=True)
class McpOffer:
    """A tool that a server offers now, with the hash that allows it; for a person to read."""

    name: str
    schema_sha256: str
    description: str
    schema: Mapping[str, Any]


class McpServer:
    """One configured server. It is connected anew for each question and holds nothing open."""

    def __init__(self, settings: McpServerSettings) -> None:
        self.settings = settings
        if importlib.util.find_spec("mcp") is None:
            message = f"The MCP server {settings.name} needs the package mcp, which is missing."
            hint = "Install it with pip install 'alfred-engine[mcp]', or take the section out."
            raise ProbeFailed("probe.settings", message, hint=hint)

    def probes(self) -> list[McpTool]:
        """Return a probe for each allowed tool."""
        return [McpTool(self, tool) for tool in self.settings.tools]

    async def offers(self) -> list[McpOffer]:
        """Ask the server for its tools, allowed or not.

        Errors: `probe.unreachable` and `probe.answer`.
        """
        async with self._session() as session:
            return [
                McpOffer(
                    name=tool.name,
                    schema_sha256=schema_hash(tool.schema),
                    description=tool.description,
                    schema=tool.schema,
                )
                for tool in await session.tools()
            ]

    async def call(self, tool: McpToolSettings, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """Call an allowed tool and return its texts.

        Errors: `probe.refused` where the tool's schema is not the one that was allowed.
        """
        async with self._session() as session:
            offered = next((one for one in await session.tools() if one.name == tool.name), None)
            self._check(tool, offered)
            answer = await session.call(tool.name, arguments)
        if answer.is_error:
            said = say_text(" ".join(answer.texts)) or "nothing"
            message = f"The tool {tool.name} of {self.settings.name} failed and says: {said}"
            raise ProbeFailed("probe.answer", message)
        return answer.texts

    def _check(self, tool: McpToolSettings, offered: _Offered | None) -> None:
        place = f"the MCP server {self.settings.name}"
        if offered is None:
            message = f"There is no tool {tool.name!r} on {place} any more."
            raise ProbeFailed("probe.refused", message, hint="`alfred tools` lists those it has.")
        found = schema_hash(offered.schema)
        if found != tool.schema_sha256:
            message = f"The schema of {tool.name!r} on {place} has changed; its hash is {found}."
            hint = "Look at what the tool does now, then put the new hash into the tools file."
            raise ProbeFailed("probe.refused", message, hint=hint)

    def _session(self) -> AbstractAsyncContextManager[_Session]:
        # The library costs half a second to import; nobody pays for it who asks no server.
        session: Any = importlib.import_module("alfred.probes.mcp_session")
        settings = self.settings
        place = session.ServerPlace(
            name=settings.name,
            command=settings.command,
            environment=settings.environment,
            url=settings.url,
            token=_token(settings.token_file),
        )
        return cast("AbstractAsyncContextManager[_Session]", session.open_session(place))


class McpTool:
    """`mcp_<server>_<tool>`: an allowed tool of a server."""

    def __init__(self, server: McpServer, tool: McpToolSettings) -> None:
        self.server = server
        self._tool = tool
        self.name = probe_name(server.settings.name, tool.name)
        self.kind: Kind = tool.kind
        self.description = tool.description
        self.is_primary = tool.is_primary
        self.parameters = tool.parameters
        self.timeout_s = server.settings.timeout_s

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        texts = await self.server.call(self._tool, arguments)
        text = "\n".join(texts)
        lines = [say_text(line) for line in text[:MAX_CHARS].splitlines() if line.strip()]
        asked = json.dumps(arguments, ensure_ascii=False, sort_keys=True)
        return Finding(
            asked=f"{self._tool.name} {say_text(asked, MAX_ASKED_CHARS)}",
            where=f"MCP server {self.server.settings.name}",
            lines=tuple(lines),
            truncated=len(text) > MAX_CHARS,
        )

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> None:
        return None

    async def aclose(self) -> None:
        """Nothing stays open between two questions."""


def schema_hash(schema: Mapping[str, Any]) -> str:
    """SHA-256 over a schema as JSON with sorted keys and no spaces, in hexadecimal."""
    return digest(dict(schema))


def probe_name(server: str, tool: str) -> str:
    """Name the probe of a server's tool, in lower-case letters, digits and underscores."""
    return re.sub(r"[^a-z0-9_]", "_", f"mcp_{server}_{tool}".lower())


def _token(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return read_secret(path)
    except (OSError, ValueError) as exc:
        message = f"The token cannot be read from {path}."
        raise ProbeFailed("probe.settings", message, hint="Correct token_file.") from exc
