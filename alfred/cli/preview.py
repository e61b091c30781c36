"""How a proposal looks in a terminal: what would change, and the words it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from rich.console import Console
from rich.text import Text

from alfred.cli.groups import group_headings
from alfred.engine.action import referenced
from alfred.engine.evidence import Evidence
from alfred.engine.proposal import Proposal, ProposedAction
from alfred.engine.writer import Effect

VERBS = {
    "create": "create",
    "update": "change",
    "none": "already there:",
    "append": "add",
    "delete": "delete",
}
CONTEXT_CHARS = 20
MAX_VALUE_CHARS = 200
HIGHLIGHT = "not dim black on yellow"
TOLD = {
    "classified": "a choice about these words",
    "given": "known beside the text",
    "literal": "fixed by the node",
    "edited": "given by you",
}
_KEYS = ("_key", "fingerprint")
"""Columns that say the same as another, in the form that duplicates are found by."""
HIDDEN_TABLES = frozenset({"event", "fact"})
"""Written with every action; told in one line rather than field by field."""


def print_proposal(console: Console, proposal: Proposal, source: str) -> None:
    """Print every action with its effects and evidence; `source` is the message's text."""
    console.print(
        Text.assemble(
            ("Proposal ", "bold"),
            (str(proposal.id)[:8], "bold cyan"),
            f"  {len(proposal.actions)} actions, {proposal.state}",
            f", open until {proposal.expires_at:%Y-%m-%d}" if proposal.state == "pending" else "",
        )
    )
    for notice in proposal.notices:
        console.print(Text(f"  note: {notice}", style="yellow"))
    headings = group_headings(proposal)
    for action in proposal.actions:
        console.print()
        if action.id in headings:
            console.print(
                Text(f"── {_flat(headings[action.id])} ──", style="bold cyan"), soft_wrap=True
            )
        for line in action_lines(proposal, action, source):
            console.print(line, soft_wrap=True)
    console.print()


def action_lines(proposal: Proposal, action: ProposedAction, source: str) -> Iterator[Text]:
    """Yield the lines of one action: a headline, its arguments with evidence, its effects."""
    yield headline(proposal, action)
    for name, value in action.args.items():
        evidence = action.evidence.get(name)
        line = _argument(proposal, name, value)
        if evidence is not None and evidence["support"] in TOLD:
            line.append(f"  ({TOLD[evidence['support']]})", style="dim")
        yield line
        if evidence is not None and evidence["support"] not in TOLD:
            yield _support(evidence, source)
    for name in action.missing:
        line = Text.assemble(
            f"      {name}: ", ("______ not stated; fill it with --set", "bold red")
        )
        yield line
    if action.problem and not action.missing:
        yield Text(f"      can't run: {action.problem}", style="red")
    told = {print_value(value) for value in action.args.values()}
    for effect in action.effects:
        if effect["table"] not in HIDDEN_TABLES:
            yield from _effect(effect, told)
    beside = sorted({e["table"] for e in action.effects if e["table"] in HIDDEN_TABLES})
    if beside:
        yield Text(f"      and records: {', '.join(beside)}", style="dim")


def headline(proposal: Proposal, action: ProposedAction) -> Text:
    """Name an action: its number, whether it is ticked, its kind, and what it falls with."""
    tick = {True: "[x]", False: "[ ]"}[action.is_tickable]
    if action.state != "pending":
        tick = f"[{action.state}]"
    parents = [str(a.ordinal) for a in proposal.actions if a.id in action.depends_on]
    falls = f"  (falls with {', '.join(parents)})" if parents else ""
    return Text.assemble(
        (f"{action.ordinal:>3} {tick} ", "bold"), (action.kind, "bold"), (falls, "dim")
    )


def _argument(proposal: Proposal, name: str, value: Any) -> Text:
    target = referenced(value)
    if target is not None:
        ordinal = next((a.ordinal for a in proposal.actions if str(a.id) == target), "?")
        return Text.assemble(f"      {name}: ", (f"what action {ordinal} makes", "italic"))
    return Text.assemble(f"      {name}: ", (print_value(value), "bold"))


def _support(evidence: Evidence, source: str) -> Text:
    if evidence["support"] == "ungrounded":
        return Text("          not in the source", style="bold red")
    if evidence["support"] == "said":
        return Text.assemble("          you said ", (_quoted(evidence["quote"]), HIGHLIGHT))
    line = Text("          ", style="dim")
    if evidence["support"] == "derived":
        line.append("derived from ")
    quotes = [source[span["start"] : span["end"]] for span in evidence["spans"]]
    if len(quotes) == 1:
        start, end = evidence["spans"][0]["start"], evidence["spans"][0]["end"]
        before, after = source[:start], source[end:]
        line.append("…" if len(before) > CONTEXT_CHARS else "")
        line.append(_flat(before[-CONTEXT_CHARS:]))
        line.append(_quoted(quotes[0]), style=HIGHLIGHT)
        line.append(_flat(after[:CONTEXT_CHARS]))
        line.append("…" if len(after) > CONTEXT_CHARS else "")
        return line
    # Several places, or words that stand elsewhere than in this message.
    for quote in quotes or [evidence["quote"]]:
        line.append(_quoted(quote), style=HIGHLIGHT)
        line.append(" ")
    return line


def _effect(effect: Effect, told: set[str]) -> Iterator[Text]:
    """Yield what happens to one row; what its action's arguments already say is not repeated."""
    yield Text.assemble(
        "      → ", (f"{VERBS[effect['operation']]} {_cut(effect['row'])}", "green")
    )
    is_update = effect["operation"] == "update"
    for column, old in effect["before"].items() if effect["operation"] == "delete" else ():
        if not column.endswith((*_KEYS, "_id")):  # its name says to what the row belongs
            yield Text(f"          {column}: {print_value(old)}", style="dim")
    for column, new in effect["after"].items():
        if column.endswith(_KEYS):
            continue
        if is_update:
            old = effect["before"].get(column)
            yield Text(f"          {column}: {print_value(old)} → {print_value(new)}")
        elif print_value(new) not in told:
            yield Text(f"          {column}: {print_value(new)}", style="dim")


def _quoted(words: str) -> str:
    return f"“{_cut(_flat(words))}”"


def print_value(value: Any) -> str:
    """Put a value on one line: bounded, and without characters that steer the terminal."""
    if value is None:
        return "(empty)"
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return f"{len(items)} {'entry' if len(items) == 1 else 'entries'}"
    return _cut(_flat(value if isinstance(value, str) else str(value)))


def _flat(text: str) -> str:
    """Put text on one line, without characters that would steer the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_VALUE_CHARS else text[: MAX_VALUE_CHARS - 1] + "…"
