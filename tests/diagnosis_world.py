"""Fakes for the diagnosis machine: each port answers from its queue and fails when it is empty."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from alfred.engine.attempt import Port
from alfred.graphs.diagnosis import topology as t
from alfred.graphs.diagnosis.factory import compile_diagnosis_graph
from alfred.graphs.diagnosis.ports import DiagnosisActions
from alfred.graphs.diagnosis.state import EVENTS

Outcome = Mapping[str, Any] | Exception


class UnexpectedCallError(BaseException):
    """Not an Exception: the wrapper must not take it for a failure of the step."""


class ScriptedPorts:
    """Eight ports, first in first out: each call takes the next outcome queued for its node."""

    def __init__(self, build: Any = compile_diagnosis_graph) -> None:
        self.queues: dict[str, deque[Outcome]] = defaultdict(deque)
        self.sequence: list[str] = []
        self.views: list[dict[str, Any]] = []
        self.thread_ids: list[str] = []
        self.graph = build(DiagnosisActions(**{node: self._port(node) for node in t.NODES}))

    def _port(self, node: str) -> Port:
        async def port(
            view: Mapping[str, Any], config: RunnableConfig, runtime: Runtime[Any]
        ) -> Mapping[str, Any]:
            self.sequence.append(node)
            self.views.append(dict(view))
            self.thread_ids.append(config["configurable"]["thread_id"])
            if not self.queues[node]:
                raise UnexpectedCallError(f"{node} was called once too often: {self.sequence}")
            outcome = self.queues[node].popleft()
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        return port

    @property
    def calls(self) -> Counter[str]:
        return Counter(self.sequence)

    async def replay(
        self, script: Iterable[tuple[str, Outcome]], initial: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run the graph over a script, with a thread of its own; return the final state."""
        self.queues.clear()
        for made in (self.sequence, self.views, self.thread_ids):
            made.clear()
        for node, outcome in script:
            self.queues[node].append(outcome)
        thread_id = f"replay-{uuid4()}"
        final = await self.graph.ainvoke(
            dict(initial or {"run_id": thread_id}), {"configurable": {"thread_id": thread_id}}
        )
        left = {node: len(queue) for node, queue in self.queues.items() if queue}
        assert not left, f"outcomes nobody asked for: {left}"
        assert set(self.thread_ids) == {thread_id}
        return dict(final)


def path_of(state: Mapping[str, Any]) -> list[str]:
    """Read the executed nodes from a state's events."""
    return [event["node"] for event in state[EVENTS]]


PLANNED = (t.PLANNER, {"planner_status": "COMPLETED", "planner_output": {"steps": [1]}})
GATHERED = (t.EXECUTOR, {"executor_status": "COMPLETED", "tool_trace": [{"id": "c1"}]})
ADMITTED = (
    t.GATEKEEPER,
    {"gatekeeper_status": "COMPLETED", "verifier_verdict_ceiling": "PASS"},
)
BUILT = (t.VERIFIED_INPUT, {"verified_input": {"facts": 1}})
RETRY = (t.EVIDENCE_RETRY, {"retry_context": {"gap_facts": ["pool"]}})
COMPOSED = (t.COMPOSER, {"composer_status": "COMPLETED", "composer_output": {"text": "so"}})
FELL_BACK = (t.FALLBACK, {"fallback_output": {"text": "not established"}})
ROUND = (PLANNED, GATHERED, ADMITTED, BUILT)
"""One round up to the verifier."""


def ended(node: str, status: str) -> tuple[str, dict[str, Any]]:
    """Let a node end with a status and nothing else."""
    return node, {f"{node}_status": status}


def verdict(word: str | None, *facts: tuple[str, str]) -> tuple[str, dict[str, Any]]:
    """Let the verifier complete with a verdict and facts as (fact, verification)."""
    checked = [{"fact": fact, "verification": verification} for fact, verification in facts]
    return t.VERIFIER, {
        "verifier_status": "COMPLETED",
        "effective_verdict": word,
        "verifier_output": {"facts_checked": checked},
    }


GAP = ("the pool is exhausted", "no_evidence")
SUPPORTED = ("checkout is slow", "direct_support")
