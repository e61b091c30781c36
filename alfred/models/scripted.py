"""A model that answers from a list: the public fake for tests of whatever asks a model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from alfred.engine.language_model import Completion, ModelRequest, TextSink, Usage
from alfred.errors import ModelFailed

Answer = str | Completion | Exception | Callable[[ModelRequest], "str | Completion"]
PIECE_CHARS = 7


class ScriptedModel:
    """A `LanguageModel` that gives its answers in turn and remembers every request.

    An answer is a text, a whole `Completion`, an exception to raise, or a function of the request
    that gives or raises one of these. Tokens of a text are counted in words. `latency_s` passes
    before each answer; one above the request's timeout fails with `model.timeout`. With
    `parallel_calls` above 1 the order of requests is not fixed: let functions answer them.
    """

    def __init__(
        self,
        answers: Sequence[Answer],
        *,
        latency_s: float = 0.0,
        name: str = "scripted",
        context_tokens: int = 8192,
        parallel_calls: int = 1,
    ) -> None:
        self.requests: list[ModelRequest] = []
        self._answers = list(answers)
        self._latency_s = latency_s
        self._name = name
        self._context_tokens = context_tokens
        self._parallel_calls = parallel_calls

    @property
    def name(self) -> str:
        return self._name

    @property
    def context_tokens(self) -> int:
        return self._context_tokens

    @property
    def parallel_calls(self) -> int:
        return self._parallel_calls

    @property
    def calls(self) -> int:
        """How many requests were made, failed ones included."""
        return len(self.requests)

    async def complete(self, request: ModelRequest, on_text: TextSink | None = None) -> Completion:
        """Give the next answer.

        Errors: the scripted exception; `model.not_scripted` when there is no answer left.
        """
        self.requests.append(request)
        if self.calls > len(self._answers):
            raise ModelFailed(
                "model.not_scripted",
                f"Call {self.calls} has no answer; {len(self._answers)} are scripted.",
                hint="Give ScriptedModel one answer for each call.",
            )
        answer = self._answers[self.calls - 1]
        await self._wait(request)
        if isinstance(answer, Exception):
            raise answer
        given = answer(request) if callable(answer) else answer
        completion = given if isinstance(given, Completion) else self._worded(given, request)
        await stream_text(completion.text, on_text)
        return completion

    async def aclose(self) -> None:
        """Release nothing."""

    async def _wait(self, request: ModelRequest) -> None:
        await asyncio.sleep(min(self._latency_s, request.timeout_s))
        if self._latency_s > request.timeout_s:
            raise ModelFailed(
                "model.timeout", f"{self.name} did not finish within {request.timeout_s:g} s."
            )

    def _worded(self, text: str, request: ModelRequest) -> Completion:
        asked = sum(len(message.content.split()) for message in request.messages)
        usage = Usage(prompt_tokens=asked, completion_tokens=len(text.split()))
        return Completion(text=text, finish_reason="stop", usage=usage, seconds=self._latency_s)


async def stream_text(text: str, on_text: TextSink | None) -> None:
    """Hand a text over in small pieces, letting other tasks run between them."""
    if on_text is None:
        return
    for start in range(0, len(text), PIECE_CHARS):
        on_text(text[start : start + PIECE_CHARS])
        await asyncio.sleep(0)
