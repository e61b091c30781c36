"""Reads the file that lists the tools, and makes them; docs/probes.md describes its fields."""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from alfred.engine.yaml_text import MAX_CHARS
from alfred.errors import ProbeFailed
from alfred.probes.closed_fields import read_closed, read_document, refused
from alfred.probes.mcp_server import McpServer
from alfred.probes.probe import Probe
from alfred.probes.regular_file import open_regular
from alfred.probes.toolbox import Toolbox
from alfred.probes.tools_sections import ToolsFields
from alfred.settings import Settings

CODE = "probe.settings"
MAX_BYTES = 4 * MAX_CHARS + 4
"""More than a file that is read may hold, so that a longer one is told as one."""
SECTIONS = (
    *("prometheus", "changes", "logs", "journald", "http", "postgresql", "kubernetes"),
    "runbooks",
)
"""In the order in which a first look is shown: alerts, changes, log patterns, the rest."""


@dataclass(frozen=True, kw_only=True)
class ConfiguredTools:
    """What a tools file makes.

    `servers` are the MCP servers, also those of which no tool is allowed yet. `notices` are
    sentences about what works and should be otherwise.
    """

    toolbox: Toolbox
    servers: tuple[McpServer, ...] = ()
    notices: tuple[str, ...] = ()


def configured_tools(settings: Settings) -> ConfiguredTools:
    """Make the tools that the settings' file lists.

    Errors: `probe.settings` with file, line and remedy; also where a file is named by ALFRED_TOOLS
    and missing. Where none is named, none has to be there.
    """
    path = settings.tools_file
    if settings.tools is not None and not path.exists():
        hint = "Create it, or unset ALFRED_TOOLS."
        raise ProbeFailed(CODE, f"ALFRED_TOOLS names {path}, which does not exist.", hint=hint)
    return read_configured(path)


def read_tools(path: Path) -> Toolbox:
    """Make the tools that a file lists; no file makes none.

    Errors: `probe.settings` with file, line and remedy.
    """
    return read_configured(path).toolbox


def read_configured(path: Path) -> ConfiguredTools:
    """Make the tools that a file lists, with all that there is to say about the file.

    Nothing is connected to. Errors: `probe.settings` with file, line and remedy.
    """
    text = _read(path)
    if not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        return ConfiguredTools(toolbox=Toolbox([]))
    document = read_document(text, path.name, CODE)
    fields = read_closed(document.value, path.name, ToolsFields, CODE, document)
    folder = path.absolute().parent
    probes: list[Probe] = []
    servers: list[McpServer] = []

    def place(section: str, make: Callable[[], list[Probe]]) -> None:
        """Say of which section of the file it is that a probe complains."""
        try:
            probes.extend(make())
        except ProbeFailed as error:
            line = document.lines.get(tuple(section.split(".")))
            said = f"line {line}, {section}: {error.message} {error.hint}".strip()
            raise refused(path.name, [said], CODE) from error

    def serve(name: str) -> list[Probe]:
        server = fields.mcp[name].server(name, folder)
        servers.append(server)
        return list(server.probes())

    for section in SECTIONS:
        if (one := getattr(fields, section)) is not None:
            place(section, lambda one=one: one.probes(folder))
    for name in fields.mcp:
        place(f"mcp.{name}", lambda name=name: serve(name))
    place("replay", lambda: fields.replayed(folder))
    return ConfiguredTools(
        toolbox=_toolbox(probes, path.name),
        servers=tuple(servers),
        notices=tuple(_notices(path, fields)),
    )


def _toolbox(probes: list[Probe], file: str) -> Toolbox:
    names = [probe.name for probe in probes]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        said = f"two tools are called {twice[0]!r}; take one of them out."
        raise refused(file, [said], CODE)
    return Toolbox(probes)


def _notices(path: Path, fields: ToolsFields) -> list[str]:
    if sys.platform == "win32" or not (secrets := fields.secrets()):
        return []
    if not path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return []
    better = "".join(
        f" {where} can be moved into a file that {field} names." if field else ""
        for where, field in secrets.items()
    )
    return [
        f"{path} holds secrets ({', '.join(secrets)}) and others than you can read it:"
        f" chmod 600 {path}.{better}"
    ]


def _read(path: Path) -> str:
    try:
        with open_regular(path) as file:
            return file.read(MAX_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as exc:
        raise refused(
            str(path), [f"not UTF-8 (byte {exc.start}); save it as UTF-8."], CODE
        ) from exc
    except OSError as exc:
        raise refused(str(path), [f"it cannot be read: {exc.strerror}."], CODE) from exc
