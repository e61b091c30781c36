"""The chat-completions adapter against a real HTTP server that misbehaves on purpose."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from alfred.engine.language_model import Message, ModelRequest, Tool, ToolCall
from alfred.errors import ModelFailed
from alfred.models.openai_compatible import MAX_BODY_BYTES, Endpoint, OpenAICompatible
from alfred.models.wire_schema import Dialect

KEY = "made-up-key-123"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
REQUEST = ModelRequest(
    messages=(Message(role="system", content="Copy."), Message(role="user", content="Ulm.")),
    schema=SCHEMA,
    max_tokens=50,
    timeout_s=10.0,
)
GOOD = {
    "choices": [{"message": {"content": '{"city": "Ulm"}'}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 4, "prompt_cache_hit_tokens": 3},
}

Connect = Callable[..., tuple[OpenAICompatible, Any]]


@pytest.fixture
async def connect(serve: Callable[..., Any], reply: type[Any]) -> AsyncGenerator[Connect]:
    """Open a model at a server that answers each request with the next of some replies."""
    models: list[OpenAICompatible] = []

    def open_one(*replies: Any, dialect: Dialect = Dialect.STRICT) -> tuple[OpenAICompatible, Any]:
        left = list(replies)

        def answer(_: Any) -> Any:
            given = left.pop(0) if len(left) > 1 else left[0]
            return reply(body=json.dumps(given).encode()) if isinstance(given, dict) else given

        server = serve(answer)
        endpoint = Endpoint(
            name="test", base_url=f"{server.url}/v1/", model="m", dialect=dialect, key=KEY
        )
        models.append(OpenAICompatible(endpoint))
        return models[-1], server

    yield open_one
    for model in models:
        await model.aclose()


def failed(status: int, message: str, **fields: Any) -> dict[str, Any]:
    return {
        "status": status,
        "body": json.dumps({"error": {"message": message, **fields}}).encode(),
    }


def events(*chunks: Any, end: bool = True) -> list[bytes]:
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\r\n\r\n".encode() for chunk in chunks]
    return [b": a comment\n\n", *lines, *([b"data: [DONE]\n\n"] if end else [])]


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields}]}


async def test_a_request_is_strict_cold_and_authorised(connect: Connect) -> None:
    model, server = connect(GOOD)
    completion = await model.complete(REQUEST)
    assert completion.text == '{"city": "Ulm"}'
    assert completion.usage.prompt_tokens == 9
    assert completion.usage.cached_tokens == 3
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    body = asked.json()
    assert body["temperature"] == 0
    assert body["max_tokens"] == 50
    assert body["response_format"]["json_schema"]["strict"] is True
    assert body["messages"][0]["content"] == "Copy."
    assert "stream" not in body


async def test_a_plain_server_sees_the_schema_in_the_prompt_too(connect: Connect) -> None:
    model, server = connect(GOOD, dialect=Dialect.PLAIN)
    await model.complete(REQUEST)
    body = server.asked[0].json()
    assert "- city (text or null)" in body["messages"][0]["content"]
    assert body["response_format"]["type"] == "json_schema"


async def test_a_server_without_schemas_is_asked_for_json_from_then_on(
    connect: Connect, reply: type[Any]
) -> None:
    refusal = reply(**failed(400, "This response_format type is unavailable now"))
    model, server = connect(refusal, GOOD)
    await model.complete(REQUEST)
    await model.complete(REQUEST)
    formats = [asked.json()["response_format"]["type"] for asked in server.asked]
    assert formats == ["json_schema", "json_object", "json_object"]
    assert "city (text or null)" in server.asked[1].json()["messages"][0]["content"]


async def test_refused_parameters_are_left_out_one_by_one(
    connect: Connect, reply: type[Any]
) -> None:
    model, server = connect(
        reply(**failed(400, "Unsupported value", param="temperature")),
        reply(**failed(400, "Unsupported parameter: 'max_tokens'")),
        reply(**failed(400, "'response_format' is not known")),
        reply(**failed(422, "no response_format json_object either")),
        GOOD,
    )
    assert (await model.complete(REQUEST)).text
    last = server.asked[-1].json()
    assert "temperature" not in last
    assert "response_format" not in last
    assert last["max_completion_tokens"] == 50


async def test_a_refusal_that_nothing_can_mend_is_not_repeated(
    connect: Connect, reply: type[Any]
) -> None:
    model, server = connect(reply(**failed(400, "the temperature is bad")))
    with pytest.raises(ModelFailed, match="temperature is bad"):
        await model.complete(REQUEST)
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "model.refused"),
        (401, "model.refused"),
        (403, "model.refused"),
        (404, "model.refused"),
        (302, "model.refused"),
        (408, "model.timeout"),
        (429, "model.overloaded"),
        (500, "model.overloaded"),
        (503, "model.overloaded"),
        (529, "model.overloaded"),
    ],
)
async def test_a_status_becomes_one_code_with_the_servers_words(
    connect: Connect, reply: type[Any], status: int, code: str
) -> None:
    model, _ = connect(reply(**failed(status, f"no, {KEY} {'x' * 900}")))
    with pytest.raises(ModelFailed) as failure:
        await model.complete(REQUEST)
    assert failure.value.code == code
    assert str(status) in failure.value.message
    assert KEY not in str(failure.value)
    assert len(failure.value.message) < 450


async def test_an_exhausted_quota_is_no_overload(connect: Connect, reply: type[Any]) -> None:
    model, _ = connect(reply(**failed(429, "pay first", code="insufficient_quota")))
    with pytest.raises(ModelFailed) as failure:
        await model.complete(REQUEST)
    assert failure.value.code == "model.refused"
    assert not failure.value.retryable


@pytest.mark.parametrize(
    "body",
    [
        b"<html><body>Welcome to the hotel network</body></html>",
        b"not json",
        b"\xff\xfe{}",
        b"[1, 2]",
        b'{"ok": true}',
        b"",
        b"[" * 100_000,
    ],
)
async def test_an_answer_that_is_no_completion_is_refused(
    connect: Connect, reply: type[Any], body: bytes
) -> None:
    model, _ = connect(reply(body=body))
    with pytest.raises(ModelFailed) as failure:
        await model.complete(REQUEST)
    assert failure.value.code == "model.refused"


async def test_a_body_without_end_is_cut_off(connect: Connect, reply: type[Any]) -> None:
    bomb = gzip.compress(b" " * (MAX_BODY_BYTES * 3))
    model, _ = connect(reply(body=bomb, headers={"Content-Encoding": "gzip"}))
    with pytest.raises(ModelFailed, match="more than") as failure:
        await model.complete(REQUEST)
    assert failure.value.code == "model.refused"


async def test_a_broken_compression_is_refused(connect: Connect, reply: type[Any]) -> None:
    model, _ = connect(reply(body=b"no gzip", headers={"Content-Encoding": "gzip"}))
    with pytest.raises(ModelFailed) as failure:
        await model.complete(REQUEST)
    assert failure.value.code == "model.refused"


async def test_chunks_are_handed_over_as_they_come(connect: Connect, reply: type[Any]) -> None:
    chunks = [
        delta(role="assistant", content=None),
        delta(content='{"city": "'),
        delta(content="乌尔姆"),
        delta(content='"}'),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}},
    ]
    model, server = connect(reply(kind="text/event-stream", pieces=events(*chunks)))
    pieces: list[str] = []
    completion = await model.complete(REQUEST, pieces.append)
    assert pieces == ['{"city": "', "乌尔姆", '"}']
    assert completion.text == "".join(pieces)
    assert completion.usage.completion_tokens == 5
    assert server.asked[0].json()["stream_options"] == {"include_usage": True}


async def test_a_server_that_does_not_stream_still_answers(connect: Connect) -> None:
    model, _ = connect(GOOD)
    pieces: list[str] = []
    completion = await model.complete(REQUEST, pieces.append)
    assert pieces == [completion.text]


async def test_a_stream_that_breaks_off_is_unreachable(connect: Connect, reply: type[Any]) -> None:
    cut = events(delta(content='{"ci'), end=False)
    model, _ = connect(reply(kind="text/event-stream", pieces=cut))
    with pytest.raises(ModelFailed) as failure:
        await model.complete(REQUEST, [].append)
    assert failure.value.code == "model.unreachable"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"message": "busy", "type": "overloaded_error"}, "model.overloaded"),
        ({"message": "busy", "code": 503}, "model.overloaded"),
        ({"message": "too long", "code": "context_length"}, "model.refused"),
        ("just words", "model.refused"),
    ],
)
async def test_an_error_in_a_stream_fails_the_call(
    connect: Connect, reply: type[Any], error: Any, code: str
) -> None:
    model, _ = connect(
        reply(kind="text/event-stream", pieces=events(delta(content="{"), {"error": error}))
    )
    with pytest.raises(ModelFailed) as failure:
        await model.complete(REQUEST, [].append)
    assert failure.value.code == code


async def test_the_timeout_covers_a_stream_that_only_drips(
    connect: Connect, reply: type[Any]
) -> None:
    def drip() -> Any:
        for _ in range(20):
            time.sleep(0.1)
            yield events(delta(content="."), end=False)[1]

    model, _ = connect(reply(kind="text/event-stream", pieces=drip()))
    hurried = ModelRequest(messages=REQUEST.messages, timeout_s=0.4)
    started = time.perf_counter()
    with pytest.raises(ModelFailed) as failure:
        await model.complete(hurried, [].append)
    assert failure.value.code == "model.timeout"
    assert time.perf_counter() - started < 1.5


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("length", "length"), ("content_filter", "refused"), ("stop", "stop"), ("novel", "stop")],
)
async def test_finish_reasons_are_mapped(connect: Connect, reason: str, finish: str) -> None:
    answer = {"choices": [{"message": {"content": "{"}, "finish_reason": reason}]}
    model, _ = connect(answer)
    assert (await model.complete(REQUEST)).finish_reason == finish


async def test_a_refusal_in_words_is_a_finish_reason(connect: Connect) -> None:
    message = {"content": None, "refusal": "I would rather not."}
    model, _ = connect({"choices": [{"message": message, "finish_reason": "stop"}]})
    completion = await model.complete(REQUEST)
    assert completion.finish_reason == "refused"
    assert completion.text == "I would rather not."


async def test_tool_calls_are_collected_over_chunks(connect: Connect, reply: type[Any]) -> None:
    function = {"index": 0, "id": "c1", "function": {"name": "weather", "arguments": '{"ci'}}
    rest = {"index": 0, "function": {"arguments": 'ty": "Ulm"}'}}
    other = {"index": 1, "id": "c2", "function": {"name": "clock", "arguments": "{}"}}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    stream = events(
        delta(tool_calls=[function]), delta(tool_calls=[rest]), delta(tool_calls=[other]), end
    )
    model, server = connect(reply(kind="text/event-stream", pieces=stream))
    weather = Tool(name="weather", description="Weather of a city.", parameters=SCHEMA)
    before = ToolCall(id="c0", name="clock", arguments="{}")
    request = ModelRequest(
        messages=(
            Message(role="user", content="Weather?"),
            Message(role="assistant", content="", tool_calls=(before,)),
            Message(role="tool", content="noon", tool_call_id="c0"),
        ),
        tools=(weather,),
    )
    completion = await model.complete(request, [].append)
    assert completion.finish_reason == "tool_calls"
    assert completion.tool_calls == (
        ToolCall(id="c1", name="weather", arguments='{"city": "Ulm"}'),
        ToolCall(id="c2", name="clock", arguments="{}"),
    )
    body = server.asked[0].json()
    assert body["tools"][0]["function"]["name"] == "weather"
    assert body["messages"][1]["tool_calls"][0]["id"] == "c0"
    assert body["messages"][2]["tool_call_id"] == "c0"


async def test_one_connection_serves_many_calls(connect: Connect) -> None:
    model, server = connect(GOOD)
    for _ in range(3):
        await model.complete(REQUEST)
    await asyncio.gather(model.complete(REQUEST), model.complete(REQUEST))
    assert len(server.asked) == 5


async def test_a_key_is_not_in_the_endpoints_repr() -> None:
    assert KEY not in repr(Endpoint(name="n", base_url="http://127.0.0.1", model="m", key=KEY))


async def test_text_that_is_no_valid_unicode_does_not_break_the_call(connect: Connect) -> None:
    model, _ = connect(GOOD)
    odd = ModelRequest(messages=(Message(role="user", content="a\ud800b"),))
    assert (await model.complete(odd)).text
