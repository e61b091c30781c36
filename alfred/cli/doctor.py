"""`alfred doctor`: every part of an installation tried out, with what to do where one fails."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import click

from alfred.cli.session import console, json_option, print_json, run, say
from alfred.errors import AlfredError
from alfred.settings import Settings, read_settings


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One part, whether it works, and what was seen."""

    part: str
    ok: bool
    text: str


@click.command("doctor")
@json_option
def command(*, as_json: bool) -> None:
    """Try out settings, nodes, tools, database and model; exits with 1 if any of them fails."""
    findings = list(examine())
    if as_json:
        print_json({"findings": [vars(finding) for finding in findings]})
    else:
        for finding in findings:
            mark = "ok  " if finding.ok else "FAIL"
            style = "" if finding.ok else "red"
            console().print(f"{mark} {finding.part}: {finding.text}", style=style, markup=False)
    sys.exit(0 if all(finding.ok for finding in findings) else 1)


def examine() -> Iterator[Finding]:
    """Try each part; one that needs a failed one is still tried, and tells its own reason."""
    settings: Settings | None = None

    def read() -> str:
        nonlocal settings
        settings = read_settings()
        return f"data in {settings.home}, user {settings.user}, zone {settings.timezone}"

    yield _try("settings", read)
    if settings is None:
        return
    known = settings
    yield _try("nodes", _nodes)
    yield _try("tools", lambda: _tools(known))
    yield _try("database", lambda: _database(known))
    yield _try("model", lambda: _model(known))


def _try(part: str, work: Callable[[], str]) -> Finding:
    try:
        return Finding(part=part, ok=True, text=work())
    except AlfredError as error:
        return Finding(part=part, ok=False, text=str(error))


def _nodes() -> str:
    from alfred.installed import load_domains, load_registry

    registry = load_registry(load_domains())
    for problem in registry.problems:
        raise problem
    return f"{len(registry.manifests)} loaded: {', '.join(sorted(registry.manifests))}"


def _tools(settings: Settings) -> str:
    """Read the tools file; nothing is connected to, which is what `alfred tools` does."""
    from alfred.probes.tools_file import configured_tools

    configured = configured_tools(settings)
    file, probes = settings.tools_file, configured.toolbox.probes
    said = f"{len(probes)} configured in {file}: {', '.join(probe.name for probe in probes)}"
    if not probes:
        said = f"none configured, so a diagnosis cannot look at anything; list some in {file}"
    if unused := [s.settings.name for s in configured.servers if not s.settings.tools]:
        said += f"; no tool is allowed of MCP server {', '.join(unused)}"
    return ". ".join([said, *configured.notices])


def _database(settings: Settings) -> str:
    from alfred.installed import load_domains
    from alfred.preparation import prepare_database

    address = prepare_database(settings, load_domains(), say)
    return f"{address} answers, schema current"


def _model(settings: Settings) -> str:
    from alfred.engine.language_model import Message, ModelRequest
    from alfred.models.provider import open_model

    async def ask() -> str:
        model = open_model(settings)
        try:
            answer = await model.complete(
                ModelRequest(
                    messages=(Message(role="user", content="Answer with the word: ready"),),
                    max_tokens=8,
                    timeout_s=min(60.0, settings.model_timeout_s),
                )
            )
        finally:
            await model.aclose()
        return f"{model.name} answered in {answer.seconds:.1f} s"

    return run(ask())
