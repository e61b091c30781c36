"""Streams of events: resumed where they were cut off, heard from any process, bounded."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest

from alfred.app import App
from alfred.engine.context import NodeStep, Told
from alfred.engine.database import Connection, Database, Role
from alfred.engine.turn_event import tell_due, write_events
from alfred.server import event_stream
from alfred.server.agui_events import told as told_text
from alfred.server.hall import UserRow
from alfred.server.run_following import Follower, follow_run
from alfred.store.address import Address
from tests.diagnosis_turns import open_turns
from tests.served import Served, open_served, post, turn_in, until
from tests.shell import posting
from tests.world import look, settings_for

SOURCE = posting("Lumen Kites")[0]


@pytest.fixture(scope="module")
async def served(
    served_database: Address, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Served]:
    home: Path = tmp_path_factory.mktemp("events")
    async with open_served(served_database, settings_for(home)) as opened:
        yield opened


class Heard:
    """Server-sent events as they come over a real connection."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines = answer.aiter_lines()

    async def next(self) -> tuple[int, dict[str, Any]]:
        """Wait for the next event: its id, and what it says."""
        place, said = 0, dict[str, Any]()
        async with asyncio.timeout(60):
            async for line in self._lines:
                name, _, value = line.partition(": ")
                if name == "id":
                    place = int(value)
                if name == "data":
                    said = json.loads(value)
                if not line and place:
                    return place, said
        raise AssertionError("the stream ended")

    async def rest(self) -> AsyncGenerator[str]:
        """Give what comes until the server ends the stream."""
        async for line in self._lines:
            yield line

    async def until(self, kind: str) -> list[tuple[int, dict[str, Any]]]:
        """Take events up to the first of a type."""
        found = [await self.next()]
        while found[-1][1]["type"] != kind:
            found.append(await self.next())
        return found


@asynccontextmanager
async def hearing(
    client: httpx.AsyncClient, path: str, *, after: int | None = None
) -> AsyncGenerator[Heard]:
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    async with client.stream("GET", path, headers=headers, timeout=60) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield Heard(answer)


async def test_a_stream_that_was_cut_off_goes_on_behind_its_last_event(served: Served) -> None:
    client = await served.client()
    turn = await post(client, SOURCE)
    async with hearing(client, f"/v1/turns/{turn}/events") as heard:
        whole = await heard.until("RUN_FINISHED")
    types = [said["type"] for _, said in whole]
    assert types[:2] == ["RUN_STARTED", "STATE_SNAPSHOT"]
    assert {"STEP_STARTED", "STATE_DELTA", "STEP_FINISHED"} <= set(types)
    cut = len(whole) // 2
    async with hearing(client, f"/v1/turns/{turn}/events", after=whole[cut][0]) as heard:
        assert await heard.until("RUN_FINISHED") == whole[cut + 1 :]


async def test_a_turn_at_its_end_has_nothing_more_to_tell(served: Served) -> None:
    client = await served.client()
    turn = await post(client, SOURCE)
    waiting = await turn_in(client, turn, "waiting")
    shown = (await client.get(f"/v1/proposals/{waiting['proposal']}")).json()
    await client.post(
        f"/v1/proposals/{shown['proposal']}/decide",
        json={"digest": shown["digest"], "rest": "reject"},
    )
    async with hearing(client, f"/v1/turns/{turn}/events") as heard:
        first = await heard.until("RUN_FINISHED")
        second = await heard.until("RUN_FINISHED")
        assert first[-1][1]["outcome"]["type"] == "interrupt"
        assert second[0][1]["type"] == "RUN_STARTED"
        assert second[-1][1]["outcome"]["type"] == "success"
        async for line in heard.rest():
            assert not line.startswith("data")
    over = await client.get(
        f"/v1/turns/{turn}/events", headers={"Last-Event-ID": str(second[-1][0])}
    )
    assert over.status_code == 204


async def test_a_users_pages_hear_of_what_any_process_changes(served: Served) -> None:
    user, other = await served.user(), await served.user()
    client, stranger = await served.client(user), await served.client(other)
    async with hearing(client, "/v1/events") as heard, hearing(stranger, "/v1/events") as nothing:
        await listened(served, user, other)
        turn = await post(client, SOURCE)
        assert (await heard.next())[1] == {"type": "turn", "id": turn, "state": "running"}
        (_, proposal), (place, waiting) = await heard.next(), await heard.next()
        assert (proposal["type"], proposal["state"]) == ("proposal", "pending")
        assert waiting == {"type": "turn", "id": turn, "state": "waiting"}
        reminder = uuid4()
        await tell_due(served.hall.pools, user.id, reminder)
        due = {"type": "due", "id": str(reminder), "state": "due"}
        assert (await heard.next())[1] == due
        own = await post(stranger, SOURCE)
        assert (await nothing.next())[1]["id"] == own, "a stranger's change was told"
    assert (await stranger.get(f"/v1/turns/{turn}/events")).status_code == 404
    async with hearing(client, "/v1/events", after=place) as heard:
        told = [(await heard.next())[1]]
        while told[-1] != due:  # what is little older may come twice
            told.append((await heard.next())[1])


async def listened(served: Served, *users: UserRow) -> None:
    async def ask() -> bool:
        return all(served.hall.bell.listeners(user.id) for user in users)

    await until(ask, "the streams listen")


async def test_a_listening_connection_that_is_lost_is_opened_again(
    served: Served, served_database: Address
) -> None:
    user = await served.user()
    client = await served.client(user)
    listening = (
        "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN %%' OR query = 'SELECT 1'"
    )
    async with hearing(client, "/v1/events") as heard:

        async def ask() -> list[dict[str, Any]]:
            return look(served_database, listening)

        for row in await until(ask, "a connection listens"):
            look(served_database, "SELECT pg_terminate_backend(%s)", [row["pid"]])
        await tell_due(served.hall.pools, user.id, uuid4())
        assert (await heard.next())[1]["type"] == "due"


async def test_a_client_that_vanishes_is_noticed(served: Served) -> None:
    user = await served.user()
    client = await served.client(user)
    async with hearing(client, "/v1/events"):
        await listened(served, user)
    await forgotten(served, user)


async def forgotten(served: Served, user: UserRow) -> None:
    async def ask() -> bool:
        return served.hall.bell.listeners(user.id) == 0

    await until(ask, "nobody listens any more")


async def test_a_client_that_takes_nothing_is_left(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "SLOW_S", 1.0)
    user = await served.user()
    client = await served.client(user)
    turn = await post(client, SOURCE)
    await turn_in(client, turn, "waiting")
    for _ in range(10):
        large = [("CUSTOM", {"type": "CUSTOM", "name": "progress", "value": "x" * 100_000})] * 10
        await write_events(served.hall.pools, user.id, UUID(turn), large)
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        slow.connect(("127.0.0.1", int(served.url.rpartition(":")[2])))
        head = f"GET /v1/turns/{turn}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        slow.sendall(f"{head}Authorization: {client.headers['authorization']}\r\n\r\n".encode())
        await listened(served, user)
        await forgotten(served, user)


async def test_one_stream_too_many_is_refused(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "MAX_STREAMS", 1)
    user = await served.user()
    client = await served.client(user)
    async with hearing(client, "/v1/events"):
        await listened(served, user)
        refused = await client.get("/v1/events")
        assert refused.status_code == 429
        assert refused.json()["code"] == "request.too_many"
        assert int(refused.headers["retry-after"]) > 0


async def test_of_many_streams_that_begin_at_once_no_more_than_may_be_are_open(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "MAX_STREAMS", 3)
    user = await served.user()
    client = await served.client(user)

    async def begin() -> int:
        async with client.stream("GET", "/v1/events") as answer:
            if answer.status_code == 200:
                await answered.wait()
            return answer.status_code

    answered = asyncio.Event()
    going = [asyncio.create_task(begin()) for _ in range(12)]

    async def are_refused() -> bool:
        return sum(each.done() for each in going) == 9

    await until(are_refused, "all but three are refused")
    answered.set()
    assert sorted(await asyncio.gather(*going)) == [200] * 3 + [429] * 9
    await forgotten(served, user)
    async with hearing(client, "/v1/events"):
        pass


async def test_a_run_that_is_left_when_the_server_ends_is_not_told_as_finished(
    served_database: Address, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path)
    async with open_served(served_database, settings, has_worker=False) as served:
        user = await served.user()
        client = await served.client(user)
        words = {"id": "1", "role": "user", "content": SOURCE}
        asked: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": [words]}
        asked |= {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
        async with client.stream("POST", "/v1/agui", json=asked) as answer:
            assert answer.status_code == 200
            await listened(served, user)
            served.hall.bell.close()
            lines = [line async for line in answer.aiter_lines() if line.startswith("data")]
    told = [json.loads(line.removeprefix("data: ")) for line in lines]
    assert [said["type"] for said in told] == ["RUN_STARTED", "RUN_ERROR"]
    assert told[-1]["code"] == "events.left"


async def test_events_are_forgotten_with_a_later_message(
    served: Served, served_database: Address
) -> None:
    user = await served.user()
    client = await served.client(user)
    await turn_in(client, await post(client, SOURCE), "waiting")
    old = "UPDATE turn_event SET at = now() - interval '3 days' WHERE user_id = %s"
    with psycopg.connect(served_database.admin_dsn()) as outside:
        assert outside.execute(old, [user.id]).rowcount > 10
    later = await post(client, SOURCE)
    left = look(
        served_database, "SELECT DISTINCT turn_id FROM turn_event WHERE user_id = %s", [user.id]
    )
    assert [str(row["turn_id"]) for row in left] == [later]


async def test_a_run_that_is_taken_over_goes_on_as_the_same_run(
    served_database: Address, tmp_path: Path
) -> None:
    async with open_served(served_database, settings_for(tmp_path), has_worker=False) as served:
        user = await served.user()
        client, app = await served.client(user), served.hall.app_of(user)
        turn = await app.keep(SOURCE, domain="job")  # not in the queue: this test runs it
        assert turn is not None
        turn_id = turn.id
        cut_off = Follower(app.database, turn)
        await cut_off.begin(None)
        cut_off(NodeStep(node="dispatch", state="started"))
        await cut_off.flush()
        async with follow_run(app, turn_id) as sink:
            await app.continue_turn(turn_id, on_progress=sink)
        async with hearing(client, f"/v1/turns/{turn_id}/events") as heard:
            told = [said for _, said in await heard.until("RUN_FINISHED")]
    assert [said["type"] for said in told].count("RUN_STARTED") == 1
    assert told[0]["runId"] == told[-1]["runId"]
    assert_steps_are_balanced(told)


@dataclass
class LateDatabase:
    """A database whose answer to a commit comes late."""

    inner: Database
    committed: asyncio.Event

    @asynccontextmanager
    async def transaction(
        self, role: Role, user_id: UUID, *, rollback: bool = False
    ) -> AsyncGenerator[Connection]:
        async with self.inner.transaction(role, user_id, rollback=rollback) as connection:
            yield connection
        self.committed.set()
        await asyncio.sleep(0.3)


async def test_what_is_stored_while_a_run_ends_is_told_once(
    served_database: Address, tmp_path: Path
) -> None:
    async with open_served(served_database, settings_for(tmp_path), has_worker=False) as served:
        user = await served.user()
        client, app = await served.client(user), served.hall.app_of(user)
        turn = await app.keep(SOURCE, domain="job")
        assert turn is not None
        late = LateDatabase(app.database, asyncio.Event())
        follower = Follower(late, turn)
        await follower.begin(None)
        late.committed.clear()
        writing = asyncio.create_task(follower.write())
        follower(NodeStep(node="dispatch", state="started"))
        await late.committed.wait()
        await follower.leave(writing)
        follower(NodeStep(node="dispatch", state="finished"))
        await follower.flush()
        async with hearing(client, f"/v1/turns/{turn.id}/events") as heard:
            told = [said for _, said in await heard.until("STEP_FINISHED")]
    assert [said["type"] for said in told].count("STEP_STARTED") == 1
    assert_steps_are_balanced(told)


def assert_steps_are_balanced(told: list[dict[str, Any]]) -> None:
    going: set[str] = set()
    for said in told:
        if said["type"] == "STEP_STARTED":
            assert said["stepName"] not in going
            going.add(said["stepName"])
        elif said["type"] == "STEP_FINISHED":
            going.remove(said["stepName"])
    assert not going


async def test_a_field_with_characters_that_no_database_holds_is_told_all_the_same(
    served: Served,
) -> None:
    user = await served.user()
    client, app = await served.client(user), served.hall.app_of(user)
    turn_id = UUID(await post(client, SOURCE))
    await turn_in(client, str(turn_id), "waiting")
    await write_events(app.database, user.id, turn_id, [told_text("a\0b\ud800c")])
    async with hearing(client, f"/v1/turns/{turn_id}/events") as heard:
        await heard.until("RUN_FINISHED")
        assert (await heard.next())[1]["value"]["text"] == "a\ufffdb?c"


async def test_each_node_of_the_machine_inside_a_step_is_told(
    database: Address, tmp_path: Path
) -> None:
    seen: list[Told] = []
    async with open_turns(database, tmp_path) as turns:
        app: App = turns.app
        turn = await app.keep(turns.question, domain="diagnosis")
        assert turn is not None
        await app.continue_turn(turn.id, on_progress=seen.append)
    steps = [(step.node, step.state) for step in seen if isinstance(step, NodeStep)]
    machine = ["planner", "executor", "gatekeeper", "verified_input", "verifier", "composer"]
    inside = [node for node, state in steps if state == "finished" and node in machine]
    assert inside == machine
    for node in ("dispatch", "diagnose", *machine, "incident_note", "propose"):
        assert steps.index((node, "started")) < steps.index((node, "finished"))
    assert steps.index(("diagnose", "finished")) > steps.index(("composer", "finished"))
