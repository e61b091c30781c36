"""What a domain brings to the engine (actions, nodes, graph, tables), and which are installed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from alfred.engine.action import ActionKind
from alfred.engine.sandbox import Filter
from alfred.errors import ManifestInvalid

ENTRY_POINTS = "alfred.domains"
RESERVED = frozenset({"dispatch", "propose", "review", "correct", "finish"})
"""Steps around every domain's graph, beside which a domain is one."""
WHAT_IMPORT_RAISES = (
    *(ImportError, AttributeError, NameError, SyntaxError, TypeError, ValueError, LookupError),
    SQLAlchemyError,
)
"""What a mistake in a package shows as when it is imported."""
_NAME = re.compile(r"(?=.{2,62}$)[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


@dataclass(frozen=True, kw_only=True)
class Domain:
    """One domain, registered under the entry point group `alfred.domains`.

    `graph` names the function that builds the graph, as `package.module:function`; it is imported
    only where a graph runs, since LangGraph is slow to import. `migrations` is a folder of Alembic
    revisions whose newest is `revision`. `shared_tables` are vocabularies in which another's row
    that says the same makes no proposal stale. `filters` are pure functions that the domain's
    templates may use beside the engine's own. A domain that `needs_match` takes only what the rules
    of its nodes recognise, or what a person gives it by name. `resources` names a function, as
    `graph` does, that makes of the settings what the domain's steps find as
    `RunContext.resource(name)`, such as tools; it is called once, where a run first needs it, and
    what has an `aclose` is closed. `api` names a function, as `graph` does, that makes the router
    with which a server answers for the domain. `machines` names one that builds the graphs that
    run inside single steps of the domain's graph, by step, so that they can be drawn in place.
    """

    name: str
    kinds: Sequence[ActionKind]
    nodes: Path
    graph: str
    migrations: Path | None = None
    revision: str | None = None
    shared_tables: frozenset[str] = frozenset()
    filters: Mapping[str, Filter] = field(default_factory=dict[str, Any])
    needs_match: bool = False
    resources: str | None = None
    api: str | None = None
    machines: str | None = None

    def __post_init__(self) -> None:
        if problem := name_problem(self.name):
            raise ValueError(f"a domain cannot be named {self.name!r}: {problem}")


def name_problem(name: str) -> str:
    """Say why a domain cannot have a name; nothing where it can."""
    if _NAME.fullmatch(name) is None:
        return "it needs lower-case letters and digits, words joined by _, at least two characters"
    return "a step of every run is called so" if name in RESERVED else ""


def find_domains() -> list[Domain]:
    """Load the domain of every installed package that has one, sorted by name.

    Errors: `manifest.domain` for a package that cannot be loaded, and for a name taken twice.
    """
    found: dict[str, tuple[Domain, EntryPoint]] = {}
    for entry in entry_points(group=ENTRY_POINTS):
        domain = _load(entry)
        if domain.name in found:
            raise ManifestInvalid(
                "manifest.domain",
                f"{_package(found[domain.name][1])} and {_package(entry)} both have a domain"
                f" named {domain.name}.",
                hint="Uninstall one of the two.",
            )
        found[domain.name] = (domain, entry)
    return [domain for _, (domain, _) in sorted(found.items())]


def installed_names() -> set[str]:
    """Name the domains of installed packages, without loading any."""
    return {entry.name for entry in entry_points(group=ENTRY_POINTS)}


def _load(entry: EntryPoint) -> Domain:
    try:
        domain = entry.load()
    except WHAT_IMPORT_RAISES as error:
        raise ManifestInvalid(
            "manifest.domain",
            f"The domain of {_package(entry)} cannot be loaded from {entry.value}:"
            f" {type(error).__name__}: {error}.",
            hint="Mend the package, or uninstall it.",
        ) from error
    if not isinstance(domain, Domain):
        raise ManifestInvalid(
            "manifest.domain", f"{entry.value} of {_package(entry)} is no alfred.domain.Domain."
        )
    return domain


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.value


def all_kinds(domains: Sequence[Domain]) -> Mapping[str, ActionKind]:
    """Assemble ACTION_KINDS from every domain; a name taken twice is refused.

    Errors: `manifest.domain`.
    """
    kinds: dict[str, ActionKind] = {}
    for domain in domains:
        for kind in domain.kinds:
            if kind.name in kinds and kinds[kind.name] is not kind:
                owner = next(d.name for d in domains if kinds[kind.name] in d.kinds)
                raise ManifestInvalid(
                    "manifest.domain",
                    f"The domains {owner} and {domain.name} both have an action kind"
                    f" named {kind.name}.",
                    hint="Uninstall the package of one, or rename it there.",
                )
            kinds[kind.name] = kind
    return kinds
