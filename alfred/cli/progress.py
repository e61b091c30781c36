"""Fields as they are decoded, each with its evidence, while the model is still writing."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from alfred.cli.preview import print_value
from alfred.engine.context import NodeStep, Progress, Told


class FieldPrinter:
    """Prints each field the moment it is complete."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __call__(self, seen: Told) -> None:
        if isinstance(seen, NodeStep):
            return
        if isinstance(seen, Progress):
            self._console.print(Text(seen.text, style="dim"))
            return
        line = Text.assemble("  ", (seen.pointer.lstrip("/"), "cyan"), ": ")
        line.append(print_value(seen.value), style="bold")
        evidence = seen.evidence
        if evidence["support"] == "ungrounded":
            line.append("  not in the source", style="red")
        elif evidence["quote"]:
            line.append(f"  ← “{print_value(evidence['quote'])}”", style="dim")
        self._console.print(line, soft_wrap=True)
