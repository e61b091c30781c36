"""What docs/privacy.md promises: words go to the chosen model and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import pytest
from langchain_core.tracers.langchain import wait_for_all_tracers
from langsmith import utils as langsmith_utils

from alfred.settings import Settings
from alfred.store.address import Address
from alfred.testing import ScriptedModel
from tests.world import capture, open_world

if TYPE_CHECKING:
    from tests.conftest import Answer, LocalServer, Reply


@pytest.fixture
def tracing_service(
    serve: Callable[[Answer], LocalServer],
    reply: type[Reply],
    monkeypatch: pytest.MonkeyPatch,
) -> Generator[LocalServer]:
    """Set the environment as somebody does who has another program traced."""
    service = serve(lambda _: reply(status=202, body=b"{}"))
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", "a-key-of-another-program")
    monkeypatch.setenv("LANGSMITH_ENDPOINT", service.url)
    langsmith_utils.get_env_var.cache_clear()
    assert langsmith_utils.tracing_is_enabled()
    yield service
    monkeypatch.undo()
    langsmith_utils.get_env_var.cache_clear()


async def test_a_run_sends_nothing_to_a_tracing_service_that_the_environment_names(
    tracing_service: LocalServer, database: Address, settings: Settings
) -> None:
    model = ScriptedModel(['{"company": "Kestrel Looms", "title": "Dyer"}'])
    async with open_world(database, settings, model) as app:
        await capture(app, "Kestrel Looms is hiring a Dyer. Requirements: patience.")
    wait_for_all_tracers()  # a client that was made after all sends what it holds back
    assert tracing_service.asked == []
