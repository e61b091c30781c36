"""`alfred check`: manifests without mistakes, graphs proven bounded, before anything runs."""

from __future__ import annotations

import sys

import click

from alfred.cli.session import console, json_option, print_json


@click.command("check")
@click.option(
    "--graphs/--no-graphs", default=True, help="Prove the graphs too (imports LangGraph)."
)
@json_option
def command(*, graphs: bool, as_json: bool) -> None:
    """Load every node and prove every graph: loops have budgets, routes are mapped, no node is
    unreachable, the worst path fits the recursion limit, every write lies behind the review.

    Needs no database and no model. Exits with 1 if anything is wrong.
    """
    from alfred.app import load_domains, load_registry

    domains = load_domains()
    registry = load_registry(domains)
    reports = []
    if graphs:
        from alfred.app import load_builders, load_prefilter
        from alfred.graphs.proof import check_all

        reports = check_all(load_builders(domains), load_prefilter(registry))
    problems = [str(problem) for problem in registry.problems]
    problems += [f"graph {report.name}: {text}" for report in reports for text in report.problems]
    if as_json:
        print_json(
            {
                "nodes": sorted(registry.manifests),
                "graphs": [
                    {
                        "name": report.name,
                        "nodes": report.nodes,
                        "loops": dict(report.loops),
                        "longest_path": report.longest_path,
                        "recursion_limit": report.recursion_limit,
                    }
                    for report in reports
                ],
                "problems": problems,
            }
        )
    else:
        out = console()
        out.print(f"nodes: {', '.join(sorted(registry.manifests))}", markup=False)
        for report in reports:
            loops = ", ".join(f"{n} at most {b} times" for n, b in report.loops.items()) or "none"
            out.print(
                f"graph {report.name}: {report.nodes} nodes, loops: {loops},"
                f" worst path {report.longest_path} of {report.recursion_limit - 1} steps",
                markup=False,
            )
        for problem in problems:
            out.print(problem, style="red", markup=False)
        out.print("ok" if not problems else f"{len(problems)} problems")
    sys.exit(1 if problems else 0)
