"""What `alfred check` proves of a graph before anything runs, from what the graph declares."""

# LangGraph leaves type parameters of its builders open; what goes in and out is typed here.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from alfred.engine.enumeration import Figures
from alfred.engine.guards import ENTRIES

Edges = dict[str, frozenset[str]]


@dataclass(frozen=True, kw_only=True)
class GraphReport:
    """A graph's proven bounds, or what is wrong with it.

    `longest_path` counts node executions on the worst path, every loop run to its budget; None
    where a cycle has no budget. `gate` names the node that no path to the end goes around; None for
    a graph that writes nothing itself. `figures` are given where every path was explored.
    """

    name: str
    nodes: int
    edges: Edges
    loops: Mapping[str, int]
    longest_path: int | None
    recursion_limit: int
    problems: Sequence[str]
    gate: str | None = None
    figures: Figures | None = None


def check_graph(
    name: str,
    builder: StateGraph[Any, Any, Any, Any],
    *,
    recursion_limit: int,
    writes_behind: str | None = None,
    is_explored: bool = False,
) -> GraphReport:
    """Prove that a graph is bounded, connected and mapped.

    `writes_behind` names the review node: no path may reach the end around it. `is_explored` says
    that its routers are run on every case elsewhere, and need not name their routes.
    """
    problems = [*_unmapped(builder, is_explored=is_explored), *_undeclared(builder)]
    edges = read_edges(builder)
    loops = {
        node: int(spec.metadata[ENTRIES])
        for node, spec in builder.nodes.items()
        if spec.metadata and ENTRIES in spec.metadata
    }
    problems += [
        f"an edge leads from {source!r} to {target!r}, which is no node"
        for source, targets in edges.items()
        for target in sorted(targets - set(builder.nodes) - {END})
    ]
    problems += _unreachable(builder, edges)
    unbudgeted = _cycles_without(edges, frozenset(loops))
    problems += [f"the cycle {' → '.join(cycle)} has no loop budget" for cycle in unbudgeted]
    longest = None if unbudgeted else _longest(edges, loops)
    if longest is not None and longest + 1 > recursion_limit:
        problems.append(
            f"the worst path has {longest} node executions and needs a recursion limit of"
            f" {longest + 1}; it is {recursion_limit}"
        )
    if writes_behind is not None:
        problems += _around(edges, writes_behind)
    return GraphReport(
        name=name,
        nodes=len(builder.nodes),
        edges=edges,
        loops=loops,
        longest_path=longest,
        recursion_limit=recursion_limit,
        problems=problems,
        gate=writes_behind,
    )


def read_edges(builder: StateGraph[Any, Any, Any, Any]) -> Edges:
    """Read every edge that a graph declares: static, joined, conditional, and by Command."""
    found: dict[str, set[str]] = {START: set(), **{node: set[str]() for node in builder.nodes}}
    for source, target in builder.edges:
        found.setdefault(source, set()).add(target)
    for sources, target in builder.waiting_edges:
        for source in sources:
            found.setdefault(source, set()).add(target)
    for source, branches in builder.branches.items():
        for branch in branches.values():
            ends = cast("dict[Any, str]", branch.ends or {})
            found.setdefault(source, set()).update(ends.values())
    for node, spec in builder.nodes.items():
        # A tuple of names, or a dict from names to labels; iterating gives the names either way.
        destinations = cast("Iterable[str]", spec.ends or ())
        found[node].update(destinations)
    return {source: frozenset(targets) for source, targets in found.items()}


def flatten(outer: Edges, inner: Mapping[str, Edges]) -> Edges:
    """Join a graph's edges with those of its subgraphs, as a run passes through them."""
    joined: dict[str, set[str]] = {}
    for source, targets in outer.items():
        if source not in inner:
            joined.setdefault(source, set()).update(_entered(targets, outer, inner))
    for name, edges in inner.items():
        behind = _entered(outer.get(name, ()), outer, inner)
        for source, targets in edges.items():
            if source != START:
                onward = {target for target in targets if target != END}
                if END in targets:
                    onward |= behind
                joined.setdefault(source, set()).update(onward)
    return {source: frozenset(targets) for source, targets in joined.items()}


def _entered(targets: Iterable[str], outer: Edges, inner: Mapping[str, Edges]) -> set[str]:
    """Name the nodes that these edges lead to; a subgraph that may do nothing is passed through."""
    found: set[str] = set()
    passed: set[str] = set()
    queue = list(targets)
    while queue:
        target = queue.pop()
        if target not in inner:
            found.add(target)
        elif target not in passed:
            passed.add(target)
            first = inner[target].get(START, frozenset())
            found |= first - {END}
            if END in first:
                queue.extend(outer.get(target, ()))
    return found


def _unmapped(builder: StateGraph[Any, Any, Any, Any], *, is_explored: bool) -> Iterable[str]:
    for source, branches in builder.branches.items():
        for branch_name, branch in branches.items():
            if not branch.ends:
                yield f"the routes of {branch_name!r} from {source!r} are not mapped"
                continue
            returned = _returned(branch.path)
            if get_origin(returned) is Literal:
                named = {str(route) for route in get_args(returned)}
                if lost := ", ".join(map(repr, sorted(named - set(map(str, branch.ends))))):
                    yield f"{branch_name!r} from {source!r} may return {lost}, which is not mapped"
            elif not is_explored:
                yield (
                    f"{branch_name!r} from {source!r} names no Literal of its routes as its return"
                    " type, so whether all of them are mapped is not known"
                )


def _undeclared(builder: StateGraph[Any, Any, Any, Any]) -> Iterable[str]:
    """Find nodes that go where a Command says without declaring where that may be."""
    for node, spec in builder.nodes.items():
        returned = _returned(spec.runnable)
        kinds = (returned, get_origin(returned), *map(_kind, get_args(returned)))
        if Command in kinds and not spec.ends:
            yield f"the node {node!r} returns a Command and declares no destinations"


def _kind(annotation: Any) -> Any:
    return get_origin(annotation) or annotation


def _returned(runnable: Any) -> Any:
    """Read the return type of what a node or a branch runs; None, where it can't be read."""
    function = getattr(runnable, "afunc", None) or getattr(runnable, "func", None)
    try:
        return get_type_hints(function).get("return")
    except (NameError, TypeError):  # annotations that exist for type checkers alone
        return None


def _reach(edges: Edges, start: str, *, without: str | None = None) -> set[str]:
    seen: set[str] = set()
    queue = [start]
    while queue:
        node = queue.pop()
        if node in seen or node == without:
            continue
        seen.add(node)
        queue.extend(edges.get(node, ()))
    return seen


def _unreachable(builder: StateGraph[Any, Any, Any, Any], edges: Edges) -> list[str]:
    reached = _reach(edges, START)
    problems = [
        f"the node {node!r} is never reached" for node in builder.nodes if node not in reached
    ]
    problems += [
        f"no path leads from {node!r} to the end"
        for node in builder.nodes
        if END not in _reach(edges, node)
    ]
    return problems


def _around(edges: Edges, gate: str) -> list[str]:
    if gate not in edges:
        return [f"the graph has no node {gate!r}, behind which every write has to lie"]
    if END in _reach(edges, START, without=gate):
        return [f"a path reaches the end around {gate!r}"]
    return []


def _cycles_without(edges: Edges, budgeted: frozenset[str]) -> list[list[str]]:
    """Find cycles among the nodes that have no budget; each is given once."""
    cycles: list[list[str]] = []
    done: set[str] = set()

    def visit(node: str, path: list[str]) -> None:
        if node in path:
            cycles.append([*path[path.index(node) :], node])
            return
        if node in done or node in budgeted:
            return
        for target in sorted(edges.get(node, ())):
            visit(target, [*path, node])
        done.add(node)

    for node in sorted(edges):
        visit(node, [])
    return cycles


def _longest(edges: Edges, loops: Mapping[str, int]) -> int:
    """Count the node executions of the worst path, each budgeted node at most its budget often."""

    @cache  # paths that meet again go on alike; without it, time doubles with every branch
    def walk(node: str, left: tuple[int, ...]) -> int:
        if node == END:
            return 0
        if node in place:
            at = place[node]
            if left[at] == 0:
                return -1  # the wrapper refuses this entry: no such path
            left = (*left[:at], left[at] - 1, *left[at + 1 :])
        own = 0 if node == START else 1
        ways = [walk(target, left) for target in edges.get(node, ())]
        return own + max((way for way in ways if way >= 0), default=0)

    place = {node: index for index, node in enumerate(loops)}
    return walk(START, tuple(loops.values()))
