"""Asks each tool a small question, so that a person sees which of them work."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, cast, runtime_checkable

from alfred.errors import ProbeFailed
from alfred.probes.mcp_server import McpOffer, McpServer, McpTool
from alfred.probes.probe import Probe, Window
from alfred.probes.tool_call import ToolCall
from alfred.probes.toolbox import Toolbox

LOOKBACK = timedelta(hours=1)


@runtime_checkable
class Sampled(Protocol):
    """A probe that names arguments with which it can be tried."""

    sample_arguments: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class SignOfLife:
    """How a tool answered; `call` is None where it was not asked, and `why` says why."""

    probe: Probe
    call: ToolCall | None = None
    why: str = ""

    @property
    def is_well(self) -> bool:
        """Whether it answered or need not be asked; nothing found is an answer too."""
        return self.call is None or self.call["outcome"] in ("ok", "empty")


@dataclass(frozen=True, kw_only=True)
class ServerSign:
    """What an MCP server offers now, or why it does not say."""

    server: McpServer
    offers: Sequence[McpOffer] = ()
    error: str = ""

    def standing(self, offer: McpOffer) -> str:
        """Say of an offered tool whether it is "allowed", "changed" since, or "not allowed"."""
        tools = {tool.name: tool for tool in self.server.settings.tools}
        if (tool := tools.get(offer.name)) is None:
            return "not allowed"
        return "allowed" if tool.schema_sha256 == offer.schema_sha256 else "changed"

    @property
    def gone(self) -> list[str]:
        """Tools that are allowed and that the server does not have."""
        names = {offer.name for offer in self.offers}
        tools = self.server.settings.tools
        return [] if self.error else [t.name for t in tools if t.name not in names]

    @property
    def is_well(self) -> bool:
        """Whether it answers and every allowed tool is as it was."""
        changed = any(self.standing(offer) == "changed" for offer in self.offers)
        return not self.error and not self.gone and not changed


async def ask_tools(toolbox: Toolbox, now: datetime) -> list[SignOfLife]:
    """Ask every tool something small about the last hour, all at once.

    Tools of MCP servers are not asked, since nobody knows what a call does; `ask_servers` looks
    whether they are there.
    """
    window = Window(start=now - LOOKBACK, end=now)
    return await asyncio.gather(*(_sign(toolbox, probe, window) for probe in toolbox.probes))


async def ask_servers(servers: Sequence[McpServer]) -> list[ServerSign]:
    """Ask every MCP server for its tools, all at once."""
    return await asyncio.gather(*map(_offers, servers))


def sample_arguments(probe: Probe) -> Mapping[str, Any] | str:
    """Find arguments that a tool takes, or name the one that nobody can guess."""
    if isinstance(probe, Sampled):
        return probe.sample_arguments
    properties = cast("Mapping[str, Mapping[str, Any]]", probe.parameters.get("properties", {}))
    sample: dict[str, Any] = {}
    for name in cast("Sequence[str]", probe.parameters.get("required", ())):
        field = properties.get(name, {})
        if "enum" in field:
            sample[name] = field["enum"][0]
        elif field.get("type") in ("integer", "number"):
            sample[name] = field.get("minimum", 1)
        else:
            return name
    return sample


async def _sign(toolbox: Toolbox, probe: Probe, window: Window) -> SignOfLife:
    if isinstance(probe, McpTool):
        return SignOfLife(probe=probe, why="its server is asked below")
    arguments = await probe.first_look(window, {})
    sample = arguments if arguments is not None else sample_arguments(probe)
    if isinstance(sample, str):
        return SignOfLife(probe=probe, why=f"it needs {sample}")
    call = await toolbox.call(probe.name, sample, window, [], round_=0)
    return SignOfLife(probe=probe, call=call)


async def _offers(server: McpServer) -> ServerSign:
    try:
        async with asyncio.timeout(server.settings.timeout_s):
            return ServerSign(server=server, offers=await server.offers())
    except TimeoutError:
        limit = server.settings.timeout_s
        return ServerSign(server=server, error=f"No answer within {limit:g} s.")
    except ProbeFailed as error:
        return ServerSign(server=server, error=str(error))
