"""Opens a diagnosis before any model: what kind of question it is, and the first look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from alfred.engine.automatic import automatic_action
from alfred.engine.context import RunContext
from alfred.engine.database import Role, Row
from alfred.graphs.diagnosis.first_look import STARTS_NOTHING, Looked, Wish, scope_of
from alfred.graphs.diagnosis.question import (
    Circumstances,
    QuestionKind,
    is_follow_up,
    is_in_other_language,
    kind_of,
    reply_to,
)
from alfred.graphs.diagnosis.recording import Recorder
from alfred.graphs.diagnosis.time_words import start_of, window_of
from alfred.graphs.diagnosis.tools import DiagnosisTools
from alfred.probes.probe import Window
from alfred.probes.tool_call import ToolCall
from alfred.probes.toolbox import Toolbox
from alfred.services.queries.diagnosis import latest_run, load_calls, load_run

NO_CONTEXT = "NO_CONTEXT"
FOLLOWED_FOR_HOURS = 2.0
"""How long after a diagnosis a question may still lean on it."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A run that may begin, with its first look; or the reply that stands in its place."""

    run: Row | None
    calls: Sequence[ToolCall] = ()
    reply: str = ""
    notices: Sequence[str] = ()


async def open_run(
    context: RunContext, question: str, wish: Wish, looked: Looked | None = None
) -> Opened:
    """Judge a question, record its run, look for the first time; or reply in words.

    What is small talk or about a concept starts nothing. A question that names nothing to look at
    is looked into as far as alerts go; where none fires, its run ends at once.
    A first look that was taken already is recorded and not taken again; a repeat finds the run and
    its first look as they were recorded.
    """
    toolbox = _toolbox(context)
    held = await _held(context)
    if held is not None:
        return held
    previous = await _previous(context, question, wish)
    scope = scope_of(question, wish, toolbox) or dict(previous["scope"] if previous else {})
    known = Circumstances(scope=scope, names=toolbox.names(), has_previous=previous is not None)
    kind = kind_of(question, known)
    if kind in STARTS_NOTHING:
        return Opened(run=None, reply=reply_to(kind, context.language))
    window = looked.window if looked else _window(context, question, wish, previous)
    recorder = Recorder(context, context.turn_id)
    await recorder.write([_begin(context, question, wish, (scope, window, previous))])
    run = await _load(context)
    assert run is not None, "it was recorded just now"
    calls = looked.calls if looked else await toolbox.first_look(window, scope)
    await recorder.calls(calls)
    return Opened(run=run, calls=calls, notices=notices_of(question, context.language))


def lacks_context(opened: Opened, question: str, toolbox: Toolbox) -> bool:
    """Say whether neither the question nor a firing alert says what to look at."""
    run = opened.run
    if run is None:
        return False
    known = Circumstances(
        scope=run["scope"],
        names=toolbox.names(),
        has_alerts=any(call["kind"] == "alerts" and call["lines"] for call in opened.calls),
        has_previous=run["previous_id"] is not None,
    )
    return kind_of(question, known) is QuestionKind.NO_CONTEXT


def _toolbox(context: RunContext) -> Toolbox:
    tools: DiagnosisTools = context.resource("diagnosis")
    return tools.toolbox


async def _held(context: RunContext) -> Opened | None:
    run = await _load(context)
    if run is None:
        return None
    async with context.database.transaction(Role.READER, context.user_id) as connection:
        calls = await load_calls(connection, run["id"])
    first = [call for call in calls if call["round"] == 0]
    if not first:  # cut off between the two: the look is taken now
        toolbox = _toolbox(context)
        window = Window(start=run["window_start"], end=run["window_end"])
        first = await toolbox.first_look(window, run["scope"])
        await Recorder(context, run["id"]).calls(first)
    return Opened(run=run, calls=first, notices=notices_of(run["question"], context.language))


async def _load(context: RunContext) -> Row | None:
    async with context.database.transaction(Role.READER, context.user_id) as connection:
        return await load_run(connection, context.turn_id)


async def _previous(context: RunContext, question: str, wish: Wish) -> Row | None:
    """Find the run that a question leans on: the one named, or the latest of the last hours."""
    async with context.database.transaction(Role.READER, context.user_id) as connection:
        if wish.follow is not None:
            return await load_run(connection, wish.follow)
        if not is_follow_up(question) or wish.origin == "alert":
            return None
        return await latest_run(connection, now=context.received_at, hours=FOLLOWED_FOR_HOURS)


def _window(context: RunContext, question: str, wish: Wish, previous: Row | None) -> Window:
    """Take the time that is given, else that of the question's words, else the previous one's."""
    now = (wish.until or context.received_at).astimezone(ZoneInfo(context.timezone))
    if wish.since is not None:
        return Window(start=wish.since, end=now)
    if previous is not None and start_of(question, now) is None:
        return Window(start=previous["window_start"], end=now)
    return window_of(question, now)


def _begin(
    context: RunContext,
    question: str,
    wish: Wish,
    found: tuple[Mapping[str, str], Window, Row | None],
) -> Any:
    scope, window, previous = found
    args = {
        "run": str(context.turn_id),
        "question": question,
        "language": context.language,
        "origin": "follow_up" if previous is not None else wish.origin,
        "scope": dict(scope),
        "window_start": window.start.isoformat(),
        "window_end": window.end.isoformat(),
        "as_of": context.received_at.isoformat(),
        "previous": str(previous["id"]) if previous else None,
    }
    return automatic_action("begin_diagnosis", args)


def notices_of(question: str, language: str) -> list[str]:
    """Say what a person should know of how the question is answered."""
    if is_in_other_language(question):
        spoken = "Chinese" if language == "zh" else "English"
        return [f"Answers are written in English or Chinese; this one is in {spoken}."]
    return []
