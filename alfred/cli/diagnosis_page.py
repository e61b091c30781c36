"""How a diagnosis looks in a terminal: first look, facts with verdicts, cited answer, path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

MAX_FIRST_LINES = 6
"""Lines of one tool in the first look; the rest is in the answer's evidence."""
OUTCOMES = {
    "ok": "green",
    "empty": "cyan",
    "failed": "red",
    "timeout": "red",
    "refused": "yellow",
}
VERIFICATIONS = {
    "direct_support": ("supported", "green"),
    "indirect_support": ("indirect", "yellow"),
    "no_evidence": ("no evidence", "red"),
    "contradicted": ("contradicted", "red"),
}


def print_first_look(console: Console, calls: Sequence[Mapping[str, Any]]) -> None:
    """Print what the tools show before any model is asked."""
    for call in calls:
        console.print(_heading(call), soft_wrap=True)
        for line in call["lines"][:MAX_FIRST_LINES]:
            console.print(Text(f"    {line}"), soft_wrap=True)
        left = len(call["lines"]) - MAX_FIRST_LINES
        if left > 0:
            console.print(Text(f"    … {left} more", style="dim"))
    console.print()


def _heading(call: Mapping[str, Any]) -> Text:
    told = call["error"] or call["asked"] or call["tool"]
    return Text.assemble(
        (f"{call['id']} ", "bold cyan"),
        (f"{call['kind']} ", "bold"),
        (call["outcome"], OUTCOMES.get(call["outcome"], "")),
        f"  {told}",
    )


def print_diagnosis(console: Console, answer: Mapping[str, Any], path: Mapping[str, Any]) -> None:
    """Print the fact table, the answer with its citations, and the path that led to it."""
    if answer["facts"]:
        console.print(_facts(answer["facts"]))
    _print_answer(console, answer)
    _print_path(console, path, answer["reason"])


def _facts(facts: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title="Facts", title_justify="left", show_edge=False, pad_edge=False)
    for name in ("fact", "", "says", "evidence", "verdict"):
        table.add_column(name, overflow="fold")
    for fact in facts:
        verdict, style = VERIFICATIONS.get(fact["verification"], (fact["verification"], ""))
        table.add_row(
            Text(fact["id"], style="bold cyan"),
            Text(fact["role"]),
            Text(fact["fact"]),
            Text(" ".join(fact["evidence"])),
            Text(verdict, style=style),
        )
    return table


def _print_answer(console: Console, answer: Mapping[str, Any]) -> None:
    console.print()
    console.print(Text(answer["headline"], style="bold"), soft_wrap=True)
    for sentence in answer["sentences"]:
        cited = " ".join(f"[{name}]" for name in (*sentence["facts"], *sentence["evidence"]))
        line = Text.assemble("  ", sentence["text"], (f"  {cited}", "cyan"))
        console.print(line, soft_wrap=True)
    for title, lines in (
        ("Hypotheses", [_hypothesis(each) for each in answer["hypotheses"]]),
        (
            "No cause, but worth a look",
            [_coincidence(each) for each in answer.get("coincidences", ())],
        ),
        ("Missing", answer["missing"]),
        ("Tried", answer["tried"]),
        ("Failed", answer["failed"]),
        ("Next", [*answer["next_steps"], *(_check(each) for each in answer["next_checks"])]),
    ):
        if lines:
            console.print(Text(f"{title}:", style="bold"))
            for line in lines:
                console.print(Text(f"  - {line}"), soft_wrap=True)
    if answer["evidence"]:
        console.print(Text("Evidence:", style="bold"))
    for piece in answer["evidence"]:
        line = Text.assemble(
            "  ", (f"[{piece['id']}] ", "cyan"), piece["tool"], f"  {piece['asked']}"
        )
        console.print(line, soft_wrap=True)


def _hypothesis(hypothesis: Mapping[str, Any]) -> str:
    missing = hypothesis.get("missing")
    return f"{hypothesis['text']} [{hypothesis['fact']}]" + (f" ({missing})" if missing else "")


def _coincidence(coincidence: Mapping[str, Any]) -> str:
    return f"{coincidence['text']} {' '.join(f'[{name}]' for name in coincidence['evidence'])}"


def _check(check: Mapping[str, Any]) -> str:
    given = " ".join(f"{name}={value}" for name, value in check.get("arguments", {}).items())
    why = check.get("why")
    return f"{check['tool']} {given}".strip() + (f": {why}" if why else "")


def _print_path(console: Console, path: Mapping[str, Any], reason: str) -> None:
    """Print each step with the code that says why it was taken."""
    console.print()
    steps = [f"{step['to']} ({step['reason_code']})" for step in path.get("transitions", [])]
    steps = [step.removesuffix(" ()") for step in steps]
    console.print(Text.assemble(("Path: ", "bold"), " → ".join(steps), f" → end ({reason})"))
