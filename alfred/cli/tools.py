"""`alfred tools`: which tools a diagnosis has, whether they answer, and one call of one of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from alfred.cli.session import console, json_option, print_json, run
from alfred.settings import Settings, read_settings

if TYPE_CHECKING:
    from rich.console import Console

    from alfred.probes.probe import Probe
    from alfred.probes.sign_of_life import ServerSign, SignOfLife
    from alfred.probes.tool_call import ToolCall


@click.group("tools", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """List the tools of a diagnosis and try them; `alfred tools` alone is `alfred tools list`."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_tools, as_json=False)


@command.command("list")
@json_option
def list_tools(*, as_json: bool) -> None:
    """List the tools of the tools file and ask each for a sign of life.

    For MCP servers it prints the tools they offer, ready to be pasted into the file. Ends with 1
    if a tool does not answer.
    """
    from alfred.probes.sign_of_life import ask_servers, ask_tools
    from alfred.probes.tools_file import configured_tools

    settings = read_settings()
    configured = configured_tools(settings)

    async def work() -> tuple[list[SignOfLife], list[ServerSign]]:
        try:
            now = datetime.now(ZoneInfo(settings.timezone))
            signs = await ask_tools(configured.toolbox, now)
            return signs, await ask_servers(configured.servers)
        finally:
            await configured.toolbox.aclose()

    signs, servers = run(work())
    if as_json:
        print_json(
            {
                "file": str(settings.tools_file),
                "tools": [_tool_document(sign) for sign in signs],
                "servers": [_server_document(sign) for sign in servers],
                "notices": list(configured.notices),
            }
        )
    else:
        _print_signs(console(), settings, signs, servers)
        for notice in configured.notices:
            click.echo(notice, err=True)
    sys.exit(0 if all(sign.is_well for sign in [*signs, *servers]) else 1)


@command.command("call")
@click.argument("name", metavar="NAME")
@click.argument("arguments", metavar="[KEY=VALUE]...", nargs=-1)
@click.option("--since", metavar="TIME", help="Look back to 30m, 2h, 1d, 14:00 or a moment.")
@json_option
def call_tool(name: str, arguments: Sequence[str], since: str | None, *, as_json: bool) -> None:
    """Call the tool NAME once and print the lines that a diagnosis would see.

    Ends with 1 if the call failed.
    """
    from alfred.graphs.diagnosis.time_words import DEFAULT_LOOKBACK, read_since
    from alfred.probes.probe import Window
    from alfred.probes.tools_file import configured_tools

    settings = read_settings()
    toolbox = configured_tools(settings).toolbox
    probe = toolbox.get(name)
    given = _arguments(probe, arguments)
    now = datetime.now(ZoneInfo(settings.timezone))
    start = read_since(since, now) if since else now - DEFAULT_LOOKBACK

    async def work() -> ToolCall:
        try:
            return await toolbox.call(name, given, Window(start=start, end=now), [], round_=0)
        finally:
            await toolbox.aclose()

    call = run(work())
    if as_json:
        print_json(call)
    else:
        _print_call(console(), call)
    sys.exit(0 if call["outcome"] in ("ok", "empty") else 1)


def _arguments(probe: Probe | None, given: Sequence[str]) -> dict[str, Any]:
    """Read KEY=VALUE; a value is read as JSON where the tool's schema wants no text."""
    read: dict[str, Any] = {}
    properties: Mapping[str, Any] = probe.parameters.get("properties", {}) if probe else {}
    for pair in given:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            message = f"{pair!r} is no argument; write KEY=VALUE."
            raise click.UsageError(message)
        if key in read:
            raise click.UsageError(f"{key} is given twice.")
        read[key] = value
        if properties.get(key, {}).get("type", "string") != "string":
            try:
                read[key] = json.loads(value)
            except (ValueError, RecursionError):
                continue  # the tool itself says what it wants
    return read


def _print_signs(
    out: Console, settings: Settings, signs: Sequence[SignOfLife], servers: Sequence[ServerSign]
) -> None:
    if not signs and not servers:
        out.print(
            f"No tools are configured. List them in {settings.tools_file}; docs/probes.md shows"
            " how.",
            markup=False,
        )
    width = max((len(sign.probe.name) for sign in signs), default=0)
    for sign in signs:
        probe = sign.probe
        out.print(f"{probe.name:<{width}}  {probe.kind:<8}  {_state(sign)}", markup=False)
    for server in servers:
        _print_server(out, server)


def _state(sign: SignOfLife) -> str:
    call = sign.call
    if call is None:
        return f"not asked: {sign.why}"
    if call["outcome"] == "ok":
        lines = len(call["lines"])
        return f"answers: {lines} line{'' if lines == 1 else 's'}, {call['milliseconds']} ms"
    if call["outcome"] == "empty":
        return f"answers: nothing found, {call['milliseconds']} ms"
    return f"{call['outcome'].upper()}: {call['error']}"


def _print_server(out: Console, sign: ServerSign) -> None:
    name = sign.server.settings.name
    if sign.error:
        out.print(f"MCP server {name}: FAILED: {sign.error}", markup=False)
        return
    out.print(f"MCP server {name}: {len(sign.offers)} tools", markup=False)
    for gone in sign.gone:
        out.print(f"  # gone: {gone}", markup=False)
    for offer in sign.offers:
        parameters = json.dumps(offer.schema, ensure_ascii=False)
        lines = [f"  # {sign.standing(offer)}", f"  - name: {json.dumps(offer.name)}"]
        lines += [f"    schema_sha256: {json.dumps(offer.schema_sha256)}"]
        lines += ["    description: ", f"    parameters: {parameters}"]
        if offer.description:
            lines.insert(1, f"  # it says of itself: {offer.description}")
        for line in lines:
            out.print(line.rstrip(), markup=False)


def _print_call(out: Console, call: ToolCall) -> None:
    if call["error"]:
        out.print(f"{call['outcome']}: {call['error']}", markup=False)
        return
    out.print(f"{call['asked']} ({call['where']})", markup=False)
    for line in call["lines"] or ["nothing found"]:
        out.print(f"  {line}", markup=False)
    if call["truncated"]:
        out.print("  … there is more than is shown", markup=False)


def _tool_document(sign: SignOfLife) -> dict[str, Any]:
    probe, call = sign.probe, sign.call
    return {
        "name": probe.name,
        "kind": probe.kind,
        "description": probe.description,
        "is_primary": probe.is_primary,
        "parameters": probe.parameters,
        "outcome": call["outcome"] if call else None,
        "error": call["error"] if call else sign.why,
        "lines": len(call["lines"]) if call else 0,
        "milliseconds": call["milliseconds"] if call else None,
    }


def _server_document(sign: ServerSign) -> dict[str, Any]:
    offers = [
        {
            "name": offer.name,
            "standing": sign.standing(offer),
            "schema_sha256": offer.schema_sha256,
            "description": offer.description,
            "parameters": offer.schema,
        }
        for offer in sign.offers
    ]
    name = sign.server.settings.name
    return {"name": name, "error": sign.error, "gone": sign.gone, "tools": offers}
