"""A batch runs in one pass without savepoints, or in a second with them: with the same effects."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from uuid import uuid4

import pytest

from alfred.engine.action import Action
from alfred.store.address import Address
from tests.job_world import (
    World,
    act,
    application_batch,
    document_batch,
    interview_batch,
    open_job_world,
    reminder_batch,
    requirement_batch,
)

BATCHES = {
    "application": application_batch,
    "document": document_batch,
    "interview": interview_batch,
    "reminder": reminder_batch,
    "requirement": requirement_batch,
}


@pytest.fixture
async def world(database: Address) -> AsyncGenerator[World]:
    async with open_job_world(database) as opened:
        yield opened


def fails_after_writing() -> Action:
    """Make an action that has written a document before it finds that its source is missing."""
    line = {"line": 1, "source_table": "experience", "source_id": str(uuid4())}
    return act(
        "create_document_version",
        title="Letter",
        kind="cover_letter",
        markdown="I have done this before.\n",
        lines=[line],
    )


@pytest.mark.parametrize("name", BATCHES)
async def test_a_failure_further_on_changes_nothing_of_what_the_others_show(
    world: World, name: str
) -> None:
    batch = BATCHES[name]()
    alone = await world.dry_run(*batch)
    beside = await world.dry_run(*batch, fails_after_writing())
    assert [outcome.status for outcome in alone] == ["ready"] * len(batch)
    assert beside[:-1] == alone
    assert beside[-1].status == "refused"


async def test_an_action_that_fails_after_writing_leaves_nothing_and_the_rest_is_written(
    world: World,
) -> None:
    outcomes = await world.commit(fails_after_writing(), *requirement_batch())
    assert [outcome.status for outcome in outcomes] == ["refused", "ready", "ready", "ready"]
    assert len(await world.rows("job_requirement")) == 1
    assert await world.rows("document") == []
    assert await world.rows("document_version") == []


async def test_rows_that_wait_for_each_other_are_found_by_the_next_action(world: World) -> None:
    batch = [*requirement_batch(), act("link_requirement", text="熟悉 Python")]
    batch[-1]["args"]["posting"] = batch[-2]["args"]["posting"]
    outcomes = await world.commit(*batch)
    assert outcomes[-1].effects[0]["operation"] == "none"
    assert batch[-3]["id"] in outcomes[-1].depends_on
    assert len(await world.rows("job_requirement")) == 1


async def test_a_value_that_no_row_can_hold_is_refused_alone(world: World) -> None:
    # A key of three long parts is more than an index row of PostgreSQL takes.
    long = "".join(chr(0x4E00 + number * 7 % 20_000) for number in range(190))
    outcomes = await world.commit(*requirement_batch(), act("upsert_company", name=long))
    assert {outcome.status for outcome in outcomes[:-1]} == {"ready"}
    assert len(await world.rows("job_posting")) == 1


async def test_what_the_batch_wrote_is_found_after_it_has_removed_something_else(
    world: World,
) -> None:
    await world.commit(*requirement_batch())
    (stored,) = await world.rows("job_posting")
    company = act("upsert_company", name="Alder Looms")
    posting = act("upsert_job_posting", title="Weaver", company_name="Alder Looms")
    first = act("link_requirement", text="steady hands", posting=posting)
    removal = act("delete_job_posting", posting=str(stored["id"]))
    again = act("link_requirement", text="steady hands", posting=posting)
    outcomes = await world.commit(company, posting, first, removal, again)
    assert {outcome.status for outcome in outcomes} == {"ready"}
    assert outcomes[-1].effects[0]["operation"] == "none"
    assert [row["text"] for row in await world.rows("job_requirement")] == ["steady hands"]
