"""Workers in processes of their own: killed, stopped, woken, told to go; nothing twice or lost."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

import pytest

from alfred.app import user_id_of
from alfred.inbox import Inbox
from alfred.installed import load_domains
from alfred.models.scripted import ScriptedModel
from alfred.settings import Settings
from alfred.store.address import Address
from alfred.store.migrate import migrate
from tests.conftest import Answer, Asked, LocalServer, Reply
from tests.e2e.test_survival import ANSWER, POSTING, child, hear, plain
from tests.postgres import short_home, start_test_server
from tests.shell import completion, url_of
from tests.world import count, look, open_world

PATIENCE_S = 180.0
"""A busy machine, and the minute after which the server ends a sleeper's transaction."""
TAKEN_OVER_S = 30.0
"""Six of them are the lease of these workers."""
Worker = subprocess.Popen[str]


class Start(Protocol):
    """Starts a worker; one without a pulse never learns that it was taken for dead."""

    def __call__(self, *, has_pulse: bool = True) -> AbstractContextManager[Worker]: ...


@pytest.fixture(scope="module")
def queue_database() -> Generator[Address]:
    """A server of its own: workers would look after the users of other tests, too."""
    with short_home() as home:
        address = start_test_server(home)
        migrate(address, load_domains())
        yield address


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """Name the file that lets the models of the test's workers answer, once it is there."""
    return tmp_path / "released"


@pytest.fixture
def start(queue_database: Address, released: Path, settings: Settings) -> Start:
    """Start workers, whose models wait for the file."""

    def begin(*, has_pulse: bool = True) -> AbstractContextManager[Worker]:
        order = {
            "address": plain(queue_database),
            "user": settings.user,
            "answer": ANSWER,
            "released": str(released),
            "has_pulse": has_pulse,
        }
        return child(order, "tests.worker_process")

    return begin


def hear_until(worker: Worker, word: str) -> None:
    while hear(worker) != word:
        pass


def wait_for(found: Callable[[], Any], what: str) -> Any:
    give_up_at = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_at:
        if seen := found():
            return seen
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {PATIENCE_S:.0f} s")


def turn_of(address: Address, turn_id: UUID) -> dict[str, Any]:
    return look(address, "SELECT * FROM turn WHERE id = %s", [turn_id])[0]


def wait_for_state(address: Address, turn_id: UUID, state: str) -> None:
    def is_there() -> bool:
        turn = turn_of(address, turn_id)
        assert turn["state"] != "failed", turn["problem"]
        return turn["state"] == state

    wait_for(is_there, f"the turn is {state}")


def jobs(address: Address, settings: Settings) -> list[dict[str, Any]]:
    """Read the jobs of the test's user; workers that were killed have left others behind."""
    return look(
        address,
        "SELECT * FROM queue.procrastinate_jobs"
        " WHERE task_name = 'run_turn' AND args ->> 'user_id' = %s ORDER BY id",
        [str(user_id_of(settings.user))],
    )


async def post(address: Address, settings: Settings, text: str = POSTING) -> UUID:
    async with open_world(address, settings, ScriptedModel([])) as app:
        return (await Inbox(app).post(text.encode())).turn_id


async def test_a_posted_text_is_read_decided_and_written_with_a_worker_in_between(
    queue_database: Address,
    settings: Settings,
    released: Path,
    start: Start,
) -> None:
    released.touch()
    with start() as worker:
        hear_until(worker, "ready")
        async with open_world(queue_database, settings, ScriptedModel([])) as app:
            turn_id = (await Inbox(app).post(POSTING.encode())).turn_id
            wait_for_state(queue_database, turn_id, "waiting")
            (row,) = look(queue_database, "SELECT id FROM proposal WHERE turn_id = %s", [turn_id])
            proposal = await app.approvals.load(app.user_id, row["id"])
            verdicts = {action.id: "approve" for action in proposal.actions}
            decided = await Inbox(app).decide(proposal.id, verdicts, seen=proposal.digest)
            assert decided.state == "committed"
            wait_for_state(queue_database, turn_id, "done")
            assert count(queue_database, "job_posting", app.user_id) == 1
    wait_for(lambda: not jobs(queue_database, settings), "the jobs are gone")


async def test_the_job_of_a_killed_worker_is_taken_over_within_seconds(
    queue_database: Address,
    settings: Settings,
    released: Path,
    start: Start,
) -> None:
    with start() as first:
        hear_until(first, "ready")
        turn_id = await post(queue_database, settings)
        hear_until(first, "asked")
        with start() as second:
            hear_until(second, "ready")
            first.kill()
            killed_at = time.monotonic()
            hear_until(second, "asked")
            assert time.monotonic() - killed_at < TAKEN_OVER_S
            released.touch()
            wait_for_state(queue_database, turn_id, "waiting")
    assert len(look(queue_database, "SELECT FROM proposal WHERE turn_id = %s", [turn_id])) == 1


async def test_a_worker_that_wakes_after_another_finished_its_run_writes_nothing(
    queue_database: Address,
    settings: Settings,
    released: Path,
    start: Start,
) -> None:
    with start(has_pulse=False) as sleeper:
        hear_until(sleeper, "ready")
        turn_id = await post(queue_database, settings)
        hear_until(sleeper, "asked")
        os.kill(sleeper.pid, signal.SIGSTOP)
        with start() as other:
            hear_until(other, "asked")  # the lease ran out, and the sleeper's lock went with it
            released.touch()
            wait_for_state(queue_database, turn_id, "waiting")
            wait_for(lambda: not jobs(queue_database, settings), "the job is done")
            before = _written(queue_database, turn_id)
            os.kill(sleeper.pid, signal.SIGCONT)
            hear_until(sleeper, "answers")  # from here on it would write
            time.sleep(4)
            assert _written(queue_database, turn_id) == before


async def test_a_worker_that_wakes_begins_anew(
    queue_database: Address,
    settings: Settings,
    released: Path,
    start: Start,
) -> None:
    with start() as first, start() as second:
        hear_until(first, "ready")
        hear_until(second, "ready")
        turn_id = await post(queue_database, settings)
        doing = wait_for(
            lambda: [j for j in jobs(queue_database, settings) if j["worker_id"]], "a worker"
        )
        slow, quick = (first, second) if _asked(first, second) is first else (second, first)
        os.kill(slow.pid, signal.SIGSTOP)
        hear_until(quick, "asked")  # the lease ran out, and the lock of the sleeper with it
        released.touch()
        wait_for_state(queue_database, turn_id, "waiting")
        before = _written(queue_database, turn_id)
        assert [job for job in jobs(queue_database, settings) if job["id"] == doing[0]["id"]] == []
        os.kill(slow.pid, signal.SIGCONT)
        time.sleep(3)
        assert _written(queue_database, turn_id) == before
        # It has begun anew, and works.
        os.kill(quick.pid, signal.SIGTERM)
        hear_until(quick, "stopped")
        again = await post(queue_database, settings, POSTING.replace("Graz", "Linz"))
        wait_for_state(queue_database, again, "waiting")


def _asked(first: Worker, second: Worker) -> Worker:
    assert first.stdout is not None
    assert second.stdout is not None
    readable, _, _ = select.select([first.stdout, second.stdout], [], [], PATIENCE_S)
    return first if first.stdout in readable else second


def _written(address: Address, turn_id: UUID) -> Any:
    """Everything that a run writes of a turn, with the transaction that wrote it last."""
    return {
        table: look(
            address,
            f"SELECT xmin::text, * FROM {table} WHERE turn_id = %s ORDER BY 1",
            [turn_id],
        )
        for table in ("proposal", "model_call", "trace_event")
    } | {"turn": look(address, "SELECT xmin::text, * FROM turn WHERE id = %s", [turn_id])}


async def test_a_worker_that_is_told_to_stop_hands_its_run_back_at_once(
    queue_database: Address,
    settings: Settings,
    released: Path,
    start: Start,
) -> None:
    with start() as worker:
        hear_until(worker, "ready")
        turn_id = await post(queue_database, settings)
        hear_until(worker, "asked")
        worker.terminate()
        hear_until(worker, "stopped")
        assert worker.wait() == 0
    (job,) = jobs(queue_database, settings)
    assert (job["status"], job["worker_id"]) == ("todo", None)
    released.touch()
    with start():
        wait_for_state(queue_database, turn_id, "waiting")


async def test_one_run_at_a_time_goes_on_in_a_conversation(
    queue_database: Address,
    settings: Settings,
    released: Path,
    start: Start,
) -> None:
    with start() as worker:
        hear_until(worker, "ready")
        first = await post(queue_database, settings)
        second = await post(queue_database, settings, POSTING.replace("Graz", "Linz"))
        hear_until(worker, "asked")
        time.sleep(1)
        assert [job["status"] for job in jobs(queue_database, settings)] == ["doing", "todo"]
        released.touch()
        wait_for_state(queue_database, first, "waiting")
        wait_for_state(queue_database, second, "waiting")


async def test_the_command_works_until_it_is_told_to_stop(
    queue_database: Address,
    settings: Settings,
    tmp_path: Path,
    serve: Callable[[Answer], LocalServer],
) -> None:
    def reply(_: Asked) -> Reply:
        return Reply(kind="text/event-stream", body=completion(ANSWER))

    kept = {name: value for name, value in os.environ.items() if not name.startswith("ALFRED_")}
    given = {
        "ALFRED_HOME": str(tmp_path),
        "ALFRED_DATABASE_URL": url_of(queue_database),
        "ALFRED_MODEL": f"{serve(reply).url}/v1#scripted",
        "ALFRED_USER": settings.user,
    }
    turn_id = await post(queue_database, settings)
    with subprocess.Popen(
        [sys.executable, "-m", "alfred", "worker", "--at-once", "2"],
        env={**kept, **given},
        stderr=subprocess.PIPE,
        text=True,
    ) as worker:
        wait_for_state(queue_database, turn_id, "waiting")
        worker.terminate()
        _, said = worker.communicate(timeout=PATIENCE_S)
    assert worker.returncode == 0
    assert said.splitlines() == ["Waiting for turns to run.", "Stopped."]
    # What its run told is there for pages that another process serves.
    told = look(
        queue_database,
        "SELECT type FROM turn_event WHERE turn_id = %s AND type LIKE 'RUN_%%' ORDER BY seq",
        [turn_id],
    )
    assert [row["type"] for row in told] == ["RUN_STARTED", "RUN_FINISHED"]


async def test_jobs_hold_ids_only(queue_database: Address, settings: Settings) -> None:
    turn_id = await post(queue_database, settings)
    (job,) = jobs(queue_database, settings)
    assert job["args"] == {"user_id": str(user_id_of(settings.user)), "turn_id": str(turn_id)}
