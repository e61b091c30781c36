"""Writes down what a diagnosis asked, saw, found and told, through automatic actions alone."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from alfred.engine.action import Action
from alfred.engine.automatic import automatic_action
from alfred.engine.context import RunContext
from alfred.engine.executor import ActionExecutor, Batch
from alfred.graphs.diagnosis.answer import read_object
from alfred.graphs.diagnosis.state import EVENTS, State, read_count, read_list
from alfred.nodes.diagnosis_context import Spent

RESUMED = "RESUMED"
_FIRST_RESUME = 900
"""Where resumptions are numbered from; the machine's own events end far below."""


@dataclass
class Recorder:
    """Records one run; what was written before is not written again."""

    context: RunContext
    run_id: UUID

    def __post_init__(self) -> None:
        self._written: set[str] = set()
        self._executor = ActionExecutor(self.context.database, self.context.kinds)

    async def step(self, state: State) -> None:
        """Record the calls, facts and events that a state holds and no earlier one did."""
        await self.write([*self._calls(state), *self._facts(state), *self._events(state)])

    async def calls(self, calls: Sequence[Mapping[str, Any]]) -> None:
        """Record calls of tools."""
        await self.write(self._calls({"tool_trace": list(calls)}))

    async def resumed(self, number: int) -> None:
        """Record that a run goes on after it was cut off, for the `number`-th time."""
        event = {"node": "run", "outcome": RESUMED, "reason": RESUMED, "attempt": number}
        ordinal = _FIRST_RESUME + number
        await self.write([self._action("record_diagnosis_event", {**event, "ordinal": ordinal})])

    async def end(
        self, reason: str, answer: Mapping[str, Any], trace: Mapping[str, Any], spent: Spent
    ) -> None:
        """Record how the run ended; the first end stays."""
        args = {
            "terminal_reason": reason,
            "finding": answer.get("finding"),
            "verdict": answer.get("verdict"),
            "answer": dict(answer),
            "trace": dict(trace),
            "calls": len(answer.get("calls", ())),
            "prompt_tokens": spent.prompt_tokens,
            "completion_tokens": spent.completion_tokens,
            "milliseconds": int((time.monotonic() - spent.began) * 1000),
        }
        await self.write([self._action("end_diagnosis", args)])

    async def write(self, actions: Sequence[Action] | Iterator[Action]) -> None:
        """Commit automatic actions, those that are new to this recorder."""
        new = [action for action in actions if action["id"] not in self._written]
        if not new:
            return
        context = self.context
        await self._executor.record(
            Batch(
                user_id=context.user_id,
                now=context.now(),
                actions=new,
                message_id=context.message_id,
            )
        )
        self._written |= {action["id"] for action in new}

    def _calls(self, state: State) -> Iterator[Action]:
        for call in read_list(state, "tool_trace"):
            args = {name: value for name, value in call.items() if name != "id"}
            yield self._action("record_tool_call", {**args, "evidence_id": call["id"]})

    def _facts(self, state: State) -> Iterator[Action]:
        if state.get("verifier_status") != "COMPLETED":
            return
        round_ = 1 + read_count(state, "evidence_retry_count", spent=1)
        for fact in read_list(read_object(state, "verifier_output"), "facts_checked"):
            yield self._action(
                "record_fact",
                {
                    "round": round_,
                    "fact_id": fact["id"],
                    **{name: fact[name] for name in _FACT},
                    "unsupported": fact.get("unsupported", []),
                },
            )

    def _events(self, state: State) -> Iterator[Action]:
        for ordinal, event in enumerate(read_list(state, EVENTS), start=1):
            args = {
                "ordinal": ordinal,
                "node": event["node"],
                "outcome": event["outcome"],
                "reason": event["reason_code"],
                "attempt": event["attempt"],
            }
            yield self._action("record_diagnosis_event", args)

    def _action(self, kind: str, args: Mapping[str, Any]) -> Action:
        return automatic_action(kind, {"run": str(self.run_id), **args})


_FACT = ("fact", "role", "verification", "reason", "evidence")
