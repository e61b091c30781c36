"""A local model in the process: loaded on first use, one call at a time, on a thread of its own."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any

from alfred.engine.language_model import Completion, ModelRequest, TextSink, Tool, ToolCall
from alfred.errors import ModelFailed
from alfred.models.chat_format import AnswerReader, message_fields, tool_fields
from alfred.models.http_failure import Server, error_in
from alfred.models.llama_engine import EngineOptions, LlamaEngine
from alfred.models.schema_prompt import with_schema
from alfred.models.wire_schema import Dialect, wire_schema


class EmbeddedModel:
    """A `LanguageModel` on this machine's own processor.

    Cancelling or timing out a call stops the decoding within a second or two; the next call waits
    for that. `options.path` has to be a verified file (`model_file.require_verified`).
    """

    def __init__(self, name: str, options: EngineOptions) -> None:
        self._name = f"embedded:{name}"
        self._options = options
        self._engine: LlamaEngine | None = None
        self._running: list[_Decoding] = []
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="alfred-model")

    @property
    def name(self) -> str:
        return self._name

    @property
    def context_tokens(self) -> int:
        return self._options.context_tokens

    @property
    def parallel_calls(self) -> int:
        return 1

    async def complete(self, request: ModelRequest, on_text: TextSink | None = None) -> Completion:
        """Answer once, without retries, after the calls before it.

        Units: the timeout covers waiting for earlier calls and loading, too.
        Errors: `model.not_installed`, `model.corrupt`, `model.timeout`, and `model.refused`, which
        a prompt longer than the context gets: nothing is cut off silently.
        """
        started = time.perf_counter()
        decoding = _Decoding(asyncio.get_running_loop())
        answer = decoding.loop.run_in_executor(self._worker, self._answer, request, decoding)
        self._running.append(decoding)
        try:
            async with asyncio.timeout(request.timeout_s):
                while (piece := await decoding.pieces.get()) is not None:
                    if on_text is not None:
                        on_text(piece)
                reader = await answer
        except TimeoutError as exc:
            raise ModelFailed(
                "model.timeout",
                f"{self.name} did not finish within {request.timeout_s:g} s.",
                hint="Hand in a shorter text, or raise ALFRED_MODEL_TIMEOUT_S.",
            ) from exc
        finally:
            decoding.stop.set()
            answer.cancel()
            self._running.remove(decoding)
        return _with_calls(reader.completion(time.perf_counter() - started), request.tools)

    async def aclose(self) -> None:
        """Stop what is being decoded and free the model's memory and thread; more calls fail."""
        for decoding in self._running:
            decoding.stop.set()
        await asyncio.to_thread(self._unload)

    def _unload(self) -> None:
        self._worker.shutdown(wait=True)
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _answer(self, request: ModelRequest, decoding: _Decoding) -> AnswerReader:
        try:
            if self._engine is None and not decoding.stop.is_set():
                self._engine = LlamaEngine(self._options)
            if self._engine is not None:
                decoding.run(self._engine, _body(request))
            if decoding.failure is not None:
                raise self._failed(decoding.failure)
            if decoding.reader.finish is None:
                raise ModelFailed("model.unreachable", f"{self.name} was stopped before its end.")
            return decoding.reader
        finally:
            decoding.hand_over(None)

    def _failed(self, body: Mapping[str, Any]) -> ModelFailed:
        error = body["error"]
        if error.get("type") == "exceed_context_size_error":
            tokens = error.get("n_prompt_tokens")
            return ModelFailed(
                "model.refused",
                f"The prompt has {tokens} tokens; {self.name} takes {self.context_tokens}.",
                hint="Hand in a shorter text, or set ALFRED_MODEL to a hosted model.",
                prompt_tokens=tokens,
                context_tokens=self.context_tokens,
            )
        server = Server(name=self.name, address="this process")
        return error_in(server, body) or ModelFailed("model.refused", str(error))


class _Decoding:
    """One call under way: what its thread has decoded, and how to stop it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.stop = Event()
        self.pieces: asyncio.Queue[str | None] = asyncio.Queue()
        self.reader = AnswerReader()
        self.failure: Mapping[str, Any] | None = None

    def run(self, engine: LlamaEngine, body: dict[str, Any]) -> None:
        """Decode on the calling thread until the answer ends or somebody asks to stop."""
        first = body["messages"][0]
        if first["role"] == "system":
            engine.warm_up(first["content"], self.stop)
        if not self.stop.is_set():
            engine.chat(body, self._take, self.stop)

    def _take(self, chunk: Mapping[str, Any]) -> None:
        if "error" in chunk:
            self.failure = chunk
        elif piece := self.reader.read(chunk):
            self.hand_over(piece)

    def hand_over(self, piece: str | None) -> None:
        """Pass text to the event loop; None says that no more will come."""
        try:
            self.loop.call_soon_threadsafe(self.pieces.put_nowait, piece)
        except RuntimeError:
            # The loop was closed: nobody waits for this text any more.
            self.stop.set()


def _with_calls(answer: Completion, tools: Sequence[Tool]) -> Completion:
    """Read the tool call that small models write as plain JSON, without the tags for it."""
    if not tools or answer.tool_calls or answer.finish_reason != "stop":
        return answer
    try:
        stated: Any = json.loads(answer.text)
        name, arguments = stated["name"], stated["arguments"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return answer
    if name not in {tool.name for tool in tools}:
        return answer
    call = ToolCall(id="call_0", name=name, arguments=json.dumps(arguments, ensure_ascii=False))
    return replace(answer, text="", tool_calls=(call,), finish_reason="tool_calls")


def _body(request: ModelRequest) -> dict[str, Any]:
    messages = request.messages
    body: dict[str, Any] = {"temperature": 0, "max_tokens": request.max_tokens}
    if request.schema is not None:
        messages = with_schema(messages, request.schema)
        shape = {"schema": wire_schema(request.schema, Dialect.LLAMA)}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    if request.tools:
        body["tools"] = [tool_fields(tool) for tool in request.tools]
    body["messages"] = [message_fields(message) for message in messages]
    return body
