"""The state that a graph's nodes share: plain JSON, every key declared, lists held as groups."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from alfred.engine.action import Action
from alfred.engine.skill_input import SkillInput


class Group(TypedDict):
    """What one node instance contributed in its latest attempt.

    `step` is the superstep in which it ran: reading in that order puts an action behind those it
    refers to.
    """

    attempt: int
    step: int
    values: Any


Groups = dict[str, Group]
"""Contributions by node instance."""


def merge_groups(held: Groups | None, update: Groups | None) -> Groups:
    """Let the higher attempt of an instance replace its whole group, even by an empty one.

    Idempotent, so that what passes through a subgraph unchanged is not doubled.
    """
    merged = dict(held or {})
    for instance, group in (update or {}).items():
        known = merged.get(instance)
        if known is None or group["attempt"] >= known["attempt"]:
            merged[instance] = group
    return merged


class Memory(TypedDict):
    """A recalled memory with its weight in [0, 1]."""

    id: str
    text: str
    score: float


class UiIntent(TypedDict):
    """What a client should show next; `kind` is `review` or `done`."""

    kind: str
    proposal_id: str | None
    digest: str | None


class AlfredState(TypedDict, total=False):
    """The shared state; the first nine keys are the specification's (003 §4)."""

    input: SkillInput
    chat_message_id: str | None
    thread_id: str | None
    memory_context: list[Memory]
    extracted: Annotated[Groups, merge_groups]
    pending_actions: Annotated[Groups, merge_groups]
    ui_intent: UiIntent | None
    confirmations: dict[str, bool]
    errors: Annotated[Groups, merge_groups]

    turn_id: str
    attempt: int
    """Raised by one with each correction in words; actions of a higher attempt replace earlier."""
    correction: dict[str, Any]
    """What this attempt answers (`engine/correction.py`); absent before the first correction."""
    is_corrected: bool
    """Set by the review: whether its proposal was corrected, so that the run goes round again."""
    answers: Annotated[Groups, merge_groups]
    """What each instance was asked and had answered, before its actions were made of it."""
    discarded: Annotated[Groups, merge_groups]
    """The ids of earlier actions that a correction discards, as each instance was told."""
    domain: str | None
    matched: list[str]
    """The nodes whose match rules fired, the best first."""
    events: Annotated[Groups, merge_groups]
    reply: str | None
    """What a domain answers in words, beside anything that it proposes."""
    outcome: str | None
    """Set by the last node: a finished run is told from a lost pause by this value alone."""


def group(instance: str, attempt: int, step: int, values: Any) -> Groups:
    """Make the update of one node instance for a grouped key."""
    return {instance: {"attempt": attempt, "step": step, "values": values}}


def instance_name(node: str, number: int) -> str:
    """Name the instance of a node that reads the `number`-th item of an input, from 1 on."""
    return node if number == 1 else f"{node}/{number}"


def node_of(instance: str) -> str:
    """Return the node that an instance is one of."""
    return _place(instance)[0]


def instances_of(state: AlfredState, node: str) -> list[str]:
    """List the instances of a node that have contributed anything, in the order of their items."""
    held = (state.get("extracted") or {}).keys()
    return sorted((name for name in held if node_of(name) == node), key=_place)


def _place(instance: str) -> tuple[str, int]:
    node, _, number = instance.partition("/")
    return node, int(number or 1)


def _in_order(groups: Groups | None, since: int = 0) -> list[Group]:
    named = [item for item in (groups or {}).items() if item[1]["attempt"] >= since]
    return [held for _, held in sorted(named, key=lambda item: (item[1]["step"], *_place(item[0])))]


def _since(state: AlfredState) -> int:
    """Return the attempt whose contributions count.

    After a correction every node runs again, so that what one left behind that does not, because
    the graph now goes another way, counts no more.
    """
    correction = state.get("correction")
    return correction["attempt"] if correction else 0


def read_extracted(state: AlfredState, node: str) -> dict[str, Any]:
    """Return a node's answer, or an empty dict if it gave none."""
    held = (state.get("extracted") or {}).get(node)
    return dict(held["values"]) if held and held["attempt"] >= _since(state) else {}


def read_answer(state: AlfredState, instance: str) -> dict[str, Any] | None:
    """Return what an instance had asked and answered, in whichever attempt; None if nothing."""
    held = (state.get("answers") or {}).get(instance)
    return held["values"] if held else None


def read_discarded(state: AlfredState) -> set[str]:
    """Return the ids of earlier actions that this attempt's correction discards."""
    groups = _in_order(state.get("discarded"), _since(state))
    return {action_id for held in groups for action_id in held["values"]}


def read_pending_actions(state: AlfredState) -> list[Action]:
    """Return all proposed actions, each behind those it may refer to."""
    groups = _in_order(state.get("pending_actions"), _since(state))
    return [action for held in groups for action in held["values"]]


def read_errors(state: AlfredState) -> list[str]:
    """Return what went wrong so far, as sentences."""
    groups = _in_order(state.get("errors"), _since(state))
    return [text for held in groups for text in held["values"]]


def read_events(state: AlfredState) -> list[dict[str, Any]]:
    """Return the run's events in the order of their supersteps."""
    return [event for held in _in_order(state.get("events")) for event in held["values"]]
