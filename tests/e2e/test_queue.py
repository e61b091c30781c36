"""The queue without workers: what enters it, who may touch it, and what a lost lease prevents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from procrastinate import App as Queue
from procrastinate import JobContext
from procrastinate.jobs import Job, Status
from psycopg import errors

from alfred.app import App, Ports
from alfred.engine.database import Role
from alfred.errors import QueueRefused, StoreFailed
from alfred.inbox import Inbox
from alfred.installed import load_domains
from alfred.models.scripted import ScriptedModel
from alfred.queue.entrance import (
    MAX_WAITING,
    enrol,
    is_news,
    require_room,
    resume_turn,
)
from alfred.queue.leased_jobs import QUEUE, LeasedJobs, open_queue
from alfred.server.hall import Hall
from alfred.server.run_following import follow_run
from alfred.settings import Settings
from alfred.store.address import Address
from alfred.store.lease import Lease, leased
from alfred.store.pools import Pools
from alfred.worker.sweep import Sweep
from alfred.worker.turn_run import MOST_LOST, TurnRuns
from tests.e2e.test_survival import ANSWER, POSTING
from tests.world import NOON, Clock, capture, look, open_world


@pytest.fixture
def scripted() -> ScriptedModel:
    return ScriptedModel([ANSWER])


def jobs_of(address: Address, app: App) -> list[dict[str, Any]]:
    return look(
        address,
        "SELECT * FROM queue.procrastinate_jobs WHERE args ->> 'user_id' = %s ORDER BY id",
        [str(app.user_id)],
    )


@dataclass
class Taken:
    """A job as a worker has it, and the queue that it was taken through."""

    queue: Queue
    job: Job

    @property
    def jobs(self) -> LeasedJobs:
        assert isinstance(self.queue.job_manager, LeasedJobs)
        return self.queue.job_manager

    @property
    def lease(self) -> Lease:
        assert self.job.id is not None
        assert self.job.worker_id is not None
        return Lease(self.job.id, self.job.worker_id)


@asynccontextmanager
async def take_job(address: Address, turn_id: UUID) -> AsyncGenerator[Taken]:
    """Take the job of a turn, whatever waits before it; hand the others back."""
    queue = open_queue(address)
    async with queue.open_async():
        jobs = queue.job_manager
        worker_id = await jobs.register_worker()
        others: list[Job] = []
        while True:
            job = await jobs.fetch_job([QUEUE], worker_id)
            assert job is not None, "the job waits"
            if job.task_kwargs["turn_id"] == str(turn_id):
                break
            others.append(job)
        for other in others:
            await jobs.retry_job(other)
        yield Taken(queue, job)
        await jobs.finish_job(job, Status.SUCCEEDED, delete_job=True)


async def fall_silent(database: Address, taken: Taken) -> None:
    """Let the worker's heartbeat be an hour old, and another worker notice."""
    with psycopg.connect(database.admin_dsn(), autocommit=True) as outside:
        outside.execute(
            "UPDATE queue.procrastinate_workers SET last_heartbeat = now() - interval '1 hour'"
            " WHERE id = %s",
            (taken.job.worker_id,),
        )
    other = await taken.jobs.register_worker()
    assert await taken.jobs.beat(other, lease_s=600)
    await taken.jobs.unregister_worker(other)


async def test_the_message_and_its_job_are_stored_together_or_not_at_all(
    database: Address, settings: Settings, scripted: ScriptedModel
) -> None:
    async with open_world(database, settings, scripted) as app:
        received = await Inbox(app).post(POSTING.encode())
        (job,) = jobs_of(database, app)
        turn_id = str(received.turn_id)
        assert job["args"] == {"user_id": str(app.user_id), "turn_id": turn_id}
        assert job["queueing_lock"] == turn_id
        with psycopg.connect(database.admin_dsn(), autocommit=True) as outside:
            outside.execute("ALTER TABLE queue.procrastinate_jobs RENAME TO away")
            try:
                with pytest.raises(StoreFailed, match=r"store\.not_migrated"):
                    await Inbox(app).post(b"We are hiring a baker in Leeds.")
            finally:
                outside.execute("ALTER TABLE queue.away RENAME TO procrastinate_jobs")
        assert len(look(database, "SELECT FROM turn WHERE user_id = %s", [app.user_id])) == 1


async def test_the_same_text_posted_twice_under_one_id_is_one_turn_and_one_job(
    database: Address, settings: Settings, scripted: ScriptedModel
) -> None:
    turn_id = uuid4()
    async with open_world(database, settings, scripted) as app:
        for _ in range(2):
            await Inbox(app).post(POSTING.encode(), turn_id=turn_id)
        assert len(jobs_of(database, app)) == 1


async def test_what_cannot_be_read_is_stored_and_waits_for_nobody(
    database: Address, settings: Settings, scripted: ScriptedModel
) -> None:
    async with open_world(database, settings, scripted) as app:
        received = await Inbox(app).post(b"   ")
        assert received.refused is not None
        assert (await app.load_turn(received.turn_id)).state == "failed"
        assert jobs_of(database, app) == []


async def test_a_full_queue_says_so_and_stores_nothing(
    database: Address, settings: Settings, scripted: ScriptedModel
) -> None:
    async with open_world(database, settings, scripted) as app:
        await Inbox(app).post(POSTING.encode())
        with psycopg.connect(database.admin_dsn(), autocommit=True) as outside:
            outside.execute(
                "INSERT INTO queue.procrastinate_jobs (queue_name, task_name, args)"
                " SELECT 'elsewhere', 'run_turn', jsonb_build_object('user_id', %s::text)"
                " FROM generate_series(2, %s)",
                (str(app.user_id), MAX_WAITING),
            )
            with pytest.raises(QueueRefused, match=f"queue.full: {MAX_WAITING} of your texts"):
                await Inbox(app).post(POSTING.encode())
            with pytest.raises(QueueRefused, match=r"queue\.full"):
                await require_room(app.database, app.user_id)
            outside.execute("DELETE FROM queue.procrastinate_jobs WHERE queue_name = 'elsewhere'")
        assert len(look(database, "SELECT FROM turn WHERE user_id = %s", [app.user_id])) == 1


async def test_nobody_enqueues_the_turn_of_another(
    database: Address, settings: Settings, scripted: ScriptedModel
) -> None:
    async with open_world(database, settings, scripted) as app:
        turn_id = (await Inbox(app).post(POSTING.encode())).turn_id
        with pytest.raises(errors.NoDataFound):
            await resume_turn(app.database, uuid4(), turn_id)


@pytest.mark.parametrize(
    ("role", "statement"),
    [
        (Role.READER, "SELECT * FROM queue.procrastinate_jobs"),
        (Role.READER, "SELECT queue.members()"),
        (Role.WRITER, "SELECT * FROM queue.procrastinate_jobs"),
        (Role.WRITER, "SELECT queue.enqueue_turn(NULL, NULL)"),
        (Role.RUNTIME, "UPDATE queue.procrastinate_jobs SET args = '{}'"),
        (Role.RUNTIME, "DELETE FROM queue.procrastinate_workers"),
        (Role.RUNTIME, "SELECT * FROM queue.member"),
        (Role.RUNTIME, "SELECT queue.let_wait(1, now())"),
        (Role.RUNTIME, "SELECT queue.procrastinate_finish_job_v1(1, 'failed', true)"),
    ],
)
def test_a_login_reaches_the_queue_by_the_functions_that_are_meant_for_it_only(
    database: Address, role: Role, statement: str
) -> None:
    with (
        psycopg.connect(database.dsn(role), autocommit=True) as connection,
        pytest.raises(errors.InsufficientPrivilege),
    ):
        connection.execute(statement)  # type: ignore[arg-type]


@pytest.mark.parametrize("role", [Role.RUNTIME, Role.WRITER])
async def test_nothing_is_committed_under_a_lost_lease(
    database: Address, settings: Settings, scripted: ScriptedModel, role: Role
) -> None:
    async with open_world(database, settings, scripted) as app:
        turn_id = (await Inbox(app).post(POSTING.encode())).turn_id

        async def change(value: bool, meanwhile: Callable[[], Awaitable[None]]) -> None:
            async with app.database.transaction(role, app.user_id) as connection:
                query = "UPDATE turn SET resume_due = %s WHERE id = %s"
                await connection.execute(query, (value, turn_id))
                await meanwhile()

        async with take_job(database, turn_id) as taken:
            with leased(taken.lease):
                await change(False, lambda: asyncio.sleep(0))
                with pytest.raises(StoreFailed, match=r"store\.fenced"):
                    await change(True, lambda: fall_silent(database, taken))
        assert not (await app.load_turn(turn_id)).resume_due


async def test_a_whole_run_under_a_lost_lease_leaves_no_proposal(
    database: Address, settings: Settings, scripted: ScriptedModel
) -> None:
    async with open_world(database, settings, scripted) as app:
        turn_id = (await Inbox(app).post(POSTING.encode())).turn_id
        async with take_job(database, turn_id) as taken:
            await fall_silent(database, taken)
            with leased(taken.lease), pytest.raises(StoreFailed, match=r"store\.fenced"):
                await app.continue_turn(turn_id)
        assert look(database, "SELECT FROM proposal WHERE turn_id = %s", [turn_id]) == []
        assert look(database, "SELECT FROM model_call WHERE turn_id = %s", [turn_id]) == []
        assert (await app.load_turn(turn_id)).state == "running"


async def test_a_worker_that_lost_a_job_neither_ends_it_nor_hands_it_back(
    database: Address, settings: Settings, scripted: ScriptedModel
) -> None:
    async with open_world(database, settings, scripted) as app:
        turn_id = (await Inbox(app).post(POSTING.encode())).turn_id
        async with take_job(database, turn_id) as lost:
            await fall_silent(database, lost)
            async with take_job(database, turn_id) as taken:
                assert taken.job.id == lost.job.id
                await lost.jobs.finish_job(lost.job, Status.SUCCEEDED, delete_job=True)
                await lost.jobs.retry_job(lost.job)
                (job,) = jobs_of(database, app)
                assert (job["status"], job["worker_id"]) == ("doing", taken.job.worker_id)
        assert jobs_of(database, app) == []


async def test_a_turn_that_its_workers_die_with_is_given_up(
    database: Address, settings: Settings, scripted: ScriptedModel
) -> None:
    async with open_world(database, settings, scripted) as app:
        turn_id = (await Inbox(app).post(POSTING.encode())).turn_id
        for number in range(MOST_LOST):
            async with take_job(database, turn_id) as taken:
                assert taken.job.task_kwargs.get("lost", 0) == number
                await fall_silent(database, taken)
        async with take_job(database, turn_id) as taken, Pools(database) as pools:
            hall = Hall(settings, load_domains(), pools, Ports(clock=Clock(), model=scripted))
            context = JobContext(
                app=taken.queue, job=taken.job, start_timestamp=0.0, abort_reason=lambda: None
            )
            assert taken.job.task_kwargs["lost"] == MOST_LOST
            run = TurnRuns(hall, follow_run).run
            await run(context, str(app.user_id), str(turn_id), lost=MOST_LOST)
        turn = await app.load_turn(turn_id)
        assert (turn.state, turn.resume_due) == ("failed", False)
        assert f"{MOST_LOST} workers died" in str(turn.problem)
        told = look(database, "SELECT type FROM turn_event WHERE turn_id = %s", [turn_id])
        assert {"RUN_STARTED", "RUN_ERROR"} <= {row["type"] for row in told}


async def test_a_job_handed_back_while_its_turn_waits_again_waits_once(
    database: Address, settings: Settings, scripted: ScriptedModel
) -> None:
    async with open_world(database, settings, scripted) as app:
        turn_id = (await Inbox(app).post(POSTING.encode())).turn_id
        async with take_job(database, turn_id) as taken:
            await resume_turn(app.database, app.user_id, turn_id)
            await taken.jobs.retry_job(taken.job)
            assert [job["status"] for job in jobs_of(database, app)] == ["todo"]


async def test_a_leaseholder_takes_the_turns_lock_from_the_session_of_a_sleeping_worker(
    database: Address, settings: Settings, scripted: ScriptedModel
) -> None:
    async with open_world(database, settings, scripted) as app, Pools(database) as sleeping:
        turn_id = (await Inbox(app).post(POSTING.encode())).turn_id
        async with take_job(database, turn_id) as lost:
            with leased(lost.lease):
                held = sleeping.lock(f"turn/{turn_id}", patience_s=0)
                assert await held.__aenter__()
            await fall_silent(database, lost)
            async with take_job(database, turn_id) as taken:
                with leased(taken.lease):
                    standing = await app.continue_turn(turn_id)
                assert standing is not None
                assert standing.state == "waiting"
            await held.__aexit__(None, None, None)


async def test_a_command_that_continues_turns_is_not_disturbed_by_the_queue_nor_disturbs_it(
    database: Address, settings: Settings, scripted: ScriptedModel
) -> None:
    async with open_world(database, settings, scripted) as app:
        turn_id = (await Inbox(app).post(POSTING.encode())).turn_id
        async with take_job(database, turn_id) as taken, Pools(database) as command:
            async with command.lock(f"turn/{turn_id}", patience_s=0) as is_held:
                assert is_held
                with leased(taken.lease), pytest.raises(StoreFailed, match=r"store\.busy"):
                    await app.continue_turn(turn_id)
            assert [each.state for each in await app.drain()] == ["waiting"]
            with leased(taken.lease):
                assert await app.continue_turn(turn_id) is None
        assert scripted.calls == 1


@asynccontextmanager
async def open_sweep(
    database: Address, settings: Settings, clock: Clock
) -> AsyncGenerator[tuple[Sweep, App]]:
    async with Pools(database) as pools:
        ports = Ports(clock=clock, model=ScriptedModel([ANSWER]))
        hall = Hall(settings, load_domains(), pools, ports)
        yield Sweep(hall), hall.first


async def test_the_sweep_closes_what_expired_and_lets_its_run_continue(
    database: Address, settings: Settings
) -> None:
    clock = Clock()
    async with open_sweep(database, settings, clock) as (sweep, app):
        proposal = await capture(app, POSTING)
        clock.now = NOON + timedelta(days=15)
        await sweep.look_after(app)
        assert (await app.approvals.load(app.user_id, proposal.id)).state == "expired"
        (job,) = jobs_of(database, app)
        assert job["args"]["turn_id"] == str(proposal.turn_id)
        await sweep.look_after(app)
        assert len(jobs_of(database, app)) == 1


async def test_the_sweep_lets_a_turn_wait_that_everybody_forgot_but_not_one_on_its_way(
    database: Address, settings: Settings
) -> None:
    clock = Clock()
    async with open_sweep(database, settings, clock) as (sweep, app):
        turn = await app.keep(POSTING, domain="job")
        assert turn is not None
        await sweep.look_after(app)
        assert jobs_of(database, app) == []
        clock.now = NOON + timedelta(minutes=1)
        await sweep.look_after(app)
        assert [job["args"]["turn_id"] for job in jobs_of(database, app)] == [str(turn.id)]


async def test_a_reminder_that_is_due_is_told_once(database: Address, settings: Settings) -> None:
    clock = Clock()
    async with open_sweep(database, settings, clock) as (sweep, app):
        reminder = uuid4()
        await enrol(app.database, app.user_id)
        async with app.database.transaction(Role.WRITER, app.user_id) as connection:
            await connection.execute(
                "INSERT INTO reminder (user_id, id, subject, about, due_on)"
                " VALUES (%s, %s, 'me', 'Call back', %s)",
                (app.user_id, reminder, (NOON + timedelta(days=1)).date()),
            )
        told = "SELECT body ->> 'id' AS id FROM turn_event WHERE user_id = %s AND type = 'due'"
        await sweep.look_after(app)
        assert look(database, told, [app.user_id]) == []
        clock.now = NOON + timedelta(days=1)
        for _ in range(2):
            await sweep.look_after(app)
        assert look(database, told, [app.user_id]) == [{"id": str(reminder)}]
        day = (NOON + timedelta(days=1)).date()
        assert not await is_news(app.database, app.user_id, reminder, day)
