"""Alerts as they come in: one of the same fingerprint and beginning is taken once."""

from __future__ import annotations

from datetime import UTC
from typing import Annotated, Literal

from alfred.engine.action import ActionKind, Arguments, RowId, bounded_json, text
from alfred.engine.database import Row
from alfred.engine.writer import Writer
from alfred.services.moment import Moment
from alfred.store.tables.diagnosis import ALERT_INTAKE


class ReceiveAlert(Arguments):
    """An alert of a watching system; `run` is the diagnosis that is to begin for it."""

    fingerprint: Annotated[str, text(200)]
    starts_at: Moment
    name: Annotated[str, text(300)]
    labels: Annotated[dict[str, str], bounded_json(16_000)]
    annotations: Annotated[dict[str, str], bounded_json(32_000)]
    status: Literal["firing", "resolved"]
    run: RowId | None = None


async def receive_alert(writer: Writer, args: ReceiveAlert) -> Row:
    """Record an alert; the first one of a fingerprint and beginning stays, with its run."""
    values = {
        **args.model_dump(exclude={"run"}),
        "run_id": args.run,
        "received_at": writer.now,
    }
    return await writer.append(ALERT_INTAKE, values, name=_key(args))


def _key(args: ReceiveAlert) -> str:
    return f"{args.fingerprint}@{args.starts_at.astimezone(UTC).isoformat()}"


def _locks(args: ReceiveAlert) -> list[str]:
    return [f"alert/{_key(args)}"]


ALERT_KINDS = (
    ActionKind(
        arguments=ReceiveAlert, handler=receive_alert, locks=_locks, appends=(ALERT_INTAKE,)
    ),
)
