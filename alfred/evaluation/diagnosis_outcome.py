"""What one run of the machine over a case came to, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from alfred.graphs.diagnosis.answer import Answer
from alfred.graphs.diagnosis.state import EVENTS, State, read_list

UNPERTURBED = "none"


@dataclass(frozen=True, kw_only=True)
class PathStep:
    """One step of the machine: the node, how it ended, and the code that says where it led."""

    node: str
    outcome: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a run cost. Units: `seconds` of the model's own time, also where it was remembered."""

    tool_calls: int = 0
    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class DiagnosisOutcome:
    """One run: its answer, the path it took and what it cost.

    `dropped` are the sentences that the composer's guards took out. `wrong_number` is what the
    perturbation `edited` put into the composer's first answer, empty where there was no number.
    """

    answer: Answer
    path: tuple[PathStep, ...]
    cost: Cost
    dropped: tuple[str, ...] = ()
    wrong_number: str = ""

    @property
    def is_composed(self) -> bool:
        """Say whether the composer gave the answer, rather than the fallback."""
        return self.answer["finding"] is not None

    def steps_of(self, node: str) -> list[PathStep]:
        """Return the steps that were made in a node."""
        return [step for step in self.path if step.node == node]


def read_path(state: State) -> tuple[PathStep, ...]:
    """Read the steps from a final state."""
    return tuple(
        PathStep(node=event["node"], outcome=event["outcome"], reason=event["reason_code"])
        for event in read_list(state, EVENTS)
    )
