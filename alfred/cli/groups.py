"""The groups of a proposal: what belongs to each of several items of one text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from alfred.engine.excerpt import opening
from alfred.engine.proposal import Proposal, ProposedAction
from alfred.engine.state import node_of

_WORDS = 2


def group_headings(proposal: Proposal) -> dict[UUID, str]:
    """Give a heading to the first action of each group, where a node read several items.

    It has the group's place and the first words of the source that only this group rests on.
    Shapes: by action id; empty where nothing is grouped.
    """
    groups: dict[str, list[ProposedAction]] = {}
    for action in proposal.actions:
        groups.setdefault(action.node, []).append(action)
    headings: dict[UUID, str] = {}
    for node in dict.fromkeys(map(node_of, groups)):
        instances = {name: actions for name, actions in groups.items() if node_of(name) == node}
        if len(instances) > 1:
            headings |= _headings(instances)
    return headings


def _headings(instances: Mapping[str, Sequence[ProposedAction]]) -> dict[UUID, str]:
    quotes = {name: _quotes(actions) for name, actions in instances.items()}
    headings: dict[UUID, str] = {}
    for number, (name, actions) in enumerate(instances.items(), start=1):
        others = {quote for other in quotes if other != name for quote in quotes[other]}
        own = [quote for quote in quotes[name] if quote not in others][:_WORDS]
        words = f": {', '.join(own)}" if own else ""
        headings[actions[0].id] = f"{number} of {len(instances)}{words}"
    return headings


def _quotes(actions: Sequence[ProposedAction]) -> list[str]:
    """Collect the words that values rest on, each once, in the order of the values."""
    found = [evidence for action in actions for evidence in action.evidence.values()]
    grounded = [evidence["quote"] for evidence in found if evidence["support"] == "grounded"]
    return list(dict.fromkeys(map(opening, grounded)))
