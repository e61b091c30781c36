"""Talks to one MCP server for the length of one question; imported only where one is configured."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, cast

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client import InputRequiredRoundsExceededError
from mcp.client.streamable_http import streamable_http_client

from alfred.errors import ProbeFailed
from alfred.probes.said import say_text

MAX_TOOLS = 500
MAX_ERROR_BYTES = 8_000

_FOREIGN = (
    *(MCPError, InputRequiredRoundsExceededError, OSError, ValueError, httpx2.HTTPError),
    *(anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, RuntimeError),
)
"""What the library raises where a server is missing, breaks off, or speaks another language."""

# Without a handler of its own the library's complaints would reach the terminal.
logging.getLogger("mcp").addHandler(logging.NullHandler())


@dataclass(frozen=True, kw_only=True)
class ServerPlace:
    """Where a server is: a command to start, or a URL to post to with a token.

    A command gets `environment` and otherwise only where programs and the user's home are.
    """

    name: str
    command: tuple[str, ...] = ()
    environment: Mapping[str, str]
    url: str = ""
    token: str = ""
    folder: Path | None = None


@dataclass(frozen=True, kw_only=True)
class OfferedTool:
    """A tool as a server describes it; nothing of it is trusted."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ToolAnswer:
    """What a tool returned: its texts, and whether the server calls it an error."""

    texts: tuple[str, ...]
    is_error: bool


class ServerSession:
    """An open connection to a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def tools(self) -> list[OfferedTool]:
        """List every tool that the server offers."""
        offered: list[OfferedTool] = []
        cursor: str | None = None
        while True:
            page = await self._client.list_tools(cursor=cursor)
            offered += [
                OfferedTool(
                    name=tool.name,
                    description=say_text(tool.description or ""),
                    schema=tool.input_schema,
                )
                for tool in page.tools
            ]
            cursor = page.next_cursor
            if not cursor or len(offered) > MAX_TOOLS:
                return offered[:MAX_TOOLS]

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool; what is no text is only named."""
        result = await self._client.call_tool(tool, dict(arguments))
        texts = [
            block.text if block.type == "text" else f"({block.type}, not shown)"
            for block in result.content
        ]
        return ToolAnswer(texts=tuple(texts), is_error=result.is_error)


@asynccontextmanager
async def open_session(place: ServerPlace) -> AsyncGenerator[ServerSession]:
    """Connect to a server, and leave nothing of it running afterwards.

    A server that asks for a model or for a person's words gets an error.
    Errors: `probe.unreachable` and `probe.answer`, with what the server complained about.
    """
    with tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace") as file:
        complaints = cast("TextIO", file)
        try:
            async with AsyncExitStack() as stack:
                transport = await _transport(place, complaints, stack)
                yield ServerSession(await stack.enter_async_context(Client(transport)))
        except _FOREIGN as exc:
            raise _failure(place, exc, complaints) from exc
        except ExceptionGroup as group:
            known, unknown = group.split((*_FOREIGN, ProbeFailed))
            if known is None or unknown is not None:
                raise
            cause = _first(known)
            if isinstance(cause, ProbeFailed):
                raise cause from group
            raise _failure(place, cause, complaints) from group


async def _transport(place: ServerPlace, complaints: TextIO, stack: AsyncExitStack) -> Any:
    if place.command:
        parameters = StdioServerParameters(
            command=place.command[0],
            args=list(place.command[1:]),
            env=dict(place.environment),
            cwd=place.folder,
        )
        return stdio_client(parameters, errlog=complaints)
    headers = {"Authorization": f"Bearer {place.token}"} if place.token else {}
    client = httpx2.AsyncClient(headers=headers, trust_env=False)
    return streamable_http_client(place.url, http_client=await stack.enter_async_context(client))


def _failure(place: ServerPlace, cause: BaseException, complaints: TextIO) -> ProbeFailed:
    complaints.seek(0)
    said = [line for line in complaints.read(MAX_ERROR_BYTES).splitlines() if line.strip()]
    where = f"The MCP server {place.name}"
    if isinstance(cause, FileNotFoundError):
        message = f"{where} cannot be started: there is no {place.command[0]}."
        return ProbeFailed("probe.unreachable", message, hint="Correct command in the tools file.")
    if isinstance(cause, MCPError):
        last = f" Its last words: {say_text(said[-1])}" if said else ""
        message = f"{where} answered with an error: {say_text(cause.message.rstrip('. '))}.{last}"
        return ProbeFailed("probe.unreachable", message)
    code = "probe.answer" if isinstance(cause, ValueError | RuntimeError) else "probe.unreachable"
    reason = say_text(str(cause)) or type(cause).__name__
    how = "does not answer as one" if code == "probe.answer" else "cannot be reached"
    return ProbeFailed(code, f"{where} {how}: {reason.rstrip('. ')}.")


def _first(group: ExceptionGroup[Any]) -> Exception:
    inner: Exception = group.exceptions[0]
    return (
        _first(cast("ExceptionGroup[Any]", inner)) if isinstance(inner, ExceptionGroup) else inner
    )
