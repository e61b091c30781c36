"""What a proposal changes against the one whose place it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from alfred.engine.action import replace_references
from alfred.engine.carry_over import Item, pair_actions
from alfred.engine.proposal import Proposal, ProposedAction

Kind = Literal["new", "changed", "unchanged"]


@dataclass(frozen=True, kw_only=True)
class Change:
    """An action beside the earlier one; `fields` gives (before, after), None for what is absent."""

    action: ProposedAction
    kind: Kind
    before: ProposedAction | None = None
    fields: Mapping[str, tuple[Any, Any]] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class Revised:
    """A corrected proposal and the one that took its place, with the words between them."""

    words: str
    before: Proposal
    changes: list[Change]
    gone: list[ProposedAction]


def compare(words: str, before: Proposal, after: Proposal) -> Revised:
    """Set each action beside the earlier one, as the person had edited it by then."""
    pairs = pair_actions([_item(a) for a in before.actions], [_item(a) for a in after.actions])
    earlier = {str(action.id): action for action in before.actions}
    changes: list[Change] = []
    for action in after.actions:
        old = earlier.get(pairs.get(str(action.id), ""))
        if old is None:
            changes.append(Change(action=action, kind="new"))
            continue
        fields = _differences(old, action, pairs)
        kind: Kind = "changed" if fields else "unchanged"
        changes.append(Change(action=action, kind=kind, before=old, fields=fields))
    taken = set(pairs.values())
    gone = [action for action in before.actions if str(action.id) not in taken]
    return Revised(words=words, before=before, changes=changes, gone=gone)


def _item(action: ProposedAction) -> Item:
    return Item(id=str(action.id), node=action.node, kind=action.kind, args=action.args)


def _differences(
    old: ProposedAction, new: ProposedAction, pairs: Mapping[str, str]
) -> dict[str, tuple[Any, Any]]:
    """Compare arguments; a reference to the action that took another's place is no difference."""
    now = replace_references(new.args, lambda target: {"$ref": pairs.get(target, target)})
    return {
        name: (old.args.get(name), new.args.get(name))
        for name in dict.fromkeys([*new.args, *old.args])
        if old.args.get(name) != now.get(name)
    }
