"""Stands where a database and a journal are, for runs that read their case and nothing else."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from uuid import UUID

from alfred.engine.context import JournalKey
from alfred.engine.database import Connection, Role
from alfred.engine.language_model import Completion
from alfred.errors import EvaluationRefused


class NoJournal:
    """Remembers nothing: every call is to be counted."""

    async def recall(self, call: JournalKey) -> Completion | None:
        return None

    async def record(self, call: JournalKey, completion: Completion) -> None:
        return None

    async def answers(self, request_digest: str) -> list[Completion]:
        return []


class NoDatabase:
    """Refuses every transaction in the name of what is measured."""

    def __init__(self, measured: str) -> None:
        self._measured = measured

    def transaction(
        self, role: Role, user_id: UUID, *, rollback: bool = False
    ) -> AbstractAsyncContextManager[Connection]:
        raise EvaluationRefused(
            "eval.database",
            f"{self._measured} reads stored rows, which a case does not have.",
            hint="Only nodes that read their input alone can be measured.",
        )
