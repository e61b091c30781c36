"""Asking a person about each action, and carrying out what they say."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import click
from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from alfred.app import App
from alfred.cli.changes import print_changes
from alfred.cli.entry import STILL_PENDING
from alfred.cli.lookup import find_action
from alfred.cli.preview import action_lines, headline, print_proposal, print_value
from alfred.engine.amendment import Edit
from alfred.engine.correction import require_correctable, require_words
from alfred.engine.decision_rules import Verdict
from alfred.engine.executor import parse_arguments
from alfred.engine.proposal import Proposal, ProposedAction, digests
from alfred.errors import AlfredError, ReviewRefused

KEYS = tuple("ynecsaq")
QUESTION = (
    "      [y] approve  [n] reject  [e] edit  [c] say what is wrong  [s] later"
    "  [a] approve all ticked  [q] stop"
)


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the options of one command ask for; it is false where they ask for nothing."""

    approved: Sequence[str]
    rejected: Sequence[str]
    assignments: Sequence[str]
    yes: bool
    discard_rest: bool

    def __bool__(self) -> bool:
        listed = self.approved or self.rejected or self.assignments
        return bool(listed or self.yes or self.discard_rest)


async def carry_out(app: App, console: Console, proposal: Proposal, source: str, wish: Wish) -> int:
    """Edit, show the new effects, decide and settle; return the exit code."""
    if wish.assignments:
        edits = parse_assignments(app, proposal, wish.assignments)
        proposal = await app.approvals.amend(
            proposal.id, edits, seen=proposal.digest, actor=app.actor
        )
        console.print("With your edits:")
        print_proposal(console, proposal, source)
    verdicts: dict[UUID, Verdict] = {
        **{find_action(proposal, typed).id: "approve" for typed in wish.approved},
        **{find_action(proposal, typed).id: "reject" for typed in wish.rejected},
    }
    if wish.yes:
        verdicts |= ticked(proposal, verdicts)
    if wish.discard_rest:
        rest = (action.id for action in proposal.in_state("pending") if action.id not in verdicts)
        verdicts |= dict.fromkeys(rest, "reject")
    if verdicts:
        proposal = await app.approvals.decide(
            proposal.id, verdicts, seen=proposal.digest, actor=app.actor
        )
    return await settle(app, console, proposal)


async def interview(app: App, console: Console, proposal: Proposal, source: str) -> int:
    """Ask about every pending action of a proposal that was shown; return the exit code."""
    verdicts: dict[UUID, Verdict] = {}
    asked: set[UUID] = set()
    while action := _next_open(proposal, verdicts, asked):
        console.print(_reminder(proposal, action), soft_wrap=True)
        key = ask_key()
        if key == "e":
            shown, proposal = proposal, await _edit(app, console, proposal, action)
            for moved in _changed(shown, proposal):  # what was said of it was said of other effects
                verdicts.pop(moved, None)
                asked.discard(moved)
            for line in (
                line
                for changed in proposal.in_state("pending")
                for line in action_lines(proposal, changed, source)
            ):
                console.print(line, soft_wrap=True)
            continue
        if key == "c":
            proposal = await _correct(app, console, proposal, source, verdicts)
            if proposal.state != "pending":
                return 0
            known = {each.id for each in proposal.actions}
            verdicts = {key: said for key, said in verdicts.items() if key in known}
            asked &= known
            continue
        if key == "a":
            verdicts |= ticked(proposal, asked)
        if key in ("a", "q"):
            break
        asked.add(action.id)
        if key != "s":
            verdicts[action.id] = "approve" if key == "y" else "reject"
    if verdicts:
        proposal = await app.approvals.decide(
            proposal.id, verdicts, seen=proposal.digest, actor=app.actor
        )
    return await settle(app, console, proposal)


def ask_key() -> str:
    """Ask until one of the keys is pressed; the end of the input stops, as `q` does."""
    while True:
        click.echo(QUESTION)
        key = _typed("      [s]: ", at_end="q").strip().lower() or "s"
        if key in KEYS:
            return key


def _typed(prompt: str, *, at_end: str = "") -> str:
    try:
        return input(prompt)
    except EOFError:
        click.echo()
        return at_end


def ticked(proposal: Proposal, settled: Collection[UUID]) -> dict[UUID, Verdict]:
    """Approve every pending action that is complete and grounded, and not settled already."""
    return {
        action.id: "approve"
        for action in proposal.in_state("pending")
        if action.is_tickable and action.id not in settled
    }


async def settle(app: App, console: Console, proposal: Proposal) -> int:
    """Commit if everything is decided and say what happened; return the exit code."""
    if proposal.state == "pending":
        waiting = proposal.in_state("pending")
        console.print(f"{len(waiting)} of {len(proposal.actions)} actions wait for you.")
        for action in waiting:
            console.print(
                f"  {action.ordinal:>3} {action.kind}: {_why_waiting(action)}", markup=False
            )
        console.print("Nothing is written before all are decided.")
        return STILL_PENDING
    standing = await app.settle(proposal.id)
    final = await app.approvals.load(app.user_id, proposal.id)
    written, discarded = len(final.in_state("committed")), len(final.in_state("rejected"))
    console.print(f"{standing.outcome}: {written} actions written, {discarded} discarded.")
    if discarded:
        console.print("The original text is kept.", style="dim")
    return 0


def parse_assignments(app: App, proposal: Proposal, assignments: Sequence[str]) -> dict[UUID, Edit]:
    """Read `--set ID.field=value`; nothing behind the sign clears an optional value.

    Errors: `review.edit` for what is not of that form; `review.unknown_action`.
    """
    values: dict[UUID, dict[str, Any]] = {}
    for assignment in assignments:
        target, equals, words = assignment.partition("=")
        typed, dot, name = target.partition(".")
        if not (equals and dot and name):
            raise ReviewRefused(
                "review.edit",
                f"--set {assignment!r} is not of the form ID.field=value.",
                hint="For example: --set 2.title='Data Engineer'",
            )
        action = find_action(proposal, typed)
        values.setdefault(action.id, {})[name] = read_value(app, action, name, words)
    return {action_id: Edit(args=args) for action_id, args in values.items()}


def read_value(app: App, action: ProposedAction, name: str, words: str) -> Any:
    """Take what was typed as text where the argument can be text, otherwise as JSON.

    A company named 1688 and a title 1e5 so stay what they are.
    """
    if not words:
        return None
    if action.kind not in app.kinds:
        return words  # the edit will be refused
    try:
        parse_arguments(app.kinds[action.kind], {**action.args, name: words})
    except ValidationError as error:
        if any(item["loc"][:1] == (name,) for item in error.errors()):
            try:
                return json.loads(words)
            except (ValueError, RecursionError):  # no JSON, an endless number, endless nesting
                return words
    return words


async def _edit(app: App, console: Console, proposal: Proposal, action: ProposedAction) -> Proposal:
    name = _typed("      which value: ").strip()
    if not name:
        return proposal
    text = _typed(f"      {name}: ")
    edit = Edit(args={name: read_value(app, action, name, text)})
    try:
        revised = await app.approvals.amend(
            proposal.id, {action.id: edit}, seen=proposal.digest, actor=app.actor
        )
    except ReviewRefused as error:
        console.print(f"      {error}", style="red", markup=False)
        shown = error.details.get("proposal")
        return shown if isinstance(shown, Proposal) else proposal
    console.print("      The new effects:")
    return revised


async def correct(
    app: App, console: Console, proposal: Proposal, source: str, words: str
) -> Proposal:
    """Correct a proposal in words and show the one that takes its place.

    Errors: those of `App.correct`.
    """
    standing = await app.correct(proposal.id, words, seen=proposal.digest)
    if standing.proposal is None:
        console.print("Nothing is proposed any more.", *standing.problems, markup=False)
        return await app.approvals.load(app.user_id, proposal.id)
    await print_changes(app, console, standing.proposal)
    print_proposal(console, standing.proposal, source)
    return standing.proposal


async def _correct(
    app: App, console: Console, proposal: Proposal, source: str, verdicts: Mapping[UUID, Verdict]
) -> Proposal:
    """Ask for the words; what was rejected so far is recorded first, for rejections carry over."""
    words = _typed("      what is wrong: ").strip()
    if not words:
        return proposal
    try:
        require_words(words)
        require_correctable(proposal)
    except ReviewRefused as error:
        console.print(f"      {error}", style="red", markup=False)
        return proposal
    rejected: dict[UUID, Verdict] = {
        key: "reject" for key, verdict in verdicts.items() if verdict == "reject"
    }
    if rejected:
        proposal = await app.approvals.decide(
            proposal.id, rejected, seen=proposal.digest, actor=app.actor
        )
    return await correct(app, console, proposal, source, words)


def _changed(before: Proposal, after: Proposal) -> set[UUID]:
    """Name the actions that would now do something else than what was shown."""
    shown, now = digests(before.actions)[0], digests(after.actions)[0]
    return {action_id for action_id, seen in shown.items() if now.get(action_id) != seen}


def _reminder(proposal: Proposal, action: ProposedAction) -> Text:
    """Repeat which action is meant, in one line."""
    values = (v for v in action.args.values() if isinstance(v, str))
    return headline(proposal, action).append(f"  {' / '.join(map(print_value, values))}")


def _next_open(
    proposal: Proposal, verdicts: Mapping[UUID, Verdict], asked: set[UUID]
) -> ProposedAction | None:
    rejected = {key for key, verdict in verdicts.items() if verdict == "reject"}
    fallen = proposal.dependents(rejected)
    return next(
        (a for a in proposal.in_state("pending") if a.id not in asked and a.id not in fallen), None
    )


def _why_waiting(action: ProposedAction) -> str:
    if action.problem:
        return action.problem
    unsupported = [n for n, e in action.evidence.items() if e["support"] == "ungrounded"]
    if unsupported:
        return (
            f"{', '.join(unsupported)} not in the source; approve it by its number if it is right"
        )
    return "not decided"


def reshow(console: Console, error: AlfredError, source: str) -> None:
    """Print the new effects that came with a refusal."""
    proposal = error.details.get("proposal")
    if isinstance(proposal, Proposal):
        print_proposal(console, proposal, source)
