"""What the steps of one diagnosis may use: the run, its tools, and what is left to spend."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from alfred.engine.context import RunContext
from alfred.engine.language_model import Usage
from alfred.probes.toolbox import Toolbox


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one diagnosis may cost: calls of tools, tokens of models, seconds in all."""

    calls: int = 16
    tokens: int = 60_000
    seconds: float = 1_800.0


@dataclass
class Spent:
    """What a diagnosis has cost so far; `began` is on the monotonic clock."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    model_calls: int = 0
    began: float = field(default_factory=time.monotonic)

    def add(self, usage: Usage, *, calls: int = 1) -> None:
        """Count an answer of a model."""
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        self.model_calls += calls

    def exhausted(self, limits: Limits) -> str:
        """Name the limit that is reached: "calls", "tokens" or "seconds"; empty where none is."""
        if self.calls >= limits.calls:
            return "calls"
        if self.prompt_tokens + self.completion_tokens >= limits.tokens:
            return "tokens"
        if time.monotonic() - self.began >= limits.seconds:
            return "seconds"
        return ""


@dataclass(frozen=True, kw_only=True)
class DiagnosisContext:
    """The dependencies of one diagnosis, handed over as LangGraph's context.

    `guidance` are sentences that advise and are no evidence: past incidents. `told` hears each
    sentence about progress.
    """

    run: RunContext
    toolbox: Toolbox
    limits: Limits = field(default_factory=Limits)
    spent: Spent = field(default_factory=Spent)
    guidance: Sequence[str] = ()
    told: Callable[[str], None] = lambda _: None

    @property
    def evidence_chars(self) -> int:
        """How much evidence a prompt may hold. Errors: those of opening the model.

        A model in the process reads some forty tokens a second, and five hundred of them are what
        a person waits for; any other reads thousands in that time.
        """
        return 2_000 if self.run.model.name.startswith("embedded:") else 6_000
