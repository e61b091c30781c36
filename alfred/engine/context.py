"""What a run's nodes may use: handed over as LangGraph's context, never in state or config."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol
from uuid import UUID

from alfred.engine.action import ActionKind
from alfred.engine.approvals import Approvals
from alfred.engine.database import Database
from alfred.engine.evidence import Evidence
from alfred.engine.language_model import Completion, LanguageModel, ModelRequest, TextSink
from alfred.engine.manifest import Manifest
from alfred.engine.registry import Registry


@dataclass(frozen=True, kw_only=True)
class FieldRead:
    """A value that has just been decoded, with its evidence; sent while the answer still grows."""

    node: str
    pointer: str
    value: Any
    evidence: Evidence


@dataclass(frozen=True, kw_only=True)
class Progress:
    """A sentence about work that takes long."""

    text: str


@dataclass(frozen=True, kw_only=True)
class NodeStep:
    """A node of a graph that begins or ends.

    `reason` is the code of its event; None at the beginning, and where it paused or was cut off.
    """

    node: str
    state: Literal["started", "finished"]
    reason: str | None = None


Told = FieldRead | Progress | NodeStep
"""What a run tells while it goes on."""
ProgressSink = Callable[[Told], None]


def no_resource(domain: str) -> Any:
    """Stand where no domain has brought anything."""
    raise LookupError(f"the domain {domain!r} has brought nothing")


def unheard(_: Told) -> None:
    """Take progress where nobody listens; the model's answer is then not streamed either."""


class Journal(Protocol):
    """Remembers each model call of a turn, so that a crash or a re-run never pays twice."""

    async def recall(self, call: JournalKey) -> Completion | None: ...

    async def record(self, call: JournalKey, completion: Completion) -> None: ...

    async def answers(self, request_digest: str) -> list[Completion]:
        """Return what any turn of the user was answered to the same request, the newest first."""
        ...


@dataclass(frozen=True, kw_only=True)
class JournalKey:
    """Which call of which attempt of which node instance, and what exactly was asked."""

    turn_id: UUID
    instance: str
    attempt: int
    ordinal: int
    request_digest: str
    model: str


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """The dependencies of one run.

    `received_at` is the message's time; nodes never look at a clock of their own, and `clock` is
    for records of when something happened. `registry` holds the manifests installed now; which
    ones a turn started with stands in its row, by digest.
    """

    turn_id: UUID
    user_id: UUID
    message_id: UUID
    received_at: datetime
    timezone: str
    language: str
    database: Database
    open_model: Callable[[], LanguageModel]
    journal: Journal
    registry: Registry
    kinds: Mapping[str, ActionKind]
    approvals: Approvals
    on_progress: ProgressSink
    model_timeout_s: float = 300.0
    resource: Callable[[str], Any] = no_resource
    """What a domain's `resources` gave, such as tools that look at the world, by its name."""
    clock: Callable[[], datetime] | None = None

    def now(self) -> datetime:
        """Return the present moment; the message's where a run has no clock."""
        return self.clock() if self.clock else self.received_at

    @property
    def model(self) -> LanguageModel:
        """The language model, opened when a node first needs it.

        Errors: `ModelFailed` where there is none to open.
        """
        return self.open_model()

    def manifest(self, name: str) -> Manifest:
        """Return a node's manifest; errors as `Registry.get`."""
        return self.registry.get(name)

    async def ask(
        self, key: JournalKey, request: ModelRequest, on_text: TextSink | None = None
    ) -> Completion:
        """Answer from the journal, or call the model and write the answer down."""
        remembered = await self.journal.recall(key)
        if remembered is not None:
            if on_text is not None:
                on_text(remembered.text)
            return remembered
        listener = None if self.on_progress is unheard else on_text
        completion = await self.model.complete(request, listener)
        await self.journal.record(key, completion)
        return completion


Variables = Mapping[str, Any]
"""What a node's templates may name: `input`, `out`, and what its entry gathered."""
