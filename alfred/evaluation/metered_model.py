"""A model with a meter on it: how often it was asked, what it read and wrote, why it failed."""

from __future__ import annotations

from dataclasses import dataclass, field

from alfred.engine.language_model import Completion, LanguageModel, ModelRequest, TextSink
from alfred.errors import ModelFailed
from alfred.models.around import ModelAround


@dataclass
class Meter:
    """What calls have cost since it was made. Units: `seconds` of the model's own time."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    failures: dict[str, ModelFailed] = field(default_factory=dict[str, ModelFailed])
    """The latest failure of each code, also of calls that were tried again with success."""


class MeteredModel(ModelAround):
    """A `LanguageModel` that passes every request on and writes down on `meter` what it cost."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model)
        self.meter = Meter()

    async def complete(self, request: ModelRequest, on_text: TextSink | None = None) -> Completion:
        """Answer as the model does; errors as the model's."""
        meter = self.meter
        meter.calls += 1
        try:
            completion = await super().complete(request, on_text)
        except ModelFailed as failure:
            meter.failures[failure.code] = failure
            raise
        meter.prompt_tokens += completion.usage.prompt_tokens
        meter.completion_tokens += completion.usage.completion_tokens
        meter.seconds += completion.seconds
        return completion
