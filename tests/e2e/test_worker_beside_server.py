"""The worker that a server brings along: what breaks one run, and whom it looks after."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from alfred.models.scripted import ScriptedModel
from alfred.queue.entrance import enrol, members
from alfred.store.address import Address
from alfred.worker.sweep import Sweep
from tests.served import Served, open_served, post, reading, turn_in
from tests.shell import posting
from tests.world import settings_for


def breaking(request: Any) -> str:
    """Break for one company as a mistake in a model's adapter does; read all others."""
    if "Broken Kites" in request.messages[-1].content:
        raise RuntimeError("the adapter has a mistake")
    return reading(request)


@pytest.fixture
async def served(served_database: Address, tmp_path: Path) -> AsyncGenerator[Served]:
    model = ScriptedModel([breaking] * 20)
    async with open_served(served_database, settings_for(tmp_path), model) as opened:
        yield opened


async def test_a_model_that_breaks_stops_its_turn_and_nothing_else(served: Served) -> None:
    client = await served.client()
    broken = await turn_in(client, await post(client, posting("Broken Kites")[0]), "failed")
    assert broken["problems"][0].startswith("server.failed: ")
    assert "mistake" not in broken["problems"][0]
    read = await turn_in(client, await post(client, posting("Whole Kites")[0]), "waiting")
    assert read["proposal"]


async def test_whoever_never_said_a_word_is_looked_after_all_the_same(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    own = served.hall.first.user_id
    newcomer = await served.user()
    assert newcomer.id not in await members(served.hall.pools)
    await served.browser(newcomer)
    assert {own, newcomer.id} <= set(await members(served.hall.pools))
    with caplog.at_level(logging.INFO, logger="alfred"):
        await Sweep(served.hall).run(0)
    assert [r.getMessage() for r in caplog.records if str(newcomer.id) in r.getMessage()] == []
    assert [r.getMessage() for r in caplog.records if str(own) in r.getMessage()] == []


async def test_a_user_who_is_gone_is_passed_over(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    gone: UUID = uuid4()
    await enrol(served.hall.pools, gone)
    with caplog.at_level(logging.INFO, logger="alfred"):
        await Sweep(served.hall).run(0)
    told = [record for record in caplog.records if str(gone) in record.getMessage()]
    assert [record.levelname for record in told] == ["INFO"]
