"""What a node's Python adds to its manifest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from alfred.engine.context import RunContext
from alfred.engine.evidence import Evidence
from alfred.engine.skill_input import SkillInput
from alfred.engine.state import AlfredState

Out = dict[str, Any]


def _nothing_known(_: SkillInput) -> Out:
    return {}


def _always(_: AlfredState, __: RunContext) -> bool:
    return True


async def _nothing_gathered(_: AlfredState, __: RunContext) -> Out:
    return {}


def _as_answered(out: Out, _: Mapping[str, Any]) -> tuple[Out, list[str]]:
    return out, []


@dataclass(frozen=True)
class Skip:
    """What `gather` returns where the node has nothing to work on, with a sentence that says so."""

    sentence: str


@dataclass(frozen=True, kw_only=True)
class Hooks:
    """What a node's Python adds to its manifest.

    `gate` says whether the node has anything to do here. Where the input holds several items, the
    other hooks are called for each, with an input that is this item alone.
    `known` reads values from the input without a model, None for what need not be asked; the
    model is asked for the rest.
    `gather` looks up more variables, or finds that there is nothing to work on; then no model is
    asked.
    `refine` may drop or derive, never invent; it returns the answer and what it has to say.
    `support` gives the evidence where values rest on something other than the input's text.
    """

    known: Callable[[SkillInput], Out] = _nothing_known
    gate: Callable[[AlfredState, RunContext], bool] = _always
    gather: Callable[[AlfredState, RunContext], Awaitable[Out | Skip]] = _nothing_gathered
    refine: Callable[[Out, Mapping[str, Any]], tuple[Out, list[str]]] = _as_answered
    support: Callable[[Out, Mapping[str, Any]], dict[str, Evidence]] | None = None
