"""The API against its own description: what it says is what is answered, whatever is sent."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from alfred.errors import all_codes
from alfred.server.pace import Pace
from alfred.store.address import Address
from tests.served import Served, approved, open_served, proposed
from tests.world import settings_for

INTERPRETER = Path(sys.prefix) / "schemathesis" / "bin" / "python"
"""An environment of its own, which `make setup` makes beside that of the tests."""
PROGRAM = Path(__file__).parents[1] / "schemathesis_process.py"


@pytest.fixture(scope="module")
async def served(
    served_database: Address, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Served]:
    world = settings_for(tmp_path_factory.mktemp("served"))
    patient = Pace(per_minute=60_000, burst=10_000)
    async with open_served(
        served_database, world, users=patient, strangers=patient, has_worker=True
    ) as opened:
        yield opened


async def document_of(served: Served) -> dict[str, Any]:
    return (await served.bare().get("/v1/openapi.json")).json()


def responses(document: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Walk over every answer that the document names."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for status, answer in operation["responses"].items():
                yield method, path, status, answer


async def test_every_refusal_is_described_as_a_problem_document(served: Served) -> None:
    document = await document_of(served)
    assert document["openapi"].startswith("3.1")
    assert document["components"]["schemas"]["Problem"]["required"]
    described = 0
    for method, path, status, answer in responses(document):
        if status == "default" or int(status) >= 400:
            (kind,) = answer["content"]
            assert kind == "application/problem+json", (method, path, status)
            described += 1
    assert described > 200


async def test_every_address_is_described_in_a_sentence_with_its_answer(served: Served) -> None:
    document = await document_of(served)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["description"].strip(), (method, path)
            good = [status for status in operation["responses"] if status.startswith("2")]
            assert good, (method, path)
            for status in set(good) - {"204"}:
                assert operation["responses"][status]["content"], (method, path)


async def test_whatever_is_sent_the_answers_are_as_described(served: Served) -> None:
    client = await served.client()
    await approved(client, await proposed(client, "Made Up"))
    await proposed(client, "Made Up Two")
    process = await asyncio.create_subprocess_exec(
        *(str(INTERPRETER), str(PROGRAM), served.url),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    order = {
        "document": await document_of(served),
        "authorization": client.headers["Authorization"],
        "codes": sorted(all_codes()),
    }
    told, _ = await process.communicate(json.dumps(order).encode())
    assert process.returncode == 0, told.decode()[-6000:]
    assert int(told.split()[-1]) > 25
    assert (await client.get("/v1/me")).is_success
