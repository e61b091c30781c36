"""The chat-completions format: a request written in it, an answer or a stream of chunks read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from alfred.engine.language_model import (
    Completion,
    FinishReason,
    Message,
    Tool,
    ToolCall,
    Usage,
)
from alfred.models.template_marks import without_marks

FINISH: Mapping[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refused",
    "refusal": "refused",
}


def message_fields(message: Message) -> dict[str, Any]:
    """Write one message; nothing in its words can end it or begin another."""
    fields: dict[str, Any] = {"role": message.role, "content": without_marks(message.content)}
    if message.tool_call_id is not None:
        fields["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        fields["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    return fields


def tool_fields(tool: Tool) -> dict[str, Any]:
    """Write one tool."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        },
    }


class AnswerReader:
    """Collects one answer, whole or in chunks; foreign or missing fields are taken as absent."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._refusal = ""
        self._calls: dict[int, dict[str, str]] = {}
        self._usage = Usage()
        self.finish: FinishReason | None = None

    def read(self, body: Mapping[str, Any]) -> str:
        """Take in a whole answer or one chunk; the text it adds is returned.

        Shapes: both hold `choices[0]`, with `message` in a whole answer and `delta` in a chunk.
        """
        if usage := _object(body.get("usage")):
            self._usage = _usage(usage)
        choices = body.get("choices")
        if not isinstance(choices, list) or not choices:
            return ""
        choice = _object(cast("list[Any]", choices)[0])
        part = _object(choice.get("message")) or _object(choice.get("delta"))
        for position, call in enumerate(_objects(part.get("tool_calls"))):
            self._read_call(position, call)
        self._refusal += _text(part.get("refusal"))
        if reason := _text(choice.get("finish_reason")):
            self.finish = FINISH.get(reason, "stop")
        text = _text(part.get("content"))
        self._text.append(text)
        return text

    def _read_call(self, position: int, call: Mapping[str, Any]) -> None:
        index = call.get("index", position)
        known = self._calls.setdefault(
            index if isinstance(index, int) else position, {"id": "", "name": "", "arguments": ""}
        )
        function = _object(call.get("function"))
        known["id"] = known["id"] or _text(call.get("id"))
        known["name"] = known["name"] or _text(function.get("name"))
        known["arguments"] += _text(function.get("arguments"))

    def completion(self, seconds: float) -> Completion:
        """Give the answer; a refusal in words becomes its text, with the reason `refused`."""
        calls = tuple(
            ToolCall(
                id=call["id"] or f"call_{index}", name=call["name"], arguments=call["arguments"]
            )
            for index, call in sorted(self._calls.items())
        )
        finish: FinishReason = self.finish or "stop"
        if calls and finish == "stop":
            finish = "tool_calls"
        return Completion(
            text=self._refusal or "".join(self._text),
            finish_reason="refused" if self._refusal else finish,
            tool_calls=calls,
            usage=self._usage,
            seconds=seconds,
        )


def _usage(usage: Mapping[str, Any]) -> Usage:
    details = _object(usage.get("prompt_tokens_details"))
    cached = details.get("cached_tokens", usage.get("prompt_cache_hit_tokens"))
    return Usage(
        prompt_tokens=_count(usage.get("prompt_tokens")),
        cached_tokens=_count(cached),
        completion_tokens=_count(usage.get("completion_tokens")),
    )


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, list):
        return []
    return [_object(each) for each in cast("list[Any]", value)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
