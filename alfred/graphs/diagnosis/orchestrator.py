"""Runs one diagnosis around its machine: what it starts from, its limits, its record, its end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from alfred.engine.context import NodeStep, Progress, RunContext
from alfred.engine.database import Role, Row
from alfred.errors import AlfredError, StoreFailed
from alfred.graphs.diagnosis.answer import Answer, answer_of, cut_off, read_object
from alfred.graphs.diagnosis.factory import Compiled
from alfred.graphs.diagnosis.machine_run import run_machine
from alfred.graphs.diagnosis.narration import steps_between, told_of
from alfred.graphs.diagnosis.opening import Opened
from alfred.graphs.diagnosis.recording import RESUMED, Recorder
from alfred.graphs.diagnosis.state import EVENTS, DiagnosisState, State, read_list
from alfred.graphs.diagnosis.tools import DiagnosisTools
from alfred.graphs.diagnosis.trace import trace_of
from alfred.nodes.diagnosis_context import DiagnosisContext, Spent
from alfred.services.queries.diagnosis import is_cancelled, load_end, load_events, load_run
from alfred.services.queries.incidents import past_incidents

CANCELLED = "CANCELLED"
CRASHED = "CRASHED"
LIMIT = "LIMIT_SECONDS"
MAX_RESUMES = 3
"""How often a run that was cut off goes on; one that ends its process each time is given up."""
_LOOK_EVERY_S = 1.0
"""How often a run asks whether somebody wants it to stop."""


@dataclass
class Orchestrator:
    """One run of one question; `graph` is the compiled machine with the real nodes."""

    context: RunContext
    graph: Compiled
    tools: DiagnosisTools
    spent: Spent = field(default_factory=Spent)
    _last: State = field(default_factory=dict[str, Any])

    async def run(self, opened: Opened) -> Answer:
        """Take a run to its end, from wherever it is, and return what it says.

        It ends with the machine's own reason, or with CANCELLED, LIMIT_SECONDS or CRASHED.
        Errors: those of the database. Anything else that stops it is its terminal reason.
        """
        assert opened.run is not None, "there is no run to take to its end"
        run = opened.run
        ended = await self._ended(run)
        if ended is not None:
            return ended
        recorder = Recorder(self.context, run["id"])
        initial = await self._initial(run, opened)
        self._last = initial
        reason: str | None = None
        if await self._is_unwanted(run):
            reason = CANCELLED
        elif await self._is_given_up(run, recorder):
            reason = CRASHED
        else:
            reason = await self._drive(run, initial, recorder)
        answer = cut_off(self._last, reason) if reason else answer_of(self._last)
        await recorder.end(answer["reason"], answer, self._trace(), self.spent)
        stored = await self._ended(run)  # another process may have ended it: the first end stays
        return stored or answer

    async def _drive(self, run: Row, initial: DiagnosisState, recorder: Recorder) -> str | None:
        """Run the machine; return the reason where something else than its end stopped it."""

        def on_start(node: str) -> None:
            self.context.on_progress(NodeStep(node=node, state="started"))

        async def on_step(state: State) -> None:
            for step in steps_between(self._last, state):
                self.context.on_progress(step)
            for sentence in told_of(self._last, state):
                self.context.on_progress(Progress(text=sentence))
            self._last = state
            await recorder.step(state)

        machine = asyncio.ensure_future(
            run_machine(self.graph, initial, self._machine_context(initial), on_step, on_start)
        )
        watch = asyncio.ensure_future(self._wait_for_cancel(run))
        try:
            done, _ = await asyncio.wait(
                {machine, watch},
                timeout=self.tools.limits.seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if machine in done:
                machine.result()
                return None
            return CANCELLED if watch in done else LIMIT
        except StoreFailed:
            raise
        except AlfredError as error:
            return error.code.replace(".", "_").upper()
        finally:
            await _stopped(machine)
            await _stopped(watch)

    async def _wait_for_cancel(self, run: Row) -> None:
        while True:
            if await self._is_unwanted(run):
                return
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _is_unwanted(self, run: Row) -> bool:
        async with self.context.database.transaction(
            Role.READER, self.context.user_id
        ) as connection:
            return await is_cancelled(connection, run["id"])

    async def _is_given_up(self, run: Row, recorder: Recorder) -> bool:
        """Count that the run goes on after it was cut off, if it does."""
        async with self.context.database.transaction(
            Role.READER, self.context.user_id
        ) as connection:
            events = await load_events(connection, run["id"])
        resumed = sum(event["outcome"] == RESUMED for event in events)
        if not events:
            return False
        if resumed >= MAX_RESUMES:
            return True
        await recorder.resumed(resumed + 1)
        return False

    async def _ended(self, run: Row) -> Answer | None:
        async with self.context.database.transaction(
            Role.READER, self.context.user_id
        ) as connection:
            end = await load_end(connection, run["id"])
        return None if end is None else end["answer"]

    def _machine_context(self, initial: DiagnosisState) -> DiagnosisContext:
        incident: Mapping[str, Any] = initial.get("incident_context", {})
        return DiagnosisContext(
            run=self.context,
            toolbox=self.tools.toolbox,
            limits=self.tools.limits,
            spent=self.spent,
            guidance=incident["guidance"],
            told=lambda sentence: self.context.on_progress(Progress(text=sentence)),
        )

    async def _initial(self, run: Row, opened: Opened) -> DiagnosisState:
        async with self.context.database.transaction(
            Role.READER, self.context.user_id
        ) as connection:
            guidance = await past_incidents(
                connection, run["scope"], run["question"], language=run["language"]
            )
            before = run["previous_id"] and await load_run(connection, run["previous_id"])
            told = before and await load_end(connection, before["id"])
        alerts = [
            line for call in opened.calls if call["kind"] == "alerts" for line in call["lines"]
        ]
        return {
            "run_id": str(run["id"]),
            "session_id": str(self.context.message_id),
            "user_query": run["question"],
            "incident_context": {
                "language": run["language"],
                "scope": run["scope"],
                "window": {
                    "start": run["window_start"].isoformat(),
                    "end": run["window_end"].isoformat(),
                },
                "as_of": run["as_of"].isoformat(),
                "alerts": alerts,
                "guidance": guidance,
                "previous": _previous(before, told) if before and told else None,
            },
            "tool_trace": [dict(call) for call in opened.calls],
        }

    def _trace(self) -> dict[str, Any]:
        """Return the path so far; none where no step finished."""
        return trace_of(self._last).to_map() if read_list(self._last, EVENTS) else {}


def _previous(run: Row, end: Row) -> dict[str, Any]:
    facts = [
        fact["fact"] for fact in read_list(end["answer"], "facts") if fact["verification"] in _HELD
    ]
    return {
        "question": run["question"],
        "finding": end["finding"],
        "cause": read_object(end["answer"], "cause").get("text"),
        "facts": facts,
    }


_HELD = ("direct_support", "indirect_support")


async def _stopped(task: asyncio.Future[Any]) -> None:
    """Cancel what still runs and wait until it has let go of its connections."""
    task.cancel()
    with suppress(asyncio.CancelledError, AlfredError):
        await task
