"""A graph as a Mermaid flowchart, with the path that a run took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from alfred.engine.trace import START, Transition

END = "__end__"


def flowchart(edges: Mapping[str, frozenset[str]], taken: Sequence[Transition] = ()) -> str:
    """Draw declared edges, dotted, and those that were taken, numbered in their order.

    Shapes: one statement a line; a node on the path has the class `taken`. Node names come from
    code, but are quoted all the same.
    """
    nodes = sorted({START, END, *edges, *(target for group in edges.values() for target in group)})
    ids = {node: f"n{place}" for place, node in enumerate(nodes)}
    numbers: dict[tuple[str, str], list[str]] = {}
    for place, step in enumerate(taken, start=1):
        label = f"{place} {step.reason}".strip()
        numbers.setdefault((step.source, step.target), []).append(label)
    lines = ["flowchart TD"]
    lines += [f"  {ids[node]}{_shape(node)}" for node in nodes]
    for source in nodes:
        for target in sorted(edges.get(source, ())):
            labels = numbers.get((source, target))
            arrow = f"-->|{_quoted('; '.join(labels))}|" if labels else "-.->"
            lines.append(f"  {ids[source]} {arrow} {ids[target]}")
    visited = {node for step in taken for node in (step.source, step.target)}
    if visited:
        lines.append("  classDef taken stroke-width:3px")
        lines.append(f"  class {','.join(ids[node] for node in nodes if node in visited)} taken")
    return "\n".join(lines)


def _shape(node: str) -> str:
    if node in (START, END):
        return f"(({_quoted(node.strip('_'))}))"
    return f"[{_quoted(node)}]"


def _quoted(text: str) -> str:
    escaped = "".join(c if c.isalnum() or c in " _;.-" else f"#{ord(c)};" for c in text)
    return f'"{escaped}"'
