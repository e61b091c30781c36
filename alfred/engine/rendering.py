"""Turns a node's answer into actions, each argument with the evidence for what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from alfred.engine import json_pointer
from alfred.engine.action import Action, ActionKind, action_id, reference
from alfred.engine.evidence import Evidence, Support
from alfred.engine.manifest import ActionTemplate
from alfred.engine.template import ABSENT, Template

_LITERAL: Evidence = {"support": "literal", "spans": [], "quote": ""}
_GIVEN: Evidence = {"support": "given", "spans": [], "quote": ""}
_UNGROUNDED: Evidence = {"support": "ungrounded", "spans": [], "quote": ""}
_BESIDE_THE_TEXT = frozenset({"input", "gathered", "memory_context"})
_ANOTHER_ANSWER = "extracted"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A node's answer with the variables its templates see and the evidence of its leaves."""

    node: str
    turn_id: UUID
    attempt: int
    variables: Mapping[str, Any]
    evidence: Mapping[str, Evidence]
    """By JSON pointer into `out`."""


@dataclass(frozen=True)
class _Scope:
    """The variables of one rendering, and where in the answer each of them comes from."""

    variables: Mapping[str, Any]
    bases: Mapping[str, str]
    beside: tuple[str, ...] = field(default=())
    """Pointers that a computed loop variable rests on."""
    given: frozenset[str] = _BESIDE_THE_TEXT
    """The variables that hold what is known beside the text."""


def render_actions(
    templates: Sequence[ActionTemplate], answer: Answer, kinds: Mapping[str, ActionKind]
) -> list[Action]:
    """Render every action template, once or for each item.

    An absent optional value drops the argument; an absent required one makes the action
    incomplete; an absent `for_each` gives no actions. Arguments that a kind binds refer to the
    latest earlier action of the bound kind.
    Errors: `template.failed`.
    """
    actions: list[Action] = []
    for template in templates:
        for scope in _scopes(template, answer):
            ordinal = len(actions)
            actions.append(_action(template, scope, answer, kinds[template.kind], ordinal))
            _bind(actions, kinds[template.kind])
    return actions


def _scopes(template: ActionTemplate, answer: Answer) -> Iterator[_Scope]:
    bases = {"out": ""}
    if template.for_each is None or template.variable is None:
        yield _Scope(answer.variables, bases)
        return
    items = template.for_each.render(answer.variables)
    if items is ABSENT or not isinstance(items, list):
        return
    pointer = template.for_each.pointer(bases)
    beside = () if pointer is not None else template.for_each.pointers(bases)
    is_given = any(path.root in _BESIDE_THE_TEXT for path in template.for_each.paths)
    given = _BESIDE_THE_TEXT.union([template.variable] if is_given else [])
    for index, item in enumerate(cast("list[Any]", items)):
        own = {} if pointer is None else {template.variable: json_pointer.extend(pointer, index)}
        variables = {**answer.variables, template.variable: item}
        yield _Scope(variables, {**bases, **own}, beside, given)


def _action(
    template: ActionTemplate, scope: _Scope, answer: Answer, kind: ActionKind, ordinal: int
) -> Action:
    args: dict[str, Any] = {}
    origins: dict[str, str] = {}
    evidence: dict[str, Evidence] = {}
    missing: list[str] = []
    for name, argument in template.args.items():
        value = argument.render(scope.variables)
        pointer = argument.pointer(scope.bases)
        if pointer is not None:
            origins[name] = pointer
        if value is ABSENT or (isinstance(value, str) and not value.strip()):
            if name in kind.required_arguments and name not in kind.reference_arguments:
                missing.append(name)
            continue
        args[name] = value
        evidence[name] = _evidence(argument, scope, answer.evidence, pointer)
    return {
        "id": action_id(answer.turn_id, answer.node, answer.attempt, ordinal),
        "node": answer.node,
        "kind": template.kind,
        "args": args,
        "origins": origins,
        "evidence": evidence,
        "missing": missing,
    }


def _evidence(
    argument: Template, scope: _Scope, evidence: Mapping[str, Evidence], pointer: str | None
) -> Evidence:
    if pointer is not None and pointer in evidence:
        return evidence[pointer]
    if any(path.root == _ANOTHER_ANSWER for path in argument.paths):
        return _UNGROUNDED  # a model said it to another node, whose own actions have the evidence
    pointers = (*argument.pointers(scope.bases), *scope.beside)
    found = [
        leaf
        for wanted in pointers
        for at, leaf in evidence.items()
        if at == wanted or at.startswith(f"{wanted}/")
    ]
    if not found:
        is_given = any(path.root in scope.given for path in argument.paths)
        return _GIVEN if is_given else _LITERAL
    return _combined(found, copied=pointer is not None)


def _combined(leaves: Sequence[Evidence], *, copied: bool) -> Evidence:
    """A computed value is derived from its leaves; one of them without support leaves it so.

    A copy of several leaves is grounded where any is; of choices alone nothing is more than one.
    """
    supports = {leaf["support"] for leaf in leaves}
    support: Support = "derived"
    if "ungrounded" in supports:
        return _UNGROUNDED
    if supports == {"classified"}:
        support = "classified"
    elif copied and (direct := supports & {"grounded", "said"}):
        support = "grounded" if "grounded" in direct else "said"
    spans = sorted({(span["start"], span["end"]) for leaf in leaves for span in leaf["spans"]})
    quotes = dict.fromkeys(leaf["quote"] for leaf in leaves if leaf["quote"])
    return {
        "support": support,
        "spans": [{"start": start, "end": end} for start, end in spans],
        "quote": " … ".join(quotes),
    }


def _bind(actions: list[Action], kind: ActionKind) -> None:
    """Let the last action refer to the latest earlier one of each kind that it binds."""
    action = actions[-1]
    for name, bound_kind in kind.binds.items():
        if name in action["args"]:
            continue
        earlier = [a for a in actions[:-1] if a["kind"] == bound_kind]
        if earlier:
            action["args"][name] = reference(earlier[-1]["id"])
