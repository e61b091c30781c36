"""Automatic kinds: what is recorded without a review, and so may only add to append-only tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from alfred.engine.action import Action, ActionKind, Arguments, describe
from alfred.engine.canonical import canonical, derive_id
from alfred.errors import ActionRefused

AUTOMATIC = "automatic"
"""The node that automatic actions name: none proposes them."""


def automatic_action(kind: str, args: Mapping[str, Any]) -> Action:
    """Make an action for `ActionExecutor.record`; `args` is plain JSON without references."""
    return {
        "id": str(derive_id(AUTOMATIC, kind, ascii(canonical(args)))),
        "node": AUTOMATIC,
        "kind": kind,
        "args": dict(args),
        "origins": {},
        "evidence": {},
        "missing": [],
    }


def require_automatic(kind: ActionKind, args: Mapping[str, Any]) -> Arguments:
    """Parse the arguments of a kind that may be recorded without a review.

    Errors: `action.not_automatic` for any other, `action.append_only` for one that declares a
    table whose rows can change, `action.arguments`.
    """
    if not kind.is_automatic:
        raise ActionRefused(
            "action.not_automatic", f"{kind.name} is written only after a person has approved it."
        )
    if problems := kind_problems(kind):
        raise ActionRefused("action.append_only", f"{problems[0]}.")
    try:
        return kind.arguments.model_validate_json(canonical(args))
    except ValidationError as error:
        message = f"{kind.name} does not take its arguments: {describe(error)}."
        raise ActionRefused("action.arguments", message) from error


def require_reviewed(kind: ActionKind) -> ActionKind:
    """Return a kind that may be proposed; errors: `action.automatic` for one that may not."""
    if kind.is_automatic:
        raise ActionRefused(
            "action.automatic", f"{kind.name} is recorded automatically and never proposed."
        )
    return kind


def kind_problems(kind: ActionKind) -> list[str]:
    """Say what keeps a kind from being automatic though it is declared so; nothing where it may."""
    changeable = [table.name for table in kind.appends if not table.info.get("append_only")]
    problems = [
        f"{kind.name} is automatic and appends to {name}, whose rows can change"
        for name in changeable
    ]
    if kind.is_automatic and kind.binds:
        problems.append(f"{kind.name} is automatic and refers to actions of a proposal")
    return problems


def check_kinds(kinds: Iterable[ActionKind]) -> list[str]:
    """Say of each automatic kind what it declares and may not."""
    return [problem for kind in kinds for problem in kind_problems(kind)]
