"""What a domain brings to the engine: its kinds of actions, nodes, graph and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from alfred.engine.action import ActionKind
from alfred.engine.sandbox import Filter


@dataclass(frozen=True, kw_only=True)
class Domain:
    """One domain, registered under the entry point group `alfred.domains`.

    `graph` names the function that builds the graph, as `package.module:function`; it is imported
    only where a graph runs, since LangGraph is slow to import. `migrations` is a folder of Alembic
    revisions whose newest is `revision`. `shared_tables` are vocabularies in which another's row
    that says the same makes no proposal stale. `filters` are pure functions that the domain's
    templates may use beside the engine's own.
    """

    name: str
    kinds: Sequence[ActionKind]
    nodes: Path
    graph: str
    migrations: Path | None = None
    revision: str | None = None
    shared_tables: frozenset[str] = frozenset()
    filters: Mapping[str, Filter] = field(default_factory=dict[str, Any])


def all_kinds(domains: Sequence[Domain]) -> Mapping[str, ActionKind]:
    """Assemble ACTION_KINDS from every domain; a name taken twice is refused.

    Errors: ValueError, since it is a programmer's mistake that no user can mend.
    """
    kinds: dict[str, ActionKind] = {}
    for domain in domains:
        for kind in domain.kinds:
            if kind.name in kinds and kinds[kind.name] is not kind:
                raise ValueError(f"two domains register the action kind {kind.name!r}")
            kinds[kind.name] = kind
    return kinds
