"""A diagnosis with the real nodes, recorded tools and a model that answers by node."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from alfred import nodes
from alfred.engine.approvals import Approvals
from alfred.engine.context import JournalKey, RunContext, unheard
from alfred.engine.database import Connection, Role
from alfred.engine.executor import ActionExecutor
from alfred.engine.language_model import Completion, LanguageModel, ModelRequest
from alfred.engine.manifest_file import load_manifest
from alfred.engine.registry import Registry
from alfred.graphs.diagnosis.factory import compile_diagnosis_graph
from alfred.graphs.diagnosis.real import real_actions
from alfred.models.scripted import ScriptedModel
from alfred.nodes.diagnosis_context import DiagnosisContext, Limits
from alfred.nodes.executor.calls import Calls
from alfred.probes.replay import RecordedCall, Recording, ToolSpec
from alfred.probes.tool_call import ToolCall
from alfred.probes.toolbox import Toolbox
from tests.diagnosis_world import UnexpectedCallError

NAMES = (
    *("planner", "executor", "gatekeeper", "verified_input"),
    *("verifier", "evidence_retry", "composer", "fallback"),
)
MACHINE = Registry({name: load_manifest(Path(nodes.__file__).parent / name, {}) for name in NAMES})
NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
WINDOW = {"start": "2026-03-02T11:00:00+00:00", "end": "2026-03-02T12:00:00+00:00"}

Answers = Mapping[str, Sequence[Any]]
"""By node: what the model answers to it in turn, as JSON, raw text or an exception."""


class NoDatabase:
    """Stands where the database is: the steps of a machine never reach for it."""

    def transaction(
        self, role: Role, user_id: UUID, *, rollback: bool = False
    ) -> AbstractAsyncContextManager[Connection]:
        raise AssertionError("a step of the machine asked for the database")


@dataclass(frozen=True)
class Running:
    """What a graph hands to a step, for steps that are run alone."""

    context: DiagnosisContext


class NoJournal:
    """Remembers nothing."""

    async def recall(self, call: JournalKey) -> Completion | None:
        return None

    async def record(self, call: JournalKey, completion: Completion) -> None:
        return None

    async def answers(self, request_digest: str) -> list[Completion]:
        return []


def node_of(request: ModelRequest) -> str:
    """Read from the first line of a prompt which node asks."""
    return request.messages[0].content.splitlines()[0].removeprefix("Alfred · ")


def model_of(answers: Answers, calls: int = 40) -> ScriptedModel:
    """Make a model that takes the next answer queued for the node that asks."""
    queues: dict[str, deque[Any]] = defaultdict(deque)
    for node, queued in answers.items():
        queues[node].extend(queued)

    def answer(request: ModelRequest) -> str:
        node = node_of(request)
        if not queues[node]:
            raise UnexpectedCallError(f"{node} asked once too often: {request.messages[1].content}")
        given = queues[node].popleft()
        if isinstance(given, Exception):
            raise given
        return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)

    return ScriptedModel([answer] * calls)


def context_of(
    model: LanguageModel, toolbox: Toolbox, limits: Limits | None = None
) -> DiagnosisContext:
    """Make the dependencies of a diagnosis."""
    database = NoDatabase()
    run = RunContext(
        turn_id=uuid4(),
        user_id=uuid4(),
        message_id=uuid4(),
        received_at=NOON,
        timezone="UTC",
        language="en",
        database=database,
        open_model=lambda: model,
        journal=NoJournal(),
        registry=MACHINE,
        kinds={},
        approvals=Approvals(database, ActionExecutor(database, {}), clock=lambda: NOON),
        on_progress=unheard,
    )
    return DiagnosisContext(run=run, toolbox=toolbox, limits=limits or Limits())


def spec(name: str, kind: str, /, *, is_primary: bool = True, **properties: Any) -> ToolSpec:
    """Describe a recorded tool; `properties` are the schemas of its arguments."""
    described = {
        "name": name,
        "kind": kind,
        "description": f"Shows {kind}.",
        "is_primary": is_primary,
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
    }
    return ToolSpec.model_validate_json(json.dumps(described))


def call(tool: str, asked: str, *lines: str, **fields: Any) -> RecordedCall:
    """Record a call; without lines it found nothing, unless `outcome` says otherwise."""
    known = {"outcome": "ok" if lines else "empty", **fields}
    given = {"tool": tool, "asked": asked, "lines": list(lines), "where": "test", **known}
    return RecordedCall.model_validate_json(json.dumps(given))


def incident(language: str = "en", **fields: Any) -> dict[str, Any]:
    """Make an incident's context."""
    return {
        **{"language": language, "scope": {"service": "basket"}, "window": WINDOW},
        **{"as_of": WINDOW["end"], "alerts": [], "guidance": [], "previous": None},
        **fields,
    }


async def diagnose(
    context: DiagnosisContext,
    question: str,
    *,
    language: str = "en",
    first_look: Sequence[ToolCall] | None = None,
) -> dict[str, Any]:
    """Run the machine over the real nodes and return its last state."""
    calls = Calls(context=context, incident=incident(language), round_=0, before=[])
    looked = first_look
    if looked is None:
        looked = await context.toolbox.first_look(calls.window, {"service": "basket"})
    graph: Any = compile_diagnosis_graph(real_actions())
    run_id = str(uuid4())
    initial = {
        "run_id": run_id,
        "session_id": "s",
        "user_query": question,
        "incident_context": incident(language),
        "tool_trace": list(looked),
    }
    config: Any = {"configurable": {"thread_id": run_id}}
    return dict(await graph.ainvoke(initial, config, context=context))


BASKET = Recording(
    specs=(
        spec("alerts", "alerts", is_primary=False),
        spec("changes", "changes"),
        spec("logs", "logs", source={"enum": ["basket", "ledger"]}),
        spec("metric", "metrics", name={"enum": ["p99", "errors"]}),
        spec("runbooks", "guidance", words={"type": "string", "maxLength": 80}),
    ),
    calls=(
        call(
            "alerts",
            "alerts that fire",
            "BasketSlow service=basket firing since 11:20:00Z value 2.31",
            first_look=True,
        ),
        call(
            "changes",
            "changes since yesterday",
            "2026-03-02T11:15:00Z a1b2c3d4e5 basket: lower the pool; pool_size: 50 -> 5",
            first_look=True,
        ),
        call(
            "logs",
            "lines of basket with errors",
            "11:21:07Z basket ERROR timeout waiting for a connection, pool_size=5 in use=5",
            "11:21:09Z basket ERROR timeout waiting for a connection (x214)",
            arguments={"source": "basket"},
        ),
        call("logs", "lines of ledger with errors", arguments={"source": "ledger"}),
        call(
            "metric",
            "p99 latency of basket",
            "basket p99 first 0.21 at 11:00, max 2.31 at 11:30, last 2.28",
            arguments={"name": "p99"},
        ),
        call(
            "runbooks",
            "runbooks about pools",
            "Raise pool_size to 50 when basket waits.",
            arguments={"words": "pool"},
        ),
    ),
)
"""A shop's basket whose pool of connections was cut from 50 to 5."""
