"""A person's edits of a proposal: validated at once, carried to every action they concern."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast
from uuid import UUID

from pydantic import ValidationError

from alfred.engine import json_pointer
from alfred.engine.action import ActionKind, references, unstorable
from alfred.engine.canonical import digest
from alfred.engine.decision_rules import outdated
from alfred.engine.evidence import Evidence
from alfred.engine.executor import misfit, parse_arguments, takes_reference
from alfred.engine.ledger import Entry
from alfred.engine.proposal import Proposal, ProposedAction
from alfred.errors import ReviewRefused

MAX_DEPTH = 16
"""How deeply lists and objects of an edited value may be nested; far more than any kind takes."""
_EDITED: Evidence = {"support": "edited", "spans": [], "quote": ""}


@dataclass(frozen=True, kw_only=True)
class Edit:
    """New values for arguments of one action; None clears an optional one.

    `kind`, where a client sends it, must be the action's own: an edit that could change it would
    slip past the review of the other kind.
    """

    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    kind: str | None = None


def apply_edits(
    proposal: Proposal, edits: Mapping[UUID, Edit], kinds: Mapping[str, ActionKind]
) -> tuple[list[ProposedAction], list[Entry]]:
    """Return all actions with the edits applied, and what to write down about them.

    An argument that came from the same place of the model's answer changes in every other action
    too: correcting a name in one corrects it in all.
    Errors: `review.edit` with JSON pointers, `review.kind`, `review.unknown_action`,
    `review.outdated` for an action whose kind is gone, `review.conflict` for one that is already
    decided.
    """
    wanted = _carry(proposal, _check(proposal, edits, kinds))
    edited: list[ProposedAction] = []
    entries: list[Entry] = []
    for action in proposal.actions:
        changes = wanted.get(action.id)
        if not changes:
            edited.append(action)
            continue
        changed = _apply(action, changes)
        if action.kind in kinds:
            _validate(changed, changes, kinds[action.kind])
        edited.append(changed)
        body = {
            "before": {name: action.args.get(name) for name in changes},
            "after": {name: changed.args.get(name) for name in changes},
        }
        entries.append(Entry(kind="amended", digest=digest(body), action_id=action.id, body=body))
    return edited, entries


def _check(
    proposal: Proposal, edits: Mapping[UUID, Edit], kinds: Mapping[str, ActionKind]
) -> dict[UUID, dict[str, Any]]:
    checked: dict[UUID, dict[str, Any]] = {}
    for action_id, edit in edits.items():
        action = proposal.action(action_id)
        if action is None:
            raise ReviewRefused(
                "review.unknown_action", f"Proposal {proposal.id} has no action {action_id}."
            )
        if edit.kind is not None and edit.kind != action.kind:
            raise ReviewRefused(
                "review.kind",
                f"Action {action.ordinal} is {action.kind}; an edit can't make it {edit.kind}.",
                hint="Reject it and capture what you mean.",
            )
        if action.state != "pending":
            raise ReviewRefused(
                "review.conflict",
                f"Action {action.ordinal} is already {action.state}.",
                hint="Only what is still pending can be edited.",
            )
        if action.kind not in kinds:
            raise outdated(proposal, {action.ordinal: misfit(kinds, action.kind, action.args)})
        known = kinds[action.kind].argument_names
        # What an older version of the kind took can still be cleared.
        cleared = {name for name in action.args if edit.args.get(name, name) is None}
        if unknown := sorted(set(edit.args) - known - cleared):
            raise _unfit(
                action,
                {
                    f"/{name}": f"no such value; known: {', '.join(sorted(known))}"
                    for name in unknown
                },
            )
        if broken := dict(_unreadable(dict(edit.args), "", 0)):
            raise _unfit(action, broken)
        if broken := dict(_wrong_references(proposal, action, edit.args, kinds[action.kind])):
            raise _unfit(action, broken)
        checked[action_id] = dict(edit.args)
    return checked


def _unreadable(value: Any, pointer: str, depth: int) -> Iterator[tuple[str, str]]:
    """Find what no JSON parser would take, before one meets it."""
    if depth > MAX_DEPTH:
        yield pointer, "is nested too deeply"
    elif isinstance(value, str) and (reason := unstorable(value)):
        yield pointer, reason
    elif isinstance(value, dict):
        for name, part in cast(dict[str, Any], value).items():
            if reason := unstorable(name):
                yield pointer, f"has a name that {reason}"
            else:
                yield from _unreadable(part, json_pointer.extend(pointer, name), depth + 1)
    elif isinstance(value, list):
        for index, part in enumerate(cast(list[Any], value)):
            yield from _unreadable(part, json_pointer.extend(pointer, index), depth + 1)


def _wrong_references(
    proposal: Proposal, action: ProposedAction, changes: Mapping[str, Any], kind: ActionKind
) -> Iterator[tuple[str, str]]:
    """Find references to what is no earlier action that may still be written, or in a text.

    A text would take the id that a reference becomes, and show it as what an action makes.
    """
    earlier = {
        str(other.id)
        for other in proposal.in_state("pending", "approved")
        if other.ordinal < action.ordinal
    }
    for name, value in changes.items():
        targets = references(value)
        if targets - earlier:
            yield f"/{name}", "refers to no earlier action of this proposal"
        elif targets and not takes_reference(kind, name, {**action.args, **changes}):
            yield f"/{name}", "is no place for a reference"


def _carry(proposal: Proposal, edits: Mapping[UUID, dict[str, Any]]) -> dict[UUID, dict[str, Any]]:
    """Copy an edit to every pending action whose argument has the same origin."""
    carried = {action_id: dict(changes) for action_id, changes in edits.items()}
    by_origin: dict[str, Any] = {}
    for action_id, changes in edits.items():
        action = proposal.action(action_id)
        assert action is not None
        for name, value in changes.items():
            if origin := action.origins.get(name):
                by_origin[f"{action.node}{origin}"] = value
    for action in proposal.in_state("pending"):
        for name, origin in action.origins.items():
            key = f"{action.node}{origin}"
            if key in by_origin and name not in carried.get(action.id, {}):
                carried.setdefault(action.id, {})[name] = by_origin[key]
    return carried


def _apply(action: ProposedAction, changes: Mapping[str, Any]) -> ProposedAction:
    args = {**action.args, **changes}
    cleared = {name for name, value in changes.items() if value is None}
    evidence = {**action.evidence, **dict.fromkeys(changes, _EDITED)}
    return replace(
        action,
        args={name: value for name, value in args.items() if name not in cleared},
        evidence={name: value for name, value in evidence.items() if name not in cleared},
        missing=tuple(name for name in action.missing if name in cleared or name not in changes),
    )


def _validate(action: ProposedAction, changes: Mapping[str, Any], kind: ActionKind) -> None:
    try:
        parse_arguments(kind, action.args)
    except ValidationError as error:
        problems = {
            "/" + "/".join(map(str, item["loc"])): item["msg"]
            for item in error.errors(include_url=False, include_input=False, include_context=False)
            # What was empty before may stay empty; the action is then still incomplete.
            if not item["loc"] or item["loc"][0] in changes
        }
        if problems:
            raise _unfit(action, problems) from error


def _unfit(action: ProposedAction, problems: Mapping[str, str]) -> ReviewRefused:
    listed = "; ".join(f"{pointer}: {message}" for pointer, message in problems.items())
    return ReviewRefused(
        "review.edit",
        f"Action {action.ordinal} ({action.kind}) can't take that: {listed}.",
        hint="Nothing was changed.",
        pointers=dict(problems),
    )
