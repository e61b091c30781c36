"""`alfred check`: manifests without mistakes, graphs proven bounded, before anything runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from alfred.cli.session import console, json_option, print_json

if TYPE_CHECKING:
    from alfred.engine.check import GraphReport
    from alfred.engine.enumeration import Figures


@click.command("check")
@click.argument("graph", metavar="[GRAPH]", required=False)
@click.option(
    "--graphs/--no-graphs", default=True, help="Prove the graphs too (imports LangGraph)."
)
@json_option
def command(graph: str | None, *, graphs: bool, as_json: bool) -> None:
    """Load every node and prove every graph: loops have budgets, routes are mapped, no node is
    unreachable, the worst path fits the recursion limit, every write lies behind the review or is
    of an automatic kind, which only adds to append-only tables.

    Where a graph's router can be explored, every path it can take is counted. GRAPH names the only
    graph to prove. Needs no database and no model. Exits with 1 if anything is wrong.
    """
    from alfred.engine.automatic import check_kinds
    from alfred.engine.domain import all_kinds
    from alfred.installed import load_domains, load_registry

    domains = load_domains()
    registry = load_registry(domains)
    automatic = [kind for kind in all_kinds(domains).values() if kind.is_automatic]
    unsafe = check_kinds(automatic)
    reports: list[GraphReport] = []
    if graphs or graph is not None:
        from alfred.graphs.proof import check_all
        from alfred.installed import load_builders, load_prefilter

        reports = check_all(load_builders(domains), load_prefilter(registry))
    if graph is not None:
        reports = _only(reports, graph)
    problems = [] if graph is not None else [*map(str, registry.problems), *unsafe]
    problems += [f"graph {report.name}: {text}" for report in reports for text in report.problems]
    if as_json:
        print_json(
            {
                "nodes": sorted(registry.manifests),
                "automatic": {k.name: [table.name for table in k.appends] for k in automatic},
                "graphs": [_document(report) for report in reports],
                "problems": problems,
            }
        )
    else:
        out = console()
        if graph is None:
            out.print(f"nodes: {', '.join(sorted(registry.manifests))}", markup=False)
        if graph is None and automatic and not unsafe:
            names = ", ".join(sorted(kind.name for kind in automatic))
            told = f"automatic kinds: {names}: each only adds to append-only tables"
            out.print(told, markup=False)
        for line in (line for report in reports for line in _lines(report)):
            out.print(line, markup=False)
        for problem in problems:
            out.print(problem, style="red", markup=False)
        out.print("ok" if not problems else f"{len(problems)} problems")
    sys.exit(1 if problems else 0)


def _only(reports: Sequence[GraphReport], name: str) -> list[GraphReport]:
    chosen = [report for report in reports if report.name == name]
    if not chosen:
        known = ", ".join(dict.fromkeys(report.name for report in reports))
        raise click.UsageError(f"There is no graph {name!r}. There are: {known}.")
    return chosen


def _lines(report: GraphReport) -> Iterator[str]:
    loops = ", ".join(f"{node} ≤ {bound}" for node, bound in report.loops.items()) or "none"
    yield (
        f"graph {report.name}: {report.nodes} nodes, worst path {report.longest_path} of"
        f" {report.recursion_limit - 1} steps, budgets: {loops}"
    )
    if report.gate is not None:
        yield f"  every path to the end passes {report.gate}: nothing is written before it"
    if report.figures is not None:
        yield from _explored(report.figures)


def _explored(figures: Figures) -> Iterator[str]:
    ends = ", ".join(f"{count} end in {node}" for node, count in sorted(figures.ends.items()))
    most = ", ".join(f"{node} {count}" for node, count in figures.maxima.items())
    yield f"  explored: {figures.rows} routing rows, {figures.paths} terminating paths ({ends})"
    yield f"  longest path {figures.longest} node executions, shortest {figures.shortest}"
    yield f"  most executions on one path: {most}"


def _document(report: GraphReport) -> dict[str, Any]:
    figures = report.figures
    return {
        "name": report.name,
        "nodes": report.nodes,
        "loops": dict(report.loops),
        "longest_path": report.longest_path,
        "recursion_limit": report.recursion_limit,
        "gate": report.gate,
        "explored": figures
        and {
            "rows": figures.rows,
            "paths": figures.paths,
            "ends": dict(figures.ends),
            "longest": figures.longest,
            "shortest": figures.shortest,
            "maxima": dict(figures.maxima),
        },
    }
