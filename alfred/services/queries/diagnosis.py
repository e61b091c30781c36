"""What diagnoses recorded: runs, calls of tools, facts, steps, ends, alerts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Select, exists, func, select

from alfred.engine.database import Connection, Row
from alfred.engine.orchestration_event import OrchestrationEvent, make_event
from alfred.probes.tool_call import ToolCall
from alfred.store.reading import Place, behind, rows
from alfred.store.tables.diagnosis import (
    ALERT_INTAKE,
    DIAGNOSIS_CALL,
    DIAGNOSIS_CANCEL,
    DIAGNOSIS_END,
    DIAGNOSIS_EVENT,
    DIAGNOSIS_FACT,
    DIAGNOSIS_RUN,
)

_RUN = DIAGNOSIS_RUN.c
_END = DIAGNOSIS_END.c
_IS_CANCELLED = exists().where(
    DIAGNOSIS_CANCEL.c.user_id == _RUN.user_id, DIAGNOSIS_CANCEL.c.run_id == _RUN.id
)


async def load_run(connection: Connection, run_id: UUID) -> Row | None:
    """Read what a run was asked, and how it ended if it did.

    Shapes: id, question, language, origin, scope, window_start, window_end, as_of, previous_id,
    began_at, is_cancelled; terminal_reason, finding, verdict, ended_at are None while it is open.
    """
    return _first(await rows(connection, _runs().where(_RUN.id == run_id)))


async def list_runs(
    connection: Connection, *, after: Place | None = None, limit: int = 50
) -> list[Row]:
    """List runs, the newest first, behind a place; shapes as `load_run`."""
    statement = _runs().order_by(_RUN.began_at.desc(), _RUN.id)
    if after is not None:
        statement = statement.where(behind(_RUN.began_at, _RUN.id, after))
    return await rows(connection, statement.limit(limit))


async def find_open_runs(connection: Connection) -> list[Row]:
    """List the runs that began and have no end, the oldest first; shapes as `load_run`."""
    is_open = _END.id.is_(None)
    statement = _runs().where(is_open).order_by(_RUN.began_at, _RUN.created_at, _RUN.id)
    return await rows(connection, statement)


async def latest_run(connection: Connection, *, now: datetime, hours: float) -> Row | None:
    """Read the newest run of the last hours, which a follow-up would continue.

    Shapes: as `load_run`.
    """
    recent = _RUN.began_at.between(now - timedelta(hours=hours), now)
    statement = _runs().where(recent).order_by(_RUN.began_at.desc(), _RUN.created_at.desc())
    return _first(await rows(connection, statement.limit(1)))


async def load_calls(connection: Connection, run_id: UUID) -> list[ToolCall]:
    """Read a run's calls of tools as they were made, in the order of their ids."""
    table = DIAGNOSIS_CALL.c
    found = await rows(
        connection,
        select(DIAGNOSIS_CALL)
        .where(table.run_id == run_id)
        .order_by(*_numbered(table.evidence_id)),
    )
    return [cast("ToolCall", _call(row)) for row in found]


async def load_facts(connection: Connection, run_id: UUID) -> list[Row]:
    """Read a run's facts, those of the first round first.

    Shapes: round, id ("F1"), fact, role, verification, reason, evidence (ids of calls),
    unsupported.
    """
    table = DIAGNOSIS_FACT.c
    return await rows(
        connection,
        select(
            table.round,
            table.fact_id.label("id"),
            *(table.fact, table.role, table.verification, table.reason),
            *(table.evidence, table.unsupported),
        )
        .where(table.run_id == run_id)
        .order_by(table.round, *_numbered(table.fact_id)),
    )


async def load_events(connection: Connection, run_id: UUID) -> list[OrchestrationEvent]:
    """Read the executions of the machine's steps, in order."""
    table = DIAGNOSIS_EVENT.c
    found = await rows(
        connection,
        select(table.node, table.outcome, table.reason, table.attempt)
        .where(table.run_id == run_id)
        .order_by(table.ordinal),
    )
    return [make_event(r["node"], r["outcome"], r["reason"], r["attempt"]) for r in found]


async def load_end(connection: Connection, run_id: UUID) -> Row | None:
    """Read how a run ended.

    Shapes: terminal_reason, finding, verdict, answer, trace, calls, prompt_tokens,
    completion_tokens, milliseconds, ended_at.
    """
    statement = select(
        *(_END.terminal_reason, _END.finding, _END.verdict, _END.answer, _END.trace),
        *(_END.calls, _END.prompt_tokens, _END.completion_tokens, _END.milliseconds),
        _END.ended_at,
    )
    return _first(await rows(connection, statement.where(_END.run_id == run_id)))


async def is_cancelled(connection: Connection, run_id: UUID) -> bool:
    """Say whether somebody asked a run to stop."""
    asked = select(DIAGNOSIS_CANCEL.c.id).where(DIAGNOSIS_CANCEL.c.run_id == run_id)
    return bool(await rows(connection, asked))


async def alert_run(connection: Connection, fingerprint: str, starts_at: datetime) -> UUID | None:
    """Name the run that the first intake of an alert was given; None without intake or run."""
    table = ALERT_INTAKE.c
    found = await rows(
        connection,
        select(table.run_id).where(table.fingerprint == fingerprint, table.starts_at == starts_at),
    )
    return found[0]["run_id"] if found else None


async def recent_alert_run(
    connection: Connection, fingerprint: str, *, since: datetime
) -> UUID | None:
    """Name the run that was begun for an alert's latest beginning at or after `since`."""
    table = ALERT_INTAKE.c
    statement = (
        select(table.run_id)
        .where(table.fingerprint == fingerprint, table.starts_at >= since)
        .where(table.run_id.is_not(None))
        .order_by(table.starts_at.desc())
        .limit(1)
    )
    found = await rows(connection, statement)
    return found[0]["run_id"] if found else None


def _runs() -> Select[*tuple[Any, ...]]:
    ended = (_END.user_id == _RUN.user_id) & (_END.run_id == _RUN.id)
    return select(
        *(_RUN.id, _RUN.question, _RUN.language, _RUN.origin, _RUN.scope),
        *(_RUN.window_start, _RUN.window_end, _RUN.as_of, _RUN.previous_id, _RUN.began_at),
        _IS_CANCELLED.label("is_cancelled"),
        *(_END.terminal_reason, _END.finding, _END.verdict, _END.ended_at),
    ).select_from(DIAGNOSIS_RUN.outerjoin(DIAGNOSIS_END, ended))


def _numbered(column: ColumnElement[str]) -> tuple[ColumnElement[Any], ...]:
    """Order ids such as E2 and E10 by their numbers."""
    return func.length(column), column


def _call(row: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: row[name] for name in ToolCall.__annotations__ if name != "id"}
    return {"id": row["evidence_id"], **fields}


def _first(found: list[Row]) -> Row | None:
    return found[0] if found else None
