"""What a person said about an earlier proposal, carried over to the one that takes its place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from alfred.engine.action import Action, replace_references
from alfred.engine.canonical import canonical
from alfred.engine.correction import ShownAction
from alfred.engine.evidence import Evidence

_ABSENT = object()
_EDITED: Evidence = {"support": "edited", "spans": [], "quote": ""}


@dataclass(frozen=True, kw_only=True)
class Item:
    """An action as it is compared with those of another attempt."""

    id: str
    node: str
    kind: str
    args: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class CarriedOver:
    """The new actions with the person's earlier edits, and the ids of those that are rejected."""

    actions: list[Action]
    rejected: frozenset[str]


def pair_actions(old: Sequence[Item], new: Sequence[Item]) -> dict[str, str]:
    """Find for each new action the old one whose place it takes, by id, if there is one.

    Equal actions come first, then those that are equal but for what they refer to, then what is
    left of a node's kind, in order.
    """
    pairs: dict[str, str] = {}
    for key in (_whole, _alone, _kind_only):
        waiting: dict[str, list[str]] = defaultdict(list)
        for name, item in _keyed(old, key):
            if item.id not in pairs.values():
                waiting[name].append(item.id)
        for name, item in _keyed(new, key):
            if item.id not in pairs and waiting[name]:
                pairs[item.id] = waiting[name].pop(0)
    return pairs


def carry_over(
    shown: Sequence[ShownAction],
    actions: Sequence[Action],
    *,
    discarded: Set[str],
    restored: Set[str],
) -> CarriedOver:
    """Give new actions the edits and rejections that still hold.

    An edit holds where the node says of that value what it said before. A rejection holds for an
    action that says the same, whatever became of what it refers to. `discarded` and `restored`
    name old actions of which the correction itself says so. Approvals do not hold: they were given
    beside other actions.
    """
    proposed = [_item(one, one["proposed"]) for one in shown]
    pairs = pair_actions(proposed, [_item(action, action["args"]) for action in actions])
    by_id = {one["id"]: one for one in shown}
    kept = [
        _with_edits(action, by_id[pairs[action["id"]]], pairs) if action["id"] in pairs else action
        for action in actions
    ]
    rejected: set[str] = set()
    for action in kept:
        old = by_id.get(pairs.get(action["id"], ""))
        if old is None or old["id"] in restored:
            continue
        says_the_same = _alone(_item(old, old["args"]), {}) == _alone(
            _item(action, action["args"]), {}
        )
        if old["id"] in discarded or (old["is_rejected"] and says_the_same):
            rejected.add(action["id"])
    return CarriedOver(actions=kept, rejected=frozenset(rejected))


def _item(action: ShownAction | Action, args: Mapping[str, Any]) -> Item:
    return Item(id=action["id"], node=action["node"], kind=action["kind"], args=args)


def _with_edits(action: Action, old: ShownAction, pairs: Mapping[str, str]) -> Action:
    """Merge three ways: what the person made of the old value holds unless the node changed it."""
    back = {before: after for after, before in pairs.items()}
    args, evidence, missing = (
        dict(action["args"]),
        dict(action["evidence"]),
        list(action["missing"]),
    )
    for name in sorted({*old["args"], *old["proposed"]}):
        before, edited = old["proposed"].get(name, _ABSENT), old["args"].get(name, _ABSENT)
        now = _renamed(action["args"].get(name, _ABSENT), pairs)
        if edited == before or now != before:
            continue
        value = _renamed(edited, back)
        if value is _ABSENT:
            args.pop(name, None)
            evidence.pop(name, None)
        else:
            args[name], evidence[name] = value, _EDITED
            missing = [each for each in missing if each != name]
    return {**action, "args": args, "evidence": evidence, "missing": missing}


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Let references name actions of the other attempt; absent where one has no counterpart."""
    lost: list[str] = []

    def other(target: str) -> Any:
        if target not in names:
            lost.append(target)
        return {"$ref": names.get(target)}

    renamed = value if value is _ABSENT else replace_references(value, other)
    return _ABSENT if lost else renamed


Key = Callable[[Item, Mapping[str, str]], str]


def _keyed(items: Sequence[Item], key: Key) -> list[tuple[str, Item]]:
    """Name each item by what it says; references lead to earlier items only."""
    names: dict[str, str] = {}
    keyed: list[tuple[str, Item]] = []
    for item in items:
        names[item.id] = key(item, names)
        keyed.append((names[item.id], item))
    return keyed


def _whole(item: Item, names: Mapping[str, str]) -> str:
    args = replace_references(item.args, lambda target: {"$ref": names.get(target)})
    return canonical([item.node, item.kind, args])


def _alone(item: Item, _: Mapping[str, str]) -> str:
    args = replace_references(item.args, lambda _: {"$ref": None})
    return canonical([item.node, item.kind, args])


def _kind_only(item: Item, _: Mapping[str, str]) -> str:
    return canonical([item.node, item.kind])
