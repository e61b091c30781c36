"""What docs/privacy.md promises: words go to the chosen model and nowhere else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from langsmith import utils as langsmith_utils

from alfred.settings import Settings
from alfred.store.address import Address
from alfred.testing import ScriptedModel
from tests.conftest import Answer, LocalServer, Reply
from tests.world import open_world

LangSmith = dict[str, str]


@pytest.fixture
def tracing_service(
    serve: Callable[[Answer], LocalServer], monkeypatch: pytest.MonkeyPatch
) -> LocalServer:
    """Set the environment as somebody does who traces another program of theirs."""
    service = serve(lambda _: Reply(status=202, body=b"{}"))
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", "a-key-of-another-program")
    monkeypatch.setenv("LANGSMITH_ENDPOINT", service.url)
    langsmith_utils.get_env_var.cache_clear()
    assert langsmith_utils.tracing_is_enabled()
    return service


async def test_a_run_sends_nothing_to_a_tracing_service_that_the_environment_names(
    tracing_service: LocalServer, database: Address, settings: Settings
) -> None:
    model = ScriptedModel(['{"company": "Kestrel Looms", "title": "Dyer"}'] * 2)
    async with open_world(database, settings, model) as app:
        await app.receive("Kestrel Looms is hiring a Dyer. Requirements: patience.".encode())
        standing = await app.drain()
    flush_tracing()
    assert standing == []
    assert tracing_service.asked == []


def flush_tracing() -> None:
    """Let a client that was made after all send what it holds back."""
    from langchain_core.tracers.langchain import wait_for_all_tracers

    wait_for_all_tracers()
