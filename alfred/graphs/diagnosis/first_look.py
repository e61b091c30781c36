"""The first look at a system, before any model, database or graph: what a person sees at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from alfred.errors import InputRefused, ProbeFailed
from alfred.graphs.diagnosis.question import (
    Circumstances,
    QuestionKind,
    is_follow_up,
    kind_of,
    named_in,
)
from alfred.graphs.diagnosis.time_words import window_of
from alfred.probes.probe import Window
from alfred.probes.tool_call import ToolCall
from alfred.probes.toolbox import Toolbox

MAX_QUESTION_CHARS = 20_000
STARTS_NOTHING = (QuestionKind.SMALL_TALK, QuestionKind.CONCEPT)


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What a person gives beside the words of a question; None and empty where they do not."""

    since: datetime | None = None
    until: datetime | None = None
    scope: Mapping[str, str] = field(default_factory=dict[str, str])
    follow: UUID | None = None
    origin: str = "ask"


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What was looked at, of which time, and the calls that were made."""

    window: Window
    scope: Mapping[str, str]
    calls: Sequence[ToolCall]


async def look_at_once(question: str, wish: Wish, toolbox: Toolbox, now: datetime) -> Looked | None:
    """Look for the first time, unless it takes more than the question itself to know where.

    None for a question that starts nothing and for one that leans on an earlier diagnosis.
    Errors: those of `require_question`.
    """
    require_question(question, toolbox)
    if wish.follow is not None or is_follow_up(question):
        return None
    scope = scope_of(question, wish, toolbox)
    if kind_of(question, Circumstances(scope=scope, names=toolbox.names())) in STARTS_NOTHING:
        return None
    window = Window(start=wish.since, end=now) if wish.since else window_of(question, now)
    calls = await toolbox.first_look(window, scope)
    return Looked(window=window, scope=scope, calls=calls)


def require_question(question: str, toolbox: Toolbox) -> None:
    """Refuse what cannot be looked into.

    Errors: `input.empty` where the question has no words, `input.too_large`; `probe.settings`
    without any tool.
    """
    if not question.strip():
        raise InputRefused(
            "input.empty",
            "The question has no words.",
            hint="Ask for example: alfred diagnose “Why is checkout slow since 14:00?”",
        )
    if len(question) > MAX_QUESTION_CHARS:
        raise InputRefused(
            "input.too_large",
            f"The question has {len(question):,} characters; at most {MAX_QUESTION_CHARS:,} are"
            " read.",
            hint="Ask in a few sentences; what a log says is found by the tools.",
        )
    require_tools(toolbox)


def require_tools(toolbox: Toolbox) -> None:
    """Refuse to look without any tool; errors: `probe.settings`."""
    if not toolbox.probes:
        raise ProbeFailed(
            "probe.settings",
            "No tool is configured, so that nothing can be looked at.",
            hint="List them in the file that ALFRED_TOOLS names; docs/probes.md shows one.",
        )


def scope_of(question: str, wish: Wish, toolbox: Toolbox) -> dict[str, str]:
    """Narrow to what is given, else to what the question names; empty where it names nothing."""
    if wish.scope:
        return dict(wish.scope)
    named = named_in(question, toolbox.names())
    return {"service": named} if named is not None else {}
