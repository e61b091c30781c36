"""The small embedded model for real: prefix cache, cancellation, long prompts, provider."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from alfred.engine.language_model import LanguageModel, Message, ModelRequest, Tool
from alfred.errors import ModelFailed
from alfred.models.provider import open_model
from alfred.settings import Settings

pytestmark = pytest.mark.model

RULES = "Read the note and copy its values word for word. Give null for what is absent. " * 6
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "day": {"type": "string"}},
    "required": ["city", "day"],
}


def note(text: str, **changes: Any) -> ModelRequest:
    messages = (Message(role="system", content=RULES), Message(role="user", content=text))
    return replace(ModelRequest(messages=messages, schema=SCHEMA, max_tokens=60), **changes)


@pytest.fixture(scope="module")
def settings(small_model: Any, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home that has the model's file, as after `alfred model pull`."""
    home = tmp_path_factory.mktemp("home")
    (home / "models").mkdir()
    for path in (small_model.path, small_model.path.with_name(f"{small_model.path.name}.verified")):
        (home / "models" / path.name).symlink_to(path)
    return Settings(home=home, model=f"embedded:{small_model.model.name}")


@pytest.fixture(scope="module")
async def model(settings: Settings) -> AsyncGenerator[LanguageModel]:
    opened = open_model(settings)
    yield opened
    await opened.aclose()


def states(settings: Settings) -> list[Path]:
    return list((settings.home / "cache" / "prefixes").glob("*.state"))


async def test_a_note_is_read_and_its_prefix_kept(model: LanguageModel, settings: Settings) -> None:
    completion = await model.complete(note("See you in Ulm on Friday."))
    assert json.loads(completion.text)["city"] == "Ulm"
    assert len(states(settings)) == 1
    again = await model.complete(note("We meet in Graz on Monday."))
    assert json.loads(again.text)["city"] == "Graz"
    assert again.usage.cached_tokens > 100


async def test_the_next_process_does_not_read_the_prefix_again(
    model: LanguageModel, settings: Settings
) -> None:
    await model.complete(note("See you in Ulm on Friday."))
    fresh = open_model(settings)
    completion = await fresh.complete(note("Lunch in Bern on Sunday."))
    await fresh.aclose()
    assert json.loads(completion.text)["city"] == "Bern"
    assert completion.usage.cached_tokens > 100


async def test_a_damaged_state_is_ignored_and_made_anew(
    model: LanguageModel, settings: Settings
) -> None:
    await model.complete(note("See you in Ulm on Friday."))
    (state,) = states(settings)
    content = state.read_bytes()
    state.write_bytes(content[: len(content) // 2])
    fresh = open_model(settings)
    completion = await fresh.complete(note("Lunch in Bern on Sunday."))
    await fresh.aclose()
    assert json.loads(completion.text)["city"] == "Bern"
    assert [path.read_bytes()[:64] for path in states(settings)] == [content[:64]]


async def test_no_word_of_the_user_is_in_a_kept_state(
    model: LanguageModel, settings: Settings
) -> None:
    before = {path.name for path in states(settings)}
    await model.complete(note("See you in Zanzibar on Friday."))
    assert {path.name for path in states(settings)} == before


async def test_a_prompt_beyond_the_context_is_refused_with_its_size(model: LanguageModel) -> None:
    with pytest.raises(ModelFailed) as failure:
        await model.complete(note("far " * 9000))
    assert failure.value.code == "model.refused"
    assert failure.value.details["prompt_tokens"] > model.context_tokens


async def test_text_that_is_no_valid_unicode_is_refused(model: LanguageModel) -> None:
    with pytest.raises(ModelFailed) as failure:
        await model.complete(note("a\ud800b"))
    assert failure.value.code == "model.refused"


async def test_a_cancelled_call_stops_reading_a_long_prompt(model: LanguageModel) -> None:
    task = asyncio.create_task(model.complete(note("far and away " * 2000)))
    await asyncio.sleep(1.0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    started = time.perf_counter()
    completion = await model.complete(note("See you in Ulm on Friday."))
    assert json.loads(completion.text)["city"] == "Ulm"
    assert time.perf_counter() - started < 20  # Reading the long prompt takes a minute.


async def test_a_sink_that_fails_stops_the_decoding(model: LanguageModel) -> None:
    def broken(_: str) -> None:
        raise BrokenPipeError("the reader went away")

    with pytest.raises(BrokenPipeError):
        await model.complete(note("See you in Ulm on Friday."), broken)
    assert (await model.complete(note("See you in Ulm on Friday."))).text


async def test_a_tool_call_is_read_from_plain_json(model: LanguageModel) -> None:
    weather = Tool(name="weather", description="Weather of a city.", parameters=SCHEMA)
    words = "What is the weather in Ulm on Friday? Call the tool."
    request = ModelRequest(
        messages=(Message(role="user", content=words),), tools=(weather,), max_tokens=80
    )
    completion = await model.complete(request)
    assert completion.finish_reason == "tool_calls"
    (call,) = completion.tool_calls
    assert call.name == "weather"
    assert json.loads(call.arguments)["city"] == "Ulm"


def test_an_interrupted_program_ends_while_the_model_decodes(settings: Settings) -> None:
    program = """
import asyncio, os, signal, sys
from pathlib import Path
from alfred.engine.language_model import Message, ModelRequest
from alfred.models.provider import open_model
from alfred.settings import Settings

async def main():
    model = open_model(Settings(home=Path(sys.argv[1]), model=sys.argv[2]))
    told = lambda piece: os.kill(os.getpid(), signal.SIGINT)
    words = Message(role="user", content="Count from one to five hundred in words.")
    await model.complete(ModelRequest(messages=(words,), max_tokens=2000), told)

asyncio.run(main())
"""
    started = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-c", program, str(settings.home), str(settings.model)],
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    assert b"KeyboardInterrupt" in ended.stderr
    assert b"llama" not in ended.stderr.replace(b"llama_engine", b"")
    assert time.perf_counter() - started < 30
