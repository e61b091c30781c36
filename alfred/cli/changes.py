"""What a correction in words has changed, for the preview and for `--json` alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from alfred.app import App
from alfred.cli.preview import print_value
from alfred.engine.action import referenced
from alfred.engine.proposal import Proposal, ProposedAction, proposal_id
from alfred.engine.proposal_change import Change, Revised, compare


async def find_changes(app: App, proposal: Proposal) -> Revised | None:
    """Compare a proposal with the one that was corrected; None where there was none."""
    if not proposal.attempt:
        return None
    earlier = proposal_id(proposal.turn_id, proposal.attempt - 1)
    words = await app.approvals.load_words(app.user_id, earlier)
    if not words:
        return None
    return compare(words, await app.approvals.load(app.user_id, earlier), proposal)


async def print_changes(app: App, console: Console, proposal: Proposal) -> None:
    """Print what the person said and what it changed; nothing for what was never corrected."""
    revised = await find_changes(app, proposal)
    if revised is not None:
        for line in change_lines(revised):
            console.print(line, soft_wrap=True)
        console.print()


def change_lines(revised: Revised) -> Iterator[Text]:
    """Yield a line for each action that is new, changed, rejected or gone, and one for the rest."""
    yield Text.assemble("You said: ", (f"“{print_value(revised.words)}”", "bold"))
    same: list[str] = []
    for change in revised.changes:
        action, told = change.action, _told(change)
        if told == "unchanged":
            same.append(str(action.ordinal))
            continue
        details = ", ".join(_fields(change)) or _summary(action)
        yield Text.assemble(
            (f"{action.ordinal:>3} {told:<9}", "bold"), f" {action.kind}: {details}"
        )
    for action in revised.gone:
        yield Text.assemble((f"    {'gone':<9}", "bold red"), f" {action.kind}: {_summary(action)}")
    if same:
        yield Text(f"    unchanged {', '.join(same)}", style="dim")


def changes_document(revised: Revised | None) -> dict[str, Any] | None:
    """Describe what a correction changed; null for what was never corrected."""
    if revised is None:
        return None
    return {
        "words": revised.words,
        "replaces": revised.before.id,
        "changes": [
            {
                "ordinal": change.action.ordinal,
                "change": change.kind,
                "fields": {
                    name: {"before": before, "after": after}
                    for name, (before, after) in change.fields.items()
                },
            }
            for change in revised.changes
        ],
        "gone": [
            {"ordinal": action.ordinal, "kind": action.kind, "args": dict(action.args)}
            for action in revised.gone
        ],
    }


def _told(change: Change) -> str:
    was_rejected = change.before is not None and change.before.state == "rejected"
    if change.action.state == "rejected":
        return "rejected"
    return "reopened" if was_rejected and change.kind == "unchanged" else change.kind


def _fields(change: Change) -> Iterator[str]:
    for name, (before, after) in change.fields.items():
        yield f"{name}: {_value(before)} → {_value(after)}"


def _summary(action: ProposedAction) -> str:
    values = (value for value in action.args.values() if referenced(value) is None)
    return " / ".join(map(_value, values))


def _value(value: Any) -> str:
    return "what another action makes" if referenced(value) else print_value(value)
