"""Models behind the chat-completions API, hosted or local, over one pooled HTTP client."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from alfred.engine.language_model import Completion, ModelRequest, TextSink
from alfred.errors import ModelFailed
from alfred.models.chat_format import AnswerReader, message_fields, tool_fields
from alfred.models.http_failure import (
    Server,
    error_in,
    error_words,
    parsed_object,
    status_failure,
)
from alfred.models.schema_prompt import with_schema
from alfred.models.wire_schema import Dialect, wire_schema

MAX_BODY_BYTES = 8 * 1024 * 1024
CONNECT_TIMEOUT_S = 10.0
KEPT_SCHEMAS = 64

# A parameter that some servers refuse with status 400, and the words by which they name it.
REFUSALS = {
    "temperature": ("temperature",),
    "max_tokens": ("max_tokens",),
    "stream_options": ("stream_options",),
    "json_schema": ("response_format", "json_schema", "schema"),
    "json_object": ("response_format", "json_object"),
}


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where a model is reached. `key` is sent to `base_url` and nowhere else.

    Shapes: `base_url` up to and without `/chat/completions`; `name` as recorded in the journal.
    """

    name: str
    base_url: str
    model: str
    dialect: Dialect = Dialect.PLAIN
    context_tokens: int = 8192
    parallel_calls: int = 4
    key: str | None = field(default=None, repr=False)


class OpenAICompatible:
    """A `LanguageModel` over HTTP; learns from refusals which parameters its server lacks."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._url = f"{endpoint.base_url.rstrip('/')}/chat/completions"
        self._server = Server(name=endpoint.name, address=endpoint.base_url, key=endpoint.key)
        self._refused: set[str] = set()
        self._wires: dict[int, tuple[Mapping[str, Any], dict[str, Any]]] = {}
        headers = {"Content-Type": "application/json"}
        if endpoint.key:
            headers["Authorization"] = f"Bearer {endpoint.key}"
        # A proxy from the environment cannot reach this machine's own servers.
        local = _is_loopback(httpx.URL(endpoint.base_url).host)
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT_S),
            trust_env=not local,
        )

    @property
    def name(self) -> str:
        return self._endpoint.name

    @property
    def context_tokens(self) -> int:
        return self._endpoint.context_tokens

    @property
    def parallel_calls(self) -> int:
        return self._endpoint.parallel_calls

    async def aclose(self) -> None:
        await self._client.aclose()

    async def complete(self, request: ModelRequest, on_text: TextSink | None = None) -> Completion:
        """Answer once, without retries; a parameter the server refuses is left out from then on.

        Errors: `model.unreachable`, `model.timeout`, `model.overloaded`, `model.refused`.
        """
        started = time.perf_counter()
        try:
            async with asyncio.timeout(request.timeout_s):
                reader = await self._ask(request, on_text)
        except TimeoutError as exc:
            raise ModelFailed(
                "model.timeout",
                f"{self.name} did not finish within {request.timeout_s:g} s.",
                hint="Raise ALFRED_MODEL_TIMEOUT_S, or use a faster model.",
            ) from exc
        except (httpx.TransportError, httpx.InvalidURL) as exc:
            raise ModelFailed(
                "model.unreachable",
                f"{self.name} at {self._endpoint.base_url} cannot be reached ({_cause(exc)}).",
                hint="Check the network, and that the server runs at this address.",
            ) from exc
        except httpx.DecodingError as exc:
            raise ModelFailed(
                "model.refused", f"{self.name} sent a compressed answer that cannot be unpacked."
            ) from exc
        return reader.completion(time.perf_counter() - started)

    async def _ask(self, request: ModelRequest, on_text: TextSink | None) -> AnswerReader:
        while True:
            body = self._body(request, stream=on_text is not None)
            wire = json.dumps(body, ensure_ascii=False, default=dict).encode("utf-8", "replace")
            async with self._client.stream("POST", self._url, content=wire) as response:
                if response.is_success:
                    return await self._read(response, on_text)
                answer = await self._whole(response)
                if not self._learned(response.status_code, answer, body):
                    raise status_failure(self._server, response.status_code, answer)

    def _body(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        dialect = self._endpoint.dialect
        messages = request.messages
        body: dict[str, Any] = {"model": self._endpoint.model}
        if request.schema is not None:
            if dialect.prompted or "json_schema" in self._refused:
                messages = with_schema(messages, request.schema)
            if "json_schema" not in self._refused:
                wire = self._wire(request.schema)
                shape = {"name": "answer", "strict": True, "schema": wire}
                body["response_format"] = {"type": "json_schema", "json_schema": shape}
            elif "json_object" not in self._refused:
                body["response_format"] = {"type": "json_object"}
        body["messages"] = [message_fields(message) for message in messages]
        if request.tools:
            body["tools"] = [tool_fields(tool) for tool in request.tools]
        if "temperature" not in self._refused:
            body["temperature"] = 0
        limit = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        body[limit] = request.max_tokens
        if stream:
            body["stream"] = True
            if "stream_options" not in self._refused:
                body["stream_options"] = {"include_usage": True}
        return body

    def _wire(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Compile a schema once: a node asks with the same object again and again."""
        known = self._wires.get(id(schema))
        if known is None or known[0] is not schema:
            if len(self._wires) >= KEPT_SCHEMAS:
                self._wires.clear()
            known = self._wires[id(schema)] = schema, wire_schema(schema, self._endpoint.dialect)
        return known[1]

    def _learned(self, status: int, answer: bytes, body: dict[str, Any]) -> bool:
        """Note which parameter was refused; false if nothing can be left out any more."""
        if status not in (400, 422):
            return False
        _, message = error_words(answer)
        wanted = body.get("response_format", {}).get("type")
        for parameter, words in REFUSALS.items():
            sent = parameter in body or parameter == wanted
            if sent and any(word in message.lower() for word in words):
                self._refused.add(parameter)
                return True
        return False

    async def _read(self, response: httpx.Response, on_text: TextSink | None) -> AnswerReader:
        reader = AnswerReader()
        if "event-stream" in response.headers.get("content-type", ""):
            await self._read_events(response, reader, on_text)
            return reader
        body = parsed_object(self._server, await self._whole(response))
        self._take(reader, body, on_text)
        if "choices" not in body:
            raise ModelFailed("model.refused", f"{self.name} sent JSON that is no chat completion.")
        return reader

    async def _read_events(
        self, response: httpx.Response, reader: AnswerReader, on_text: TextSink | None
    ) -> None:
        async for line in self._lines(response):
            event = line[5:].strip() if line.startswith(b"data:") else b""
            if event == b"[DONE]":
                return
            if event:
                self._take(reader, parsed_object(self._server, event), on_text)
        if reader.finish is None:
            raise ModelFailed(
                "model.unreachable",
                f"{self.name} broke off in the midst of an answer.",
                hint="Try again.",
            )

    def _take(self, reader: AnswerReader, body: dict[str, Any], on_text: TextSink | None) -> None:
        if failure := error_in(self._server, body):
            raise failure
        piece = reader.read(body)
        if piece and on_text is not None:
            on_text(piece)

    async def _lines(self, response: httpx.Response) -> AsyncIterator[bytes]:
        rest = b""
        async for block in self._blocks(response):
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                yield line
        yield rest

    async def _whole(self, response: httpx.Response) -> bytes:
        return b"".join([block async for block in self._blocks(response)])

    async def _blocks(self, response: httpx.Response) -> AsyncIterator[bytes]:
        read = 0
        async for block in response.aiter_bytes():
            read += len(block)
            if read > MAX_BODY_BYTES:
                raise ModelFailed(
                    "model.refused",
                    f"{self.name} sent more than {MAX_BODY_BYTES} bytes for one answer.",
                )
            yield block


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _cause(exc: Exception) -> str:
    return str(exc) or type(exc).__name__
