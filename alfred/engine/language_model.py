"""The one port for models: structured answers against a JSON Schema, text, tool calls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

TextSink = Callable[[str], None]
"""Receives each new piece of text as it is decoded; called on the event loop's thread."""

FinishReason = Literal["stop", "length", "tool_calls", "refused"]


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """A call the model asks for. `arguments` is the model's text, not yet parsed or trusted."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message of a conversation with a model.

    Shapes: `tool_calls` on an assistant's message only; `tool_call_id` on a tool's answer only.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_call_id: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool the model may call; `parameters` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """One call. `schema` is the node's own JSON Schema; the adapter compiles its wire form.

    Units: `max_tokens` new tokens at most; `timeout_s` seconds for the whole call.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    tools: tuple[Tool, ...] = ()
    max_tokens: int = 2048
    timeout_s: float = 300.0


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens read (of them from a cache) and written, as the model counts them."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, kw_only=True)
class Completion:
    """An answer, not yet parsed. Look at `finish_reason` before reading `text` as JSON."""

    text: str
    finish_reason: FinishReason
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


class LanguageModel(Protocol):
    """A model that answers one request at a time or many at once, as its server allows."""

    @property
    def name(self) -> str:
        """Provider and model, as recorded in the journal; part of a request's hash."""
        ...

    @property
    def context_tokens(self) -> int:
        """How many tokens prompt and answer may have together."""
        ...

    @property
    def parallel_calls(self) -> int:
        """How many requests are worth sending at once; more only wait for each other."""
        ...

    async def complete(self, request: ModelRequest, on_text: TextSink | None = None) -> Completion:
        """Answer once, without retries; `on_text` receives the text as it is decoded.

        Errors: `ModelFailed` with one of its codes; no exception of a client library gets out.
        """
        ...

    async def aclose(self) -> None:
        """Release connections, memory and threads."""
        ...


def request_digest(name: str, request: ModelRequest) -> str:
    """Hash what a model's answer depends on; journal and recordings find answers under it.

    Shapes: 64 hexadecimal digits. The timeout is left out, since it changes no answer; the order
    of the schema's properties is kept, since the model answers in that order.
    """
    asked = {
        "model": name,
        "messages": [
            {
                "role": message.role,
                "content": message.content,
                "tool_call_id": message.tool_call_id,
                "tool_calls": [[call.id, call.name, call.arguments] for call in message.tool_calls],
            }
            for message in request.messages
        ],
        "schema": request.schema,
        "tools": [[tool.name, tool.description, tool.parameters] for tool in request.tools],
        "max_tokens": request.max_tokens,
    }
    text = json.dumps(asked, ensure_ascii=True, separators=(",", ":"), default=dict)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
