"""What is installed: domains, and what is made of them without a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from alfred.dispatch.prefilter import Prefilter
from alfred.engine.date_filters import FILTERS
from alfred.engine.domain import WHAT_IMPORT_RAISES, Domain, all_kinds, find_domains
from alfred.engine.registry import Registry
from alfred.errors import GraphInvalid


def load_domains() -> list[Domain]:
    """Load every installed domain, sorted by name; errors as `find_domains`."""
    return find_domains()


def load_registry(domains: Sequence[Domain]) -> Registry:
    """Load every node of the domains; broken ones stand in `Registry.problems`."""
    own = {name: made for domain in domains for name, made in domain.filters.items()}
    roots = [domain.nodes for domain in domains]
    return Registry.load(roots, all_kinds(domains), {**own, **FILTERS})


def load_prefilter(registry: Registry) -> Prefilter:
    """Compile the match rules of every node."""
    return Prefilter(registry.manifests.values())


def load_builders(domains: Sequence[Domain]) -> Mapping[str, Any]:
    """Import and build the domains' graphs; this imports LangGraph.

    Errors: `graph.invalid` for one that cannot be built.
    """
    builders: dict[str, Any] = {}
    for domain in domains:
        try:
            builders[domain.name] = named(domain.graph)()
        except WHAT_IMPORT_RAISES as error:
            raise GraphInvalid(
                "graph.invalid",
                f"The graph of the domain {domain.name} cannot be built from {domain.graph}:"
                f" {type(error).__name__}: {error}.",
            ) from error
    return builders


def named(place: str) -> Callable[..., Any]:
    """Import a function by its place, `package.module:function`."""
    module, _, function = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
