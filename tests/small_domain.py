"""A small domain in a package of its own, written into a folder in the version a test needs."""

from __future__ import annotations

import importlib
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "tidewatch"
TEXT = "Sighting log: two grey seals at Kettle Rock, at low tide."
ANSWER = {"place": "Kettle Rock", "remark": "two grey seals"}

_DOMAIN = """
from pathlib import Path
from typing import Annotated

from alfred.engine.action import ActionKind, Arguments, RowId, text
from alfred.engine.domain import Domain
from alfred.services.event import record_event
from alfred.store.tables.job import ORGANIZATION


class NotePlace(Arguments):
    {place_arguments}


async def note_place(writer, args):
    key = args.name.casefold()
    given = {{"kind": "company", "name": args.name, "name_key": key}}
    return await writer.ensure(
        ORGANIZATION, {{"kind": "company", "name_key": key}}, given, name=f"place/{{key}}"
    )


class NoteRemark(Arguments):
    words: Annotated[str, text(200)]
    place: RowId


async def note_remark(writer, args):
    place = await writer.get(ORGANIZATION, args.place)
    return await record_event(writer, "remark.noted", place["name"], {{"words": args.words}})


PLACE = ActionKind(arguments=NotePlace, handler=note_place)
REMARK = ActionKind(arguments=NoteRemark, handler=note_remark, binds={{"place": "note_place"}})
DOMAIN = Domain(
    name="tidewatch",
    kinds=({kinds}),
    nodes=Path(__file__).parent / "nodes",
    graph="tidewatch.graph:build",
)
"""
_GRAPH = """
from langgraph.graph import END, START, StateGraph

from alfred.engine.context import RunContext
from alfred.engine.node import node_entry
from alfred.engine.state import AlfredState


def build():
    builder = StateGraph(AlfredState, context_schema=RunContext)
    builder.add_node("{node}", node_entry("{node}"))
    builder.add_edge(START, "{node}")
    builder.add_edge("{node}", END)
    return builder
"""
_NODE = """
name: {node}
domain: tidewatch
version: {version}
description: Reads where something was seen.
match:
  keywords: [sighting log, low tide]
  modalities: [text]
  priority: 99
prompt:
  system: Read the sighting. Copy each value word for word.
  user: "{{{{ input.text }}}}"
output_schema:
  type: object
  properties:
    place: {{ type: string, maxLength: 120 }}
    remark: {{ type: string, maxLength: 200 }}
actions:
{actions}
"""
_PLACE_ACTION = '  - kind: note_place\n    args: { name: "{{ out.place }}" }'
_REMARK_ACTION = '  - kind: note_remark\n    args: { words: "{{ out.remark }}" }'


@dataclass(frozen=True, kw_only=True)
class Version:
    """One version of the package; the defaults are what a proposal is made with."""

    node: str = "note_sighting"
    version: int = 1
    place_arguments: str = "name: Annotated[str, text(200)]"
    kinds: str = "PLACE, REMARK,"
    actions: str = f"{_PLACE_ACTION}\n{_REMARK_ACTION}"


WITHOUT_REMARKS = Version(kinds="PLACE,", actions=_PLACE_ACTION)
WITH_A_BROKEN_NODE = Version(kinds="PLACE,")
RENAMED = Version(node="read_sighting")
REWORDED = Version(version=2)
STRICTER = Version(place_arguments="name: Annotated[str, text(5)]")
WANTING_MORE = Version(
    place_arguments="name: Annotated[str, text(200)]\n    shore: Annotated[str, text(20)]"
)
TAKING_LESS = Version(
    place_arguments="label: Annotated[str, text(200)] = 'a place'\n"
    "    @property\n    def name(self): return self.label"
)


def install(folder: Path, version: Version) -> None:
    """Write the package and what makes its entry point known, in place of what was there."""
    shutil.rmtree(folder, ignore_errors=True)
    node = folder / PACKAGE / "nodes" / version.node
    node.mkdir(parents=True)
    (folder / PACKAGE / "__init__.py").write_text("")
    domain = _DOMAIN.format(place_arguments=version.place_arguments, kinds=version.kinds)
    (folder / PACKAGE / "domain.py").write_text(domain)
    (folder / PACKAGE / "graph.py").write_text(_GRAPH.format(node=version.node))
    manifest = _NODE.format(node=version.node, version=version.version, actions=version.actions)
    (node / "node.yaml").write_text(manifest)
    known = folder / f"{PACKAGE}-1.dist-info"
    known.mkdir()
    (known / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1\n")
    (known / "entry_points.txt").write_text(
        f"[alfred.domains]\n{PACKAGE} = tidewatch.domain:DOMAIN\n"
    )


def uninstall(folder: Path) -> None:
    """Take the package away."""
    shutil.rmtree(folder)


def forget() -> None:
    """Let the next import in this process find what is installed now."""
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
    importlib.invalidate_caches()
