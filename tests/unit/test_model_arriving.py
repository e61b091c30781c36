"""A model that is still on its way: whoever needs it waits, hears how far it is, and gets it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from alfred.engine.language_model import Message, ModelRequest
from alfred.errors import ModelFailed
from alfred.models.arriving import Arrival, ArrivingModel
from alfred.models.catalog import CATALOG, CatalogModel
from alfred.models.embedded import EmbeddedModel
from alfred.models.llama_engine import EngineOptions
from alfred.models.provider import open_model
from alfred.models.scripted import ScriptedModel
from alfred.settings import Settings
from tests.conftest import Asked, LocalServer, Reply

CONTENT = bytes(range(256)) * 1200
ASKED = ModelRequest(messages=(Message(role="user", content="Say yes."),))
Serve = Callable[[Callable[[Asked], Reply]], LocalServer]


def published(url: str) -> CatalogModel:
    return replace(
        CATALOG[0],
        file_name="made-up.gguf",
        bytes=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        url=f"{url}/made-up.gguf",
        wheel_prefix="alfred-made-up-part",
    )


def whole(_: Asked) -> Reply:
    return Reply(kind="application/octet-stream", body=CONTENT)


async def test_several_calls_wait_for_one_fetching_and_hear_how_far_it_is(
    serve: Serve, tmp_path: Path
) -> None:
    go_on = Event()

    def slowly(asked: Asked) -> Reply:
        if "range" in asked.headers:
            assert go_on.wait(20)
            rest = CONTENT[100_000:]
            bounds = f"bytes 100000-{len(CONTENT) - 1}/{len(CONTENT)}"
            return Reply(206, "application/octet-stream", rest, {"Content-Range": bounds})
        length = {"Content-Length": str(len(CONTENT)), "Connection": "close"}
        return Reply(200, "application/octet-stream", CONTENT[:100_000], length)

    server = serve(slowly)
    told: list[str] = []

    def tell(words: str) -> None:
        told.append(words)
        go_on.set()

    arrival = Arrival(published(server.url), tmp_path, None)
    model = ArrivingModel(ScriptedModel(["yes", "yes"]), arrival, tell)
    assert arrival.is_missing
    answers = await asyncio.gather(model.complete(ASKED), model.complete(ASKED))
    assert [each.text for each in answers] == ["yes", "yes"]
    name = "qwen2.5-coder-1.5b-instruct"
    going, here = (
        f"Fetching the model {name}, 0 MB: 32 % …",
        f"The model {name} is here; it is being loaded …",
    )
    assert told.count(here) == told.count(going) <= 2  # each hears both, or had no time to
    assert told == [going] * told.count(going) + [here] * told.count(here)
    assert told[:1] == [going]
    assert [asked.path for asked in server.asked].count("/made-up.gguf") == 2
    assert (tmp_path / "made-up.gguf").read_bytes() == CONTENT
    assert not arrival.is_missing


async def test_whoever_stops_waiting_stops_nobody_elses_fetching(
    serve: Serve, tmp_path: Path
) -> None:
    go_on = Event()

    def late(asked: Asked) -> Reply:
        assert go_on.wait(20)
        return whole(asked)

    server = serve(late)
    arrival = Arrival(published(server.url), tmp_path, None)
    first = asyncio.create_task(arrival.wait(print))
    second = asyncio.create_task(arrival.wait(print))
    while not server.asked:
        await asyncio.sleep(0.01)
    first.cancel()
    go_on.set()
    await second
    assert first.cancelled()
    assert len(server.asked) == 1


async def test_what_failed_is_tried_anew_by_the_next_call(serve: Serve, tmp_path: Path) -> None:
    is_up = False
    server = serve(lambda asked: whole(asked) if is_up else Reply(404))
    index = f"{server.url}/simple/"
    model = ArrivingModel(
        ScriptedModel(["yes"]), Arrival(published(server.url), tmp_path, index), print
    )
    with pytest.raises(ModelFailed) as caught:
        await model.complete(ASKED)
    assert caught.value.code == "model.download"
    is_up = True
    assert (await model.complete(ASKED)).text == "yes"


async def test_a_fetching_that_is_closed_leaves_what_it_has_for_the_next(
    serve: Serve, tmp_path: Path
) -> None:
    go_on = Event()

    def hanging(asked: Asked) -> Reply:
        go_on.wait(20)
        return whole(asked)

    server = serve(hanging)
    arrival = Arrival(published(server.url), tmp_path, None)
    waiting = asyncio.create_task(arrival.wait(print))
    while not server.asked:
        await asyncio.sleep(0.01)
    await arrival.aclose()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    go_on.set()
    assert arrival.is_missing


async def test_a_server_opens_a_model_that_is_not_here_and_a_command_refuses_it(
    tmp_path: Path,
) -> None:
    settings = Settings(home=tmp_path)
    with pytest.raises(ModelFailed, match="is not on this machine"):
        open_model(settings)
    model = open_model(settings, tell=print)
    assert isinstance(model, ArrivingModel)
    assert model.arrival.is_missing
    assert model.arrival.size == "qwen2.5-coder-1.5b-instruct, 1,117 MB"
    options = EngineOptions(path=tmp_path / "x", sha256="", cache_folder=tmp_path)
    known = EmbeddedModel(CATALOG[0].name, options)
    assert (model.name, model.context_tokens) == (known.name, known.context_tokens)
    assert model.parallel_calls == 1
    for each in (model, known):
        await each.aclose()
