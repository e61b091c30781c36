"""Runs the calls of a plan, one after the other, within what a diagnosis may cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from alfred.nodes.diagnosis_context import DiagnosisContext
from alfred.nodes.diagnosis_excerpt import arguments_text
from alfred.nodes.diagnosis_phrases import phrase
from alfred.nodes.diagnosis_shapes import language_of, mapping, text
from alfred.probes.probe import Window
from alfred.probes.tool_call import ToolCall, is_same_call


@dataclass
class Calls:
    """The calls of one round: what the run had before, and what this round adds."""

    context: DiagnosisContext
    incident: Mapping[str, Any]
    round_: int
    before: list[dict[str, Any]]
    made: list[ToolCall] = field(default_factory=list[ToolCall])
    stopped: str = ""

    @property
    def all(self) -> list[Mapping[str, Any]]:
        """All calls of the run so far."""
        return [*self.before, *self.made]

    async def make(self, step: Mapping[str, Any]) -> bool:
        """Make one call; none that was made before, and none beyond the limits."""
        tool, arguments = text(step, "tool"), mapping(step, "arguments")
        call = {"tool": tool, "arguments": arguments}
        if any(is_same_call(call, earlier) for earlier in self.all):
            return False
        self.stopped = self.stopped or self.context.spent.exhausted(self.context.limits)
        if self.stopped:
            return False
        language = language_of(self.incident)
        told = phrase(language, "calling", tool=tool, arguments=arguments_text(call))
        self.context.told(told)
        self.context.spent.calls += 1
        made = await self.context.toolbox.call(
            tool, arguments, self.window, self.all, round_=self.round_
        )
        self.made.append(made)
        return True

    @property
    def window(self) -> Window:
        """The incident's window; where it has none, the moment of the question."""
        window = mapping(self.incident, "window")
        end = _moment(text(window, "end")) or _moment(text(self.incident, "as_of"))
        end = end or self.context.run.received_at
        return Window(start=_moment(text(window, "start")) or end, end=end)


def _moment(written: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
