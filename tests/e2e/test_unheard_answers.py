"""An answer is streamed to whoever listens, and asked for whole where nobody does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from alfred.app import App, Ports
from alfred.engine.context import FieldRead, Told
from alfred.installed import load_domains
from alfred.settings import Settings
from alfred.store.address import Address
from alfred.store.pools import Pools
from bench.model_server import reply as completion
from bench.posting import Posting
from tests.conftest import Answer, Asked, LocalServer, Reply
from tests.world import Clock


@pytest.mark.parametrize("is_heard", [True, False])
async def test_a_model_streams_only_to_a_listener(
    database: Address,
    settings: Settings,
    serve: Callable[[Answer], LocalServer],
    *,
    is_heard: bool,
) -> None:
    def answer(asked: Asked) -> Reply:
        head, _, body = completion(asked.json()).partition(b"\r\n\r\n")
        kind = "text/event-stream" if b"event-stream" in head else "application/json"
        return Reply(kind=kind, body=body)

    server = serve(answer)
    seen: list[Told] = []
    ports = Ports(clock=Clock())
    if is_heard:
        ports = replace(ports, on_progress=seen.append)
    chosen = replace(settings, model=f"{server.url}/v1#any")
    async with Pools(database) as pools:
        app = App(chosen, load_domains(), pools, ports)
        received = await app.receive(Posting(1).text.encode())
        await app.aclose()
    assert received.standing is not None
    assert received.standing.proposal is not None
    (asked,) = server.asked
    assert asked.json().get("stream", False) is is_heard
    assert any(isinstance(each, FieldRead) for each in seen) is is_heard
