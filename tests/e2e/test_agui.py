"""A review driven by the AG-UI protocol's own client, with the work done in another process."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import jsonschema_rs
import pytest

from alfred.store.address import Address
from tests.agui_client import Agent, install, open_agent, steps_of, types_of
from tests.served import Served, open_served
from tests.shell import Shell, posting, url_of
from tests.world import count, settings_for

SOURCE, ANSWER = posting("Lumen Kites")
JOB_STEPS = ["dispatch", "extract_job", "capture_experience", "propose", "review"]


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    install()


@asynccontextmanager
async def working(shell: Shell, address: Address) -> AsyncGenerator[None]:
    """Run `alfred worker` beside the server, in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "alfred", "worker"),
        env={**shell.environment, "ALFRED_DATABASE_URL": url_of(address)},
    )
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


@pytest.fixture
async def served(
    served_database: Address,
    tmp_path: Path,
    shell_with: Callable[[dict[str, Any] | str], Shell],
) -> AsyncGenerator[Served]:
    """Serve without a worker in this process, and run one in another."""
    settings = settings_for(tmp_path)
    async with (
        open_served(served_database, settings, has_worker=False) as opened,
        working(shell_with(ANSWER), served_database),
    ):
        yield opened


@asynccontextmanager
async def agent_of(served: Served) -> AsyncGenerator[tuple[Agent, UUID]]:
    user = await served.user()
    token = await served.token(user)
    async with open_agent(f"{served.url}/v1/agui", token, str(uuid4())) as agent:
        yield agent, user.id


async def test_a_review_from_the_words_to_the_rows_by_the_protocols_own_client(
    served: Served, served_database: Address
) -> None:
    async with agent_of(served) as (agent, user_id):
        asked = await agent.run(say=SOURCE, runId="run-1")
        assert asked["error"] is None
        assert asked["events"][0]["type"] == "RUN_STARTED"
        assert asked["events"][0]["runId"] == asked["events"][-1]["runId"] == "run-1"
        assert steps_of(asked) == JOB_STEPS
        company = asked["state"]["fields"]["extract_job"]["/company"]
        assert company["value"] == "Lumen Kites"
        assert company["evidence"]["support"] == "grounded"
        (interrupt,) = asked["interrupts"]
        assert interrupt["id"] == asked["state"]["proposal"]["id"]
        assert not interrupt["isExpired"]
        assert datetime.fromisoformat(interrupt["expiresAt"]).tzinfo is not None
        assert count(served_database, "job_posting", user_id) == 0

        digest = asked["state"]["proposal"]["digest"]
        answer = {"digest": digest, "rest": "approve"}
        jsonschema_rs.validate(interrupt["responseSchema"], answer)
        resumed = await agent.run(resume=[resolved(interrupt, answer)])
        assert resumed["error"] is None
        assert resumed["events"][-1]["outcome"] == {"type": "success"}
        assert resumed["events"][-1]["result"]["outcome"] == "committed"
        assert resumed["state"]["proposal"]["state"] == "committed"
        assert resumed["interrupts"] == []
        assert steps_of(resumed) == ["review", "finish"]
        assert count(served_database, "job_posting", user_id) == 1


async def test_a_run_sent_again_is_the_same_and_an_unfit_answer_decides_nothing(
    served: Served, served_database: Address
) -> None:
    async with agent_of(served) as (agent, user_id):
        first = await agent.run(say=SOURCE, runId="run-1")
        (interrupt,) = first["interrupts"]
        left = await agent.run(resume=[{"interruptId": interrupt["id"], "status": "cancelled"}])
        assert types_of(left) == ["RUN_STARTED", "STATE_DELTA", "RUN_FINISHED"]
        assert [one["id"] for one in left["interrupts"]] == [interrupt["id"]]

        stale = {"digest": "0" * 64, "rest": "approve"}
        refused = await agent.run(resume=[resolved(interrupt, stale)])
        assert "review.changed" in refused["error"]
        unfit = await agent.run(resume=[resolved(interrupt, {"verdicts": {}})])
        assert "request.invalid" in unfit["error"]
        unknown = resolved({"id": str(uuid4())}, stale)
        assert "interrupt" in (await agent.run(resume=[unknown]))["error"].lower()
        assert count(served_database, "receipt", user_id) == 0

        digest = interrupt["metadata"]["digest"]
        some = {"digest": digest, "verdicts": {last_action(interrupt): "reject"}}
        partly = await agent.run(resume=[resolved(interrupt, some)])
        assert partly["error"] is None
        (again,) = partly["interrupts"]
        assert again["id"] == interrupt["id"]
    assert count(served_database, "turn", user_id) == 1


async def test_a_correction_in_words_is_answered_with_a_proposal_in_the_old_ones_place(
    served: Served,
) -> None:
    async with agent_of(served) as (agent, _):
        first = await agent.run(say=SOURCE)
        (interrupt,) = first["interrupts"]
        answer = {"digest": interrupt["metadata"]["digest"], "words": "drop the SQL requirement"}
        jsonschema_rs.validate(interrupt["responseSchema"], answer)
        corrected = await agent.run(resume=[resolved(interrupt, answer)])
        assert corrected["error"] is None
        assert "correct" in steps_of(corrected)
        (again,) = corrected["interrupts"]
        assert again["id"] != interrupt["id"]
        decided = await agent.run(
            resume=[resolved(again, {"digest": again["metadata"]["digest"], "rest": "approve"})]
        )
        assert decided["events"][-1]["result"]["outcome"] == "committed"


async def test_what_cannot_be_read_ends_the_run_with_an_error(served: Served) -> None:
    async with agent_of(served) as (agent, _):
        blank = await agent.run(say="   ")
        assert blank["events"][-1]["type"] == "RUN_ERROR"
        assert "input.empty" in blank["events"][-1]["message"]


def last_action(interrupt: dict[str, Any]) -> str:
    """Take the last action that can be decided: nothing depends on it."""
    decision = interrupt["responseSchema"]["oneOf"][0]
    verdicts = decision["properties"]["verdicts"]["properties"]
    return max(verdicts, key=lambda action: int(verdicts[action]["title"].partition(".")[0]))


def resolved(interrupt: dict[str, Any], payload: dict[str, Any]) -> dict[str, Any]:
    return {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
