"""The journal of model calls: what was asked in a turn is answered from here the second time."""

from __future__ import annotations

from uuid import UUID

from psycopg.types.json import Jsonb

from alfred.engine.context import Journal, JournalKey
from alfred.engine.database import Database, Role, Row
from alfred.engine.language_model import Completion, Usage


class ModelJournal:
    """Stores completions under (turn, node instance, attempt, ordinal, request digest)."""

    def __init__(self, database: Database, user_id: UUID) -> None:
        self._database = database
        self._user_id = user_id

    async def recall(self, call: JournalKey) -> Completion | None:
        """Return the answer that an earlier run of this turn got to the same request."""
        async with self._database.transaction(Role.RUNTIME, self._user_id) as connection:
            cursor = await connection.execute(
                "SELECT text, finish_reason, usage, milliseconds FROM model_call WHERE turn_id = %s"
                " AND instance = %s AND attempt = %s AND ordinal = %s AND request_digest = %s",
                (call.turn_id, call.instance, call.attempt, call.ordinal, call.request_digest),
            )
            row = await cursor.fetchone()
        return None if row is None else _completion(row)

    async def answers(self, request_digest: str) -> list[Completion]:
        """Return what any turn of the user was answered to the same request, the newest first."""
        async with self._database.transaction(Role.RUNTIME, self._user_id) as connection:
            cursor = await connection.execute(
                "SELECT text, finish_reason, usage, milliseconds FROM model_call"
                " WHERE request_digest = %s ORDER BY at DESC LIMIT 3",
                (request_digest,),
            )
            return [_completion(row) for row in await cursor.fetchall()]

    async def record(self, call: JournalKey, completion: Completion) -> None:
        """Write an answer down; of two that race, the first stays."""
        usage = completion.usage
        counted = {
            "prompt_tokens": usage.prompt_tokens,
            "cached_tokens": usage.cached_tokens,
            "completion_tokens": usage.completion_tokens,
        }
        # A model may write what PostgreSQL cannot hold; the parser refuses such text anyway.
        text = completion.text.replace("\x00", "\ufffd")
        async with self._database.transaction(Role.RUNTIME, self._user_id) as connection:
            await connection.execute(
                "INSERT INTO model_call (user_id, turn_id, instance, attempt, ordinal,"
                " request_digest, model, text, finish_reason, usage, milliseconds)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
                (
                    *(self._user_id, call.turn_id, call.instance, call.attempt, call.ordinal),
                    *(call.request_digest, call.model),
                    text.encode("utf-8", "replace").decode(),
                    *(completion.finish_reason, Jsonb(counted), int(completion.seconds * 1000)),
                ),
            )


class NewTurnJournal:
    """The journal of a turn that has just begun: it knows what it holds without looking.

    Only whoever holds the turn's lock may use it.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._recorded: dict[JournalKey, Completion] = {}

    async def recall(self, call: JournalKey) -> Completion | None:
        """Return the answer that this run got to the same request."""
        return self._recorded.get(call)

    async def record(self, call: JournalKey, completion: Completion) -> None:
        """Write an answer down; of two that race, the first stays."""
        await self._journal.record(call, completion)
        self._recorded.setdefault(call, completion)

    async def answers(self, request_digest: str) -> list[Completion]:
        """Return what any turn of the user was answered to the same request, the newest first."""
        return await self._journal.answers(request_digest)


def _completion(row: Row) -> Completion:
    return Completion(
        text=row["text"],
        finish_reason=row["finish_reason"],
        usage=Usage(**row["usage"]),
        seconds=row["milliseconds"] / 1000,
    )
