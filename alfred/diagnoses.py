"""Diagnoses as their users meet them: asked, followed, listed, cancelled, begun by an alert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from alfred.app import App
from alfred.engine.automatic import automatic_action
from alfred.engine.canonical import derive_id
from alfred.engine.context import RunContext
from alfred.engine.database import Connection, Row
from alfred.engine.executor import ActionExecutor, Batch
from alfred.engine.standing import Standing
from alfred.engine.turn import Turn, finish_turn
from alfred.errors import StoreFailed
from alfred.graphs.diagnosis.first_look import Looked, Wish, require_question, require_tools
from alfred.graphs.diagnosis.opening import Opened, open_run
from alfred.graphs.diagnosis.time_words import LONGEST_LOOKBACK
from alfred.graphs.diagnosis.tools import DiagnosisTools
from alfred.probes.alerts import Alert
from alfred.queue.entrance import require_room, resume_turn
from alfred.services.queries.diagnosis import (
    find_open_runs,
    list_runs,
    load_calls,
    load_end,
    load_events,
    load_facts,
    load_run,
    recent_alert_run,
)
from alfred.store.reading import Place

DOMAIN = "diagnosis"


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A question as it was stored, with what the first look showed; or the reply in its place."""

    turn: Turn
    opened: Opened


@dataclass(frozen=True, kw_only=True)
class StoredDiagnosis:
    """Everything that is on record of a run; `end` is None while it goes on."""

    run: Row
    calls: Sequence[Mapping[str, Any]]
    facts: Sequence[Row]
    events: Sequence[Mapping[str, Any]]
    end: Row | None


@dataclass(frozen=True, kw_only=True)
class AlertTaken:
    """What became of an alert: a turn that asks about it, or the run that was begun before."""

    alert: Alert
    turn_id: UUID | None
    is_new: bool


class Diagnoses:
    """One user's diagnoses."""

    def __init__(self, app: App) -> None:
        self._app = app

    @property
    def tools(self) -> DiagnosisTools:
        """What the tools file lists; errors: `probe.settings`."""
        tools: DiagnosisTools = self._app.resource(DOMAIN)
        return tools

    async def ask(
        self,
        question: str,
        wish: Wish,
        looked: Looked | None = None,
        *,
        turn_id: UUID | None = None,
    ) -> Begun:
        """Store a question and look for the first time; no model is asked and no graph loaded.

        `looked` is the first look where it was taken before. With a `turn_id` that is known
        already, what was begun then is returned. Errors: those of `require_question`; then
        nothing is stored.
        """
        require_question(question, self.tools.toolbox)
        turn = await self._app.keep(question, domain=DOMAIN, turn_id=turn_id)
        if turn is None:
            assert turn_id is not None, "a turn without a given id is new"
            turn = await self._app.load_turn(turn_id)
        opened = await open_run(self.context_of(turn), turn.text, wish, looked)
        if opened.run is None:
            await finish_turn(
                self._app.database,
                turn,
                state="done",
                domain=DOMAIN,
                outcome="answered",
                problem=None,
            )
        return Begun(turn=turn, opened=opened)

    async def post(self, question: str, wish: Wish, *, turn_id: UUID | None = None) -> Begun:
        """Ask, and let a worker take the diagnosis to its answer.

        Errors: those of `ask`, and `queue.full`; then nothing is stored.
        """
        await require_room(self._app.database, self._app.user_id)
        begun = await self.ask(question, wish, turn_id=turn_id)
        if begun.opened.run is not None:
            await resume_turn(self._app.database, self._app.user_id, begun.turn.id)
        return begun

    async def post_alerts(self, alerts: Sequence[Alert]) -> list[AlertTaken]:
        """Take alerts as `receive` does, and let a worker answer the questions they begin."""
        await require_room(self._app.database, self._app.user_id)
        taken = await self.receive(alerts)
        for each in taken:
            if each.is_new and each.turn_id is not None:
                await resume_turn(self._app.database, self._app.user_id, each.turn_id)
        return taken

    async def advance(self, turn_id: UUID) -> Standing:
        """Take a diagnosis to its answer, and its note to the review."""
        return await self._app.advance(turn_id)

    async def load(self, run_id: UUID) -> StoredDiagnosis | None:
        """Read what is on record of a run."""
        async with self._app.reading() as connection:
            run = await load_run(connection, run_id)
            return None if run is None else await _stored(connection, run)

    async def list(self, *, limit: int, after: Place | None = None) -> Sequence[Row]:
        """List runs, the newest first, behind a place."""
        async with self._app.reading() as connection:
            return await list_runs(connection, after=after, limit=limit)

    async def open_runs(self) -> Sequence[Row]:
        """List the runs that have no end yet."""
        async with self._app.reading() as connection:
            return await find_open_runs(connection)

    async def cancel(self, run_id: UUID) -> str | None:
        """Stop a run: end it at once, or ask the process in which it goes on.

        Gives the reason with which it has ended: CANCELLED, or another where it was faster. None
        while it goes on elsewhere.
        """
        turn = await self._app.load_turn(run_id)
        await self._record(turn, "request_cancel", {"run": str(run_id)})
        try:
            await self._app.runs.advance(turn.user_id, run_id, patience_s=0)
        except StoreFailed as error:
            if error.code != "store.busy":
                raise
        async with self._app.reading() as connection:
            end = await load_end(connection, run_id)
        return end["terminal_reason"] if end else None

    async def receive(self, alerts: Sequence[Alert]) -> list[AlertTaken]:
        """Take alerts of a watching system: each that fires and is new begins one question.

        One of the same fingerprint and beginning is taken once, whoever delivers it how often.
        """
        return [await self._take(alert) for alert in alerts]

    async def _take(self, alert: Alert) -> AlertTaken:
        if alert.status != "firing":
            return AlertTaken(alert=alert, turn_id=None, is_new=False)
        require_tools(self.tools.toolbox)
        async with self._app.reading() as connection:
            known = await recent_alert_run(
                connection, alert.fingerprint, since=alert.starts_at - REPEATED_FOR
            )
        if known is not None:
            return AlertTaken(alert=alert, turn_id=known, is_new=False)
        # Delivered twice at once, the alert has one turn: its id follows from the alert.
        turn_id = derive_id("alert", self._app.user_id, alert.fingerprint, alert.starts_at)
        turn = await self._app.keep(question_about(alert), domain=DOMAIN, turn_id=turn_id)
        if turn is None:
            return AlertTaken(alert=alert, turn_id=turn_id, is_new=False)
        args = {
            "fingerprint": alert.fingerprint,
            "starts_at": alert.starts_at.isoformat(),
            "name": alert.name,
            "labels": dict(alert.labels),
            "annotations": dict(alert.annotations),
            "status": alert.status,
            "run": str(turn_id),
        }
        await self._record(turn, "receive_alert", args)
        scope = {name: alert.labels[name] for name in SCOPES if name in alert.labels}
        wish = Wish(since=_since(alert, self._app.now()), scope=scope, origin="alert")
        await open_run(self.context_of(turn), turn.text, wish)
        return AlertTaken(alert=alert, turn_id=turn_id, is_new=True)

    def context_of(self, turn: Turn) -> RunContext:
        """Make what a run of this turn may use."""
        return self._app.context_of(turn)

    async def _record(self, turn: Turn, kind: str, args: Mapping[str, Any]) -> None:
        context = self.context_of(turn)
        batch = Batch(
            user_id=turn.user_id,
            now=context.now(),
            actions=[automatic_action(kind, args)],
            message_id=turn.message_id,
        )
        await ActionExecutor(context.database, context.kinds).record(batch)


REPEATED_FOR = timedelta(hours=1)
"""An alert that fires anew this soon after it was asked about is the same incident."""
LED_UP = timedelta(hours=1)
"""How long before an alert began is looked at: what led to it lies there."""
SCOPES = ("service", "job", "namespace", "instance")
"""Labels of an alert that say what it is about."""


def _since(alert: Alert, now: datetime) -> datetime:
    """Begin before the alert did; one that a fast clock dates ahead is taken as beginning now."""
    began = min(alert.starts_at, now)
    return max(began - LED_UP, now - LONGEST_LOOKBACK)


def question_about(alert: Alert) -> str:
    """Ask about an alert, in its own words."""
    about = " ".join(f"{name}={alert.labels[name]}" for name in SCOPES if name in alert.labels)
    summary = alert.annotations.get("summary") or alert.annotations.get("description") or ""
    asked = f"Why is the alert {alert.name} firing{f' for {about}' if about else ''}?"
    return f"{asked} {summary}".strip()


async def _stored(connection: Connection, run: Row) -> StoredDiagnosis:
    run_id = run["id"]
    return StoredDiagnosis(
        run=run,
        calls=await load_calls(connection, run_id),
        facts=await load_facts(connection, run_id),
        events=await load_events(connection, run_id),
        end=await load_end(connection, run_id),
    )
