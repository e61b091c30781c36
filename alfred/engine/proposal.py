"""A proposal: the actions of one turn as a person sees, edits and decides them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal
from uuid import UUID

from alfred.engine.action import Action, replace_references
from alfred.engine.canonical import derive_id, digest
from alfred.engine.evidence import Evidence, is_tickable
from alfred.engine.executor import Outcome, Status
from alfred.engine.writer import Effect

ProposalState = Literal[
    "pending", "corrected", "approved", "committed", "rejected", "expired", "superseded"
]
"""`corrected`: a correction in words is recorded, and the turn has not proposed anew yet."""
ActionState = Literal["pending", "approved", "committed", "rejected", "expired", "superseded"]
OPEN: tuple[ProposalState, ...] = ("pending", "approved")


@dataclass(frozen=True, kw_only=True)
class ProposedAction:
    """One action with its decision so far and the effects that its dry run showed."""

    id: UUID
    ordinal: int
    node: str
    kind: str
    state: ActionState
    status: Status
    depends_on: tuple[UUID, ...]
    args: Mapping[str, Any]
    origins: Mapping[str, str]
    evidence: Mapping[str, Evidence]
    missing: tuple[str, ...]
    effects: Sequence[Effect]
    problem: str

    @property
    def is_ready(self) -> bool:
        """Say whether it could be approved at all."""
        return self.status == "ready"

    @property
    def is_tickable(self) -> bool:
        """Say whether it is complete and every value rests on the source or on the person."""
        return self.is_ready and all(map(is_tickable, self.evidence.values()))

    def as_action(self) -> Action:
        """Return the plain action, as the executor runs it."""
        return {
            "id": str(self.id),
            "node": self.node,
            "kind": self.kind,
            "args": dict(self.args),
            "origins": dict(self.origins),
            "evidence": dict(self.evidence),
            "missing": list(self.missing),
        }


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """All actions of one attempt of a turn. `digest` names exactly what was shown."""

    id: UUID
    user_id: UUID
    turn_id: UUID
    message_id: UUID
    state: ProposalState
    attempt: int
    revision: int
    digest: str
    manifests: Mapping[str, str]
    notices: Sequence[str]
    stated_at: datetime
    expires_at: datetime
    closed_at: datetime | None
    actions: tuple[ProposedAction, ...] = field(default=())

    @cached_property
    def action_digests(self) -> dict[UUID, str]:
        """The digest of each action, by id."""
        return digests(self.actions)[0]

    def action(self, action_id: UUID) -> ProposedAction | None:
        """Find an action by id."""
        return next((action for action in self.actions if action.id == action_id), None)

    def dependents(self, roots: Iterable[UUID]) -> set[UUID]:
        """Return every action that falls with these, directly or through another."""
        fallen = set(roots)
        for action in self.actions:  # an action only ever depends on earlier ones
            if fallen & set(action.depends_on):
                fallen.add(action.id)
        return fallen - set(roots)

    def in_state(self, *states: ActionState) -> list[ProposedAction]:
        """Return the actions that are in one of these states, in order."""
        return [action for action in self.actions if action.state in states]


def proposal_id(turn_id: UUID, attempt: int) -> UUID:
    """Derive the id, so that a repeated run finds its proposal."""
    return derive_id("proposal", turn_id, attempt)


def action_digest(action: ProposedAction, ordinals: Mapping[str, int]) -> str:
    """Digest what a person approves: kind, arguments, effects; references by place, not by id."""
    args = replace_references(action.args, lambda target: {"$ref": ordinals.get(target)})
    return digest([action.kind, args, action.status, list(action.effects)])


def digests(actions: Sequence[ProposedAction]) -> tuple[dict[UUID, str], str]:
    """Digest each action, and the proposal over all of them."""
    ordinals = {str(action.id): action.ordinal for action in actions}
    each = {action.id: action_digest(action, ordinals) for action in actions}
    return each, digest([each[action.id] for action in actions])


def as_proposed(action: Action, ordinal: int, outcome: Outcome) -> ProposedAction:
    """Join an action with what its dry run showed; `ordinal` counts from 1."""
    return ProposedAction(
        id=UUID(action["id"]),
        ordinal=ordinal,
        node=action["node"],
        kind=action["kind"],
        state="pending",
        status=outcome.status,
        depends_on=tuple(map(UUID, outcome.depends_on)),
        args=action["args"],
        origins=action["origins"],
        evidence=action["evidence"],
        missing=tuple(action["missing"]),
        effects=outcome.effects,
        problem=outcome.problem,
    )


def with_states(
    actions: Iterable[ProposedAction], moves: Mapping[UUID, ActionState]
) -> tuple[ProposedAction, ...]:
    """Return all actions, those that move in their new states."""
    return tuple(replace(a, state=moves[a.id]) if a.id in moves else a for a in actions)


def reopen(actions: Sequence[ProposedAction], chosen: Set[UUID]) -> list[ProposedAction]:
    """Return the chosen actions to pending."""
    return [replace(a, state="pending") if a.id in chosen else a for a in actions]


def with_outcome(action: ProposedAction, outcome: Outcome | None) -> ProposedAction:
    """Replace what an earlier dry run showed; without an outcome the action stays as it is."""
    if outcome is None:
        return action
    return replace(
        action,
        status=outcome.status,
        depends_on=tuple(map(UUID, outcome.depends_on)),
        effects=outcome.effects,
        problem=outcome.problem,
    )
