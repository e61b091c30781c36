"""The benchmark's figures as tables, in Markdown, for a terminal and for the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

_FIGURES = (("python_ms", "CPU, Python"), ("postgres_ms", "CPU, PostgreSQL"), ("wall_ms", "wall"))


def print_tables(document: dict[str, Any]) -> None:
    """Print costs, counts and the profile's largest shares."""
    variants: dict[str, Any] = document["variants"]
    click.echo(f"\nMilliseconds a turn, medians of {document['rounds']} rounds (lowest-highest)\n")
    click.echo(cost_table(variants))
    click.echo("\nFor the database, a turn\n")
    counts = [
        [name, str(found["network_waits"]), str(found["statements"])]
        for name, found in variants.items()
    ]
    click.echo(table(["", "network waits", "statements"], counts))
    for name, found in variants.items():
        shares = found["profile"]["packages"]
        listed = ", ".join(f"{package} {share:g} %" for package, share in list(shares.items())[:12])
        click.echo(f"\nCPU of {name}: {listed}")


def cost_table(variants: dict[str, Any]) -> str:
    """Lay out the costs, one line for each variant and concurrency, ratios to Alfred's beside."""
    lines: list[list[str]] = []
    for name, found in variants.items():
        for concurrency, cost in found["cost"].items():
            cells = [_spread(cost[figure]) for figure, _ in _FIGURES]
            lines.append([name, concurrency, *cells, _ratio(variants, concurrency, cost)])
    return table(
        ["", "at a time", *(title for _, title in _FIGURES), "CPU, Python / Alfred"], lines
    )


def _spread(figure: dict[str, float]) -> str:
    return f"{figure['median']:.1f} ({figure['low']:.1f}-{figure['high']:.1f})"


def _ratio(variants: dict[str, Any], concurrency: str, cost: dict[str, Any]) -> str:
    if "alfred" not in variants:
        return ""
    own = variants["alfred"]["cost"][concurrency]["python_ms"]["median"]
    return f"{cost['python_ms']['median'] / own:.2f}"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Lay out a table in Markdown with columns of even width."""
    widths = [max(len(line[column]) for line in (head, *lines)) for column in range(len(head))]

    def row(cells: Sequence[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return f"| {' | '.join(padded)} |"

    ruler = f"|{'|'.join('-' * (width + 2) for width in widths)}|"
    return "\n".join([row(head), ruler, *map(row, lines)])
