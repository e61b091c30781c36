"""A user with a turn that may be diagnosed, and small records of each automatic kind."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from alfred.engine.action import Action
from alfred.engine.automatic import automatic_action
from alfred.engine.executor import Batch
from alfred.graphs.diagnosis.domain import DOMAIN
from alfred.probes.tool_call import ToolCall, seal
from alfred.store.address import Address
from tests.job_world import NOW, World, open_job_world

KINDS = {kind.name: kind for kind in DOMAIN.kinds}
AUTOMATIC = {name for name, kind in KINDS.items() if kind.is_automatic}


class DiagnosisWorld(World):
    """One user with one turn, and the executor that records for them."""

    async def add_turn(self) -> UUID:
        """Store another turn of the same message."""
        return await self.store_turn(uuid4())

    async def record(self, *actions: Action, now: datetime = NOW) -> dict[str, UUID]:
        batch = Batch(user_id=self.user_id, now=now, actions=actions, message_id=self.message_id)
        return await self.executor.record(batch)


@asynccontextmanager
async def open_diagnosis_world(database: Address) -> AsyncGenerator[DiagnosisWorld]:
    """Make a user whom no other test has, with one message and one turn."""
    async with open_job_world(database) as world:
        opened = DiagnosisWorld(world.pools, world.user_id, world.message_id, KINDS)
        await opened.store_turn(opened.turn_id)
        yield opened


def begun(run: UUID, **more: Any) -> Action:
    args = {
        "run": str(run),
        "question": "Why is checkout slow since 09:00?",
        "language": "en",
        "origin": "ask",
        "scope": {"service": "checkout"},
        "window_start": "2026-03-02T09:00:00+00:00",
        "window_end": "2026-03-02T09:30:00+00:00",
        "as_of": "2026-03-02T09:30:00+00:00",
    }
    return automatic_action("begin_diagnosis", {**args, **more})


def call(number: int = 1, **more: Any) -> ToolCall:
    made: ToolCall = {
        "id": f"E{number}",
        "tool": "metrics",
        "kind": "metrics",
        "arguments": {"query": "latency_p99"},
        "asked": "latency_p99 of checkout",
        "where": "metrics.example:9090",
        "start": "2026-03-02T09:00:00+00:00",
        "end": "2026-03-02T09:30:00+00:00",
        "outcome": "ok",
        "error": "",
        "lines": ["  latency_p99 0.21 s at 09:00", "延迟 2.4 s at 09:12 "],
        "truncated": False,
        "round": 0,
        "milliseconds": 12,
        "digest": "",
    }
    made.update(more)  # pyright: ignore[reportCallIssue, reportArgumentType]
    made["digest"] = seal(made)
    return made


def called(run: UUID, number: int = 1, **more: Any) -> Action:
    given = dict(call(number, **more))
    given["evidence_id"] = given.pop("id")
    return automatic_action("record_tool_call", {"run": str(run), **given})


def fact(run: UUID, number: int = 1, **more: Any) -> Action:
    args = {
        "run": str(run),
        "round": 1,
        "fact_id": f"F{number}",
        "fact": "p99 latency of checkout rose to 2.4 s at 09:12",
        "role": "symptom",
        "verification": "direct_support",
        "reason": "SUPPORTED",
        "evidence": ["E1"],
    }
    return automatic_action("record_fact", {**args, **more})


def stepped(run: UUID, ordinal: int = 1, **more: Any) -> Action:
    args = {
        "run": str(run),
        "ordinal": ordinal,
        "node": "planner",
        "outcome": "COMPLETED",
        "reason": "PLAN_READY",
        "attempt": 1,
    }
    return automatic_action("record_diagnosis_event", {**args, **more})


def ended(run: UUID, **more: Any) -> Action:
    args = {
        "run": str(run),
        "terminal_reason": "ANSWER_COMPOSED",
        "finding": "cause",
        "verdict": "PASS",
        "answer": {"headline": "The deploy at 09:10 doubled the pool's wait."},
        "trace": {"version": 1, "final_node": "composer"},
        "calls": 1,
        "prompt_tokens": 900,
        "completion_tokens": 120,
        "milliseconds": 4_000,
    }
    return automatic_action("end_diagnosis", {**args, **more})


def cancelled(run: UUID) -> Action:
    return automatic_action("request_cancel", {"run": str(run)})


def alert(run: UUID | None = None, **more: Any) -> Action:
    args = {
        "fingerprint": "c0ffee12",
        "starts_at": "2026-03-02T09:12:00+00:00",
        "name": "CheckoutSlow",
        "labels": {"service": "checkout", "severity": "page"},
        "annotations": {"summary": "p99 above 2 s"},
        "status": "firing",
    }
    given = {**args, **({"run": str(run)} if run else {}), **more}
    return automatic_action("receive_alert", given)


def note_args(run: UUID, **more: Any) -> dict[str, Any]:
    args = {
        "run": str(run),
        "title": "Checkout waited for its connection pool",
        "finding": "cause",
        "cause": "The deploy at 09:10 halved the pool to 5 connections",
        "services": ["checkout"],
        "window_start": "2026-03-02T09:00:00+00:00",
        "window_end": "2026-03-02T09:30:00+00:00",
        "body": "# Checkout waited for its connection pool\n\np99 rose to 2.4 s [E1].",
    }
    return {**args, **more}


def whole_run(run: UUID) -> Sequence[Action]:
    """Record one of each kind that belongs to a run."""
    return [begun(run), called(run), fact(run), stepped(run), ended(run), cancelled(run)]
