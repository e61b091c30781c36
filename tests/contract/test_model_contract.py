"""Every model adapter, the real ones included, keeps the promises of the port."""

from __future__ import annotations

import asyncio
import importlib
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from alfred.engine.language_model import (
    Completion,
    FinishReason,
    LanguageModel,
    Message,
    ModelRequest,
    Usage,
)
from alfred.errors import ModelFailed
from alfred.models.embedded import EmbeddedModel
from alfred.models.llama_engine import EngineOptions, free_threads
from alfred.models.openai_compatible import Endpoint, OpenAICompatible
from alfred.models.recorded import RecordedModel
from alfred.models.scripted import ScriptedModel
from alfred.models.wire_schema import Dialect, drop_nulls, wire_schema

POSTING = {
    "type": "object",
    "properties": {
        "company": {"type": "string", "description": "the employer"},
        "title": {"type": "string", "description": "the job"},
        "salary": {"type": "string"},
        "hours": {"enum": ["full-time", "part-time"]},
        "tasks": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
    },
    "required": ["company", "title"],
}
ASKED = (
    Message(role="system", content="Copy the values from the text. Give null for what is absent."),
    Message(role="user", content="Brookside Mills seeks a miller. Tasks: mill flour, sweep."),
)
USAGE = Usage(prompt_tokens=60, cached_tokens=12, completion_tokens=30)


@dataclass(frozen=True)
class Scene:
    """A request, and what a scripted model says to it; real models say what they say."""

    request: ModelRequest
    text: str
    finish: FinishReason = "stop"
    latency_s: float = 0.0

    @property
    def completion(self) -> Completion:
        return Completion(text=self.text, finish_reason=self.finish, usage=USAGE)


STRUCTURED = Scene(
    ModelRequest(messages=ASKED, schema=POSTING, max_tokens=200),
    json.dumps(
        {
            "company": "Brookside Mills",
            "title": "miller",
            "salary": None,
            "hours": None,
            "tasks": ["mill flour", "sweep"],
        }
    ),
)
UNSTATED = Scene(
    ModelRequest(
        messages=(Message(role="user", content="Answer with null for every field."),),
        schema={
            "type": "object",
            "properties": {"salary": {"type": "string"}, "hours": {"enum": ["full-time"]}},
        },
        max_tokens=60,
    ),
    '{"salary": null, "hours": null}',
)
CUT = Scene(replace(STRUCTURED.request, max_tokens=4), '{"company": "Bro', "length")
WORDS = Scene(
    ModelRequest(messages=(Message(role="user", content="Greet me."),), max_tokens=20),
    "Good morning to you, miller.",
)
LONG = (Message(role="user", content="mill flour " * 1500),)
SLOW = Scene(replace(STRUCTURED.request, messages=LONG, timeout_s=0.3), "late", latency_s=1.0)


@dataclass
class Bench:
    """One adapter under test: opens a model that is ready for a request."""

    open: Callable[[Scene], Awaitable[LanguageModel]]
    dialect: Dialect


@pytest.fixture(
    params=[
        "scripted",
        "recorded",
        "openai_compatible",
        pytest.param("embedded", marks=pytest.mark.model),
        pytest.param("llama_server", marks=pytest.mark.model),
    ],
)
def bench(request: pytest.FixtureRequest, closing: list[LanguageModel], tmp_path: Path) -> Bench:
    made = {
        "scripted": _scripted_bench,
        "recorded": lambda: _recorded_bench(tmp_path / "calls.jsonl"),
        "openai_compatible": lambda: _http_bench(
            request.getfixturevalue("serve"), request.getfixturevalue("reply"), closing
        ),
        "embedded": lambda: _real_bench(request.getfixturevalue("embedded_model")),
        "llama_server": lambda: _real_bench(request.getfixturevalue("llama_server_model")),
    }
    return made[request.param]()


@pytest.fixture
async def closing() -> AsyncGenerator[list[LanguageModel]]:
    """Close the models that are put into the list."""
    models: list[LanguageModel] = []
    yield models
    for model in models:
        await model.aclose()


def _scripted(scene: Scene) -> ScriptedModel:
    return ScriptedModel([scene.completion] * 3, latency_s=scene.latency_s)


def _scripted_bench() -> Bench:
    async def opened(scene: Scene) -> LanguageModel:
        return _scripted(scene)

    return Bench(opened, Dialect.LLAMA)


def _recorded_bench(path: Path) -> Bench:
    async def opened(scene: Scene) -> LanguageModel:
        if scene is SLOW:  # Only the recording of a call can be slow, never its replay.
            return RecordedModel(path, _scripted(scene))
        await RecordedModel(path, _scripted(scene)).complete(scene.request)
        return RecordedModel(path)

    return Bench(opened, Dialect.LLAMA)


def _http_bench(serve: Callable[..., Any], reply: type[Any], closing: list[LanguageModel]) -> Bench:
    async def opened(scene: Scene) -> LanguageModel:
        def answer(asked: Any) -> Any:
            time.sleep(scene.latency_s)
            if not asked.json().get("stream"):
                return reply(body=json.dumps(_whole(scene.completion)).encode())
            chunks = _chunks(scene.completion)
            events = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
            return reply(kind="text/event-stream", pieces=[*events, b"data: [DONE]\n\n"])

        url = f"{serve(answer).url}/v1"
        closing.append(OpenAICompatible(Endpoint(name="local", base_url=url, model="m")))
        return closing[-1]

    return Bench(opened, Dialect.PLAIN)


def _whole(completion: Completion) -> dict[str, Any]:
    message = {"role": "assistant", "content": completion.text}
    choice = {"index": 0, "message": message, "finish_reason": completion.finish_reason}
    return {"choices": [choice], "usage": _usage(completion)}


def _chunks(completion: Completion) -> list[dict[str, Any]]:
    text = completion.text
    deltas = [{"content": text[at : at + 5]} for at in range(0, len(text), 5)]
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": each}]} for each in deltas]
    end = {"index": 0, "delta": {}, "finish_reason": completion.finish_reason}
    return [*chunks, {"choices": [end]}, {"choices": [], "usage": _usage(completion)}]


def _usage(completion: Completion) -> dict[str, Any]:
    return {
        "prompt_tokens": completion.usage.prompt_tokens,
        "completion_tokens": completion.usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": completion.usage.cached_tokens},
    }


def _real_bench(model: LanguageModel) -> Bench:
    async def opened(_: Scene) -> LanguageModel:
        return model

    return Bench(opened, Dialect.LLAMA)


@pytest.fixture(scope="session")
async def embedded_model(
    small_model: Any, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[EmbeddedModel]:
    options = EngineOptions(
        path=small_model.path,
        sha256=small_model.model.sha256,
        cache_folder=tmp_path_factory.mktemp("prefixes"),
    )
    model = EmbeddedModel(small_model.model.name, options)
    yield model
    await model.aclose()


@pytest.fixture(scope="session")
async def llama_server_model(small_model: Any) -> AsyncGenerator[OpenAICompatible]:
    """llama.cpp's own HTTP server, asked over HTTP like any other."""
    llama: Any = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = str(small_model.path)
    params.n_ctx, params.n_parallel, params.n_batch, params.n_ubatch = 8192, 1, 64, 64
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = free_threads()
    params.verbosity, params.warmup, params.ui, params.api_keys = -1, False, False, ["made-up"]
    server = llama.Server(params)
    endpoint = Endpoint(
        name="llama.cpp",
        base_url=f"{server.listening_address}/v1",
        model="small",
        dialect=Dialect.LLAMA,
        key="made-up",
    )
    model = OpenAICompatible(endpoint)
    yield model
    await model.aclose()
    del server


async def test_a_structured_answer_obeys_the_wire_schema(bench: Bench) -> None:
    model = await bench.open(STRUCTURED)
    completion = await model.complete(STRUCTURED.request)
    assert completion.finish_reason == "stop"
    answer = json.loads(completion.text)
    assert jsonschema_rs.is_valid(wire_schema(POSTING, bench.dialect), answer)
    assert list(answer) == list(POSTING["properties"])
    assert drop_nulls(answer)["company"] == "Brookside Mills"


async def test_streamed_pieces_join_to_the_text(bench: Bench) -> None:
    model = await bench.open(STRUCTURED)
    pieces: list[str] = []
    completion = await model.complete(STRUCTURED.request, pieces.append)
    assert len(pieces) > 3
    assert "".join(pieces) == completion.text
    assert completion.finish_reason == "stop"


async def test_the_length_limit_is_a_finish_reason(bench: Bench) -> None:
    model = await bench.open(CUT)
    completion = await model.complete(CUT.request)
    assert completion.finish_reason == "length"
    assert completion.text


async def test_what_is_not_stated_can_be_null(bench: Bench) -> None:
    model = await bench.open(UNSTATED)
    completion = await model.complete(UNSTATED.request)
    assert json.loads(completion.text) == {"salary": None, "hours": None}
    assert drop_nulls(json.loads(completion.text)) == {}


async def test_a_request_without_schema_gives_text(bench: Bench) -> None:
    model = await bench.open(WORDS)
    completion = await model.complete(WORDS.request)
    assert completion.text.strip()
    assert completion.tool_calls == ()


@pytest.mark.parametrize("streamed", [False, True])
async def test_usage_is_counted(bench: Bench, streamed: bool) -> None:
    model = await bench.open(STRUCTURED)
    completion = await model.complete(STRUCTURED.request, [].append if streamed else None)
    usage = completion.usage
    assert usage.prompt_tokens > 10
    assert 5 < usage.completion_tokens <= STRUCTURED.request.max_tokens
    assert 0 <= usage.cached_tokens <= usage.prompt_tokens
    assert completion.seconds >= 0


async def test_a_call_beyond_its_timeout_fails_as_a_timeout(bench: Bench) -> None:
    model = await bench.open(SLOW)
    started = time.perf_counter()
    with pytest.raises(ModelFailed) as failure:
        await model.complete(SLOW.request)
    assert failure.value.code == "model.timeout"
    assert failure.value.retryable
    assert time.perf_counter() - started < 3


async def test_a_cancelled_call_leaves_the_model_usable(bench: Bench) -> None:
    model = await bench.open(WORDS)
    task = asyncio.create_task(model.complete(WORDS.request, [].append))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await model.complete(WORDS.request)).text


async def test_calls_at_the_same_time_are_all_answered(bench: Bench) -> None:
    model = await bench.open(WORDS)
    first, second = await asyncio.gather(
        model.complete(WORDS.request), model.complete(WORDS.request)
    )
    assert first.text == second.text


async def test_a_model_has_a_name_a_context_size_and_takes_calls(bench: Bench) -> None:
    model = await bench.open(WORDS)
    assert model.name
    assert model.context_tokens >= 4096
    assert model.parallel_calls >= 1


async def test_a_server_that_does_not_run_is_unreachable() -> None:
    with_socket_closed = "http://127.0.0.1:9/v1"
    model = OpenAICompatible(Endpoint(name="none", base_url=with_socket_closed, model="m"))
    with pytest.raises(ModelFailed) as failure:
        await model.complete(WORDS.request)
    assert failure.value.code == "model.unreachable"
    assert failure.value.retryable
    await model.aclose()
