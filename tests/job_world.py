"""A user of the job domain for tests, and small batches of each kind of action."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from psycopg import sql

from alfred.engine.action import Action, ActionKind, action_id, reference
from alfred.engine.approvals import Approvals
from alfred.engine.context import RunContext
from alfred.engine.database import Role, Row
from alfred.engine.executor import ActionExecutor, Batch, Outcome
from alfred.engine.journal import ModelJournal
from alfred.engine.language_model import LanguageModel
from alfred.graphs.diagnosis.domain import DOMAIN as DIAGNOSIS
from alfred.graphs.job_domain import DOMAIN
from alfred.installed import load_registry
from alfred.store.address import Address
from alfred.store.pools import Pools

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
KINDS = {kind.name: kind for kind in DOMAIN.kinds}
REGISTRY = load_registry([DOMAIN, DIAGNOSIS])


class World:
    """One user with one message, and the executor that acts for them."""

    def __init__(
        self,
        pools: Pools,
        user_id: UUID,
        message_id: UUID,
        kinds: Mapping[str, ActionKind] = KINDS,
    ) -> None:
        self.pools, self.user_id, self.message_id = pools, user_id, message_id
        self.kinds = kinds
        self.turn_id = uuid4()
        self.executor = ActionExecutor(pools, kinds)

    def batch(self, actions: Sequence[Action], now: datetime = NOW) -> Batch:
        return Batch(user_id=self.user_id, now=now, actions=actions, message_id=self.message_id)

    async def dry_run(self, *actions: Action) -> list[Outcome]:
        return list((await self.executor.dry_run(self.batch(actions))).values())

    async def commit(self, *actions: Action, now: datetime = NOW) -> list[Outcome]:
        async with self.pools.transaction(Role.WRITER, self.user_id) as connection:
            return list((await self.executor.run(connection, self.batch(actions, now))).values())

    async def begin_turn(self, model: LanguageModel, language: str = "en") -> RunContext:
        """Store a turn for the message, and make what its nodes may use."""
        await self.store_turn(self.turn_id, language)
        return self.context(model, language)

    async def store_turn(self, turn_id: UUID, language: str = "en") -> UUID:
        """Store a turn for the message."""
        async with self.pools.transaction(Role.RUNTIME, self.user_id) as connection:
            await connection.execute(
                "INSERT INTO turn"
                " (user_id, id, message_id, state, timezone, language, received_at)"
                " VALUES (%s, %s, %s, 'running', 'UTC', %s, %s)",
                (self.user_id, turn_id, self.message_id, language, NOW),
            )
        return turn_id

    def context(self, model: LanguageModel, language: str = "en") -> RunContext:
        """Make what the nodes of the world's turn may use."""
        return RunContext(
            turn_id=self.turn_id,
            user_id=self.user_id,
            message_id=self.message_id,
            received_at=NOW,
            timezone="UTC",
            language=language,
            database=self.pools,
            open_model=lambda: model,
            journal=ModelJournal(self.pools, self.user_id),
            registry=REGISTRY,
            kinds=self.kinds,
            approvals=Approvals(self.pools, self.executor, clock=lambda: NOW),
            on_progress=lambda _: None,
        )

    async def rows(self, table: str) -> list[Row]:
        query = sql.SQL("SELECT * FROM {} WHERE user_id = %s ORDER BY created_at, id")
        async with self.pools.transaction(Role.READER, self.user_id) as connection:
            cursor = await connection.execute(query.format(sql.Identifier(table)), (self.user_id,))
            return await cursor.fetchall()


@asynccontextmanager
async def open_job_world(database: Address) -> AsyncGenerator[World]:
    """Make a user whom no other test has, with one message."""
    user, thread, message = uuid4(), uuid4(), uuid4()
    async with Pools(database, max_size=4) as pools:
        async with pools.transaction(Role.RUNTIME, user) as connection:
            await connection.execute(
                "INSERT INTO alfred_user (id, name) VALUES (%s, 'Ru')", (user,)
            )
            await connection.execute(
                "INSERT INTO chat_thread (user_id, id) VALUES (%s, %s)", (user, thread)
            )
            await connection.execute(
                "INSERT INTO chat_message"
                " (user_id, id, thread_id, role, modality, text, received_at)"
                " VALUES (%s, %s, %s, 'user', 'text', 'words', %s)",
                (user, message, thread, NOW),
            )
        yield World(pools, user, message)


def act(kind: str, /, **args: Any) -> Action:
    """Make an action; an argument that is an action becomes a reference to it."""
    given = {
        name: reference(value["id"]) if isinstance(value, dict) and "origins" in value else value
        for name, value in args.items()
    }
    return {
        "id": action_id(uuid4(), "test", 0, 0),
        "node": "test",
        "kind": kind,
        "args": given,
        "origins": {},
        "evidence": {},
        "missing": [],
    }


def posting_batch(**more: Any) -> list[Action]:
    company = act("upsert_company", name="Lumen Kites Ltd.")
    args = {"title": "Backend Engineer", "company_name": "Lumen Kites", "location": "香港", **more}
    return [company, act("upsert_job_posting", **args)]


def application_batch(status: str = "applied") -> list[Action]:
    batch = posting_batch()
    return [*batch, act("record_application", posting=batch[-1], status=status)]


def experience_action() -> Action:
    return act(
        "record_experience",
        summary="在青藤科技负责支付系统",
        organization="青藤科技",
        role="后端工程师",
        period="2021 年至今",
        raw_text="我在青藤科技负责支付系统。",
    )


def document_batch() -> list[Action]:
    told = experience_action()
    document = act(
        "create_document_version",
        title="Resume",
        kind="resume",
        markdown="# 简历\n\n- 负责支付系统\n",
        lines=[{"line": 3, "source_table": "experience", "source_id": reference(told["id"])}],
    )
    return [told, document]


def requirement_batch() -> list[Action]:
    batch = posting_batch()
    return [*batch, act("link_requirement", text="熟悉 Python", kind="skill", posting=batch[-1])]


def interview_batch() -> list[Action]:
    batch = application_batch("interviewing")
    starts_at = "2026-03-20T10:00:00+08:00"
    return [*batch, act("schedule_interview", application=batch[-1], starts_at=starts_at)]


def reminder_batch() -> list[Action]:
    batch = posting_batch(deadline="2026-04-01")
    return [
        *batch,
        act("create_reminder", about="Backend Engineer", due_on="2026-03-22", posting=batch[-1]),
    ]
