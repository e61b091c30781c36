"""Asks a model for a node's answer: bounded repairs, each failure typed, the raw text kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from alfred.engine.answer import AnswerProblem, AnswerValidator, parse_answer, repair_note
from alfred.engine.context import JournalKey, RunContext
from alfred.engine.language_model import (
    Completion,
    Message,
    ModelRequest,
    TextSink,
    Usage,
    request_digest,
)
from alfred.errors import AnswerInvalid, ModelFailed

MAX_ANSWER_TOKENS = 2048
TRANSPORT_PAUSES_S = (0.5, 2.0)
"""Waits before the second and third try of a call that may succeed later."""
MAX_TRUNCATIONS = 1
MAX_REPAIRS = 2
"""Further calls for a broken or truncated answer, together."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What one node asks in one attempt. `source` is the text that the answer is read from.

    `instance` names the node instance, and the part of its text, that the calls are journaled
    under; the node's name where it is empty.
    """

    node: str
    attempt: int
    system: str
    user: str
    schema: Mapping[str, Any]
    validator: AnswerValidator
    source: str
    language: str
    instance: str = ""


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """A valid answer without what is not stated; `lost` says what was dropped and why."""

    out: dict[str, Any]
    lost: Mapping[str, AnswerProblem] = field(default_factory=dict[str, AnswerProblem])
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


@dataclass
class _Spent:
    """What the calls of one question have cost so far."""

    calls: int = 0
    truncations: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def add(self, completion: Completion) -> None:
        self.calls += 1
        self.prompt_tokens += completion.usage.prompt_tokens
        self.cached_tokens += completion.usage.cached_tokens
        self.completion_tokens += completion.usage.completion_tokens
        self.seconds += completion.seconds


async def call_llm(
    context: RunContext, question: Question, listen: Callable[[], TextSink] | None = None
) -> Extraction:
    """Ask until the answer is valid, at most 1 + MAX_REPAIRS times.

    `listen` makes a sink for the text of each try: an answer never goes on where another broke off.
    A broken answer is never shown to the model again: a model repeats what it reads. The repair
    says where it was wrong and what was expected.
    Errors: `model.invalid_output` or `model.truncated` with the raw text in `details["raw"]`;
    the adapter's `ModelFailed`, after retries where that can help.
    """
    spent = _Spent()
    request = _request(question, context.model_timeout_s)
    while True:
        completion = await _ask(context, question, request, spent, listen)
        spent.add(completion)
        parsed = parse_answer(completion.text, completion.finish_reason)
        problems = parsed.problems
        if parsed.value is not None:
            validation = question.validator.validate(parsed.value, question.source)
            problems = validation.problems
            if validation.value is not None:
                return Extraction(
                    out=validation.value,
                    lost=validation.lost,
                    calls=spent.calls,
                    usage=Usage(
                        prompt_tokens=spent.prompt_tokens,
                        cached_tokens=spent.cached_tokens,
                        completion_tokens=spent.completion_tokens,
                    ),
                    seconds=spent.seconds,
                )
        is_truncated = completion.finish_reason == "length"
        spent.truncations += is_truncated
        if spent.calls > MAX_REPAIRS or spent.truncations > MAX_TRUNCATIONS:
            raise _failure(question, completion, problems, spent.calls)
        request = _repair(question, request, problems, is_truncated=is_truncated)


async def recall_answer(context: RunContext, question: Question) -> Extraction | None:
    """Find a good answer that an earlier turn of the user got to the very same question.

    It costs nothing, so its usage is zero. Bad answers are passed over: they are asked for again.
    Errors: those of opening the model, whose name is part of the question.
    """
    request = _request(question, context.model_timeout_s)
    digest = request_digest(context.model.name, request)
    for completion in await context.journal.answers(digest):
        parsed = parse_answer(completion.text, completion.finish_reason)
        if parsed.value is None:
            continue
        validation = question.validator.validate(parsed.value, question.source)
        if validation.value is not None:
            return Extraction(out=validation.value, lost=validation.lost)
    return None


def _request(question: Question, timeout_s: float) -> ModelRequest:
    return ModelRequest(
        messages=(
            Message(role="system", content=question.system),
            Message(role="user", content=question.user),
        ),
        schema=question.schema,
        max_tokens=MAX_ANSWER_TOKENS,
        timeout_s=timeout_s,
    )


def _repair(
    question: Question,
    request: ModelRequest,
    problems: tuple[AnswerProblem, ...],
    *,
    is_truncated: bool,
) -> ModelRequest:
    """Ask again from the original prompt, so that its cached beginning still serves."""
    note = repair_note(problems, question.language)
    user = Message(role="user", content=f"{question.user}\n\n{note}")
    return replace(
        request,
        messages=(request.messages[0], user),
        max_tokens=request.max_tokens * 2 if is_truncated else request.max_tokens,
    )


async def _ask(
    context: RunContext,
    question: Question,
    request: ModelRequest,
    spent: _Spent,
    listen: Callable[[], TextSink] | None,
) -> Completion:
    model = context.model
    key = JournalKey(
        turn_id=context.turn_id,
        instance=question.instance or question.node,
        attempt=question.attempt,
        ordinal=spent.calls,
        request_digest=request_digest(model.name, request),
        model=model.name,
    )
    for pause_s in (*TRANSPORT_PAUSES_S, None):
        try:
            return await context.ask(key, request, listen() if listen else None)
        except ModelFailed as error:
            # Whoever waited that long once has waited long enough.
            if not error.retryable or error.code == "model.timeout" or pause_s is None:
                raise
            await asyncio.sleep(pause_s)
    raise AssertionError("unreachable")


def _failure(
    question: Question,
    completion: Completion,
    problems: tuple[AnswerProblem, ...],
    calls: int,
) -> AnswerInvalid:
    listed = "; ".join(f"{p.pointer or 'answer'}: {p.message}" for p in problems[:5])
    code = "model.truncated" if completion.finish_reason == "length" else "model.invalid_output"
    return AnswerInvalid(
        code,
        f"The model's answer for {question.node} can't be used after {calls} calls: {listed}.",
        hint="Try again, or another model (ALFRED_MODEL).",
        raw=completion.text,
        node=question.node,
    )
