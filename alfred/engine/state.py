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
    domain: str | None
    matched: list[str]
    """The nodes whose match rules fired, the best first."""
    events: Annotated[Groups, merge_groups]
    outcome: str | None
    """Set by the last node: a finished run is told from a lost pause by this value alone."""


def group(instance: str, attempt: int, step: int, values: Any) -> Groups:
    """Make the update of one node instance for a grouped key."""
    return {instance: {"attempt": attempt, "step": step, "values": values}}


def _in_order(groups: Groups | None) -> list[Group]:
    named = (groups or {}).items()
    return [held for _, held in sorted(named, key=lambda item: (item[1]["step"], item[0]))]


def read_extracted(state: AlfredState, node: str) -> dict[str, Any]:
    """Return a node's answer, or an empty dict if it gave none."""
    held = (state.get("extracted") or {}).get(node)
    return dict(held["values"]) if held else {}


def read_pending_actions(state: AlfredState) -> list[Action]:
    """Return all proposed actions, each behind those it may refer to."""
    return [action for held in _in_order(state.get("pending_actions")) for action in held["values"]]


def read_errors(state: AlfredState) -> list[str]:
    """Return what went wrong so far, as sentences."""
    return [text for held in _in_order(state.get("errors")) for text in held["values"]]


def read_events(state: AlfredState) -> list[dict[str, Any]]:
    """Return the run's events in the order of their supersteps."""
    return [event for held in _in_order(state.get("events")) for event in held["values"]]
