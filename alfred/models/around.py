"""A model with something around it: what is not overridden is the inner model's."""

from __future__ import annotations

from alfred.engine.language_model import Completion, LanguageModel, ModelRequest, TextSink


class ModelAround:
    """A `LanguageModel` that passes everything on to `inner`."""

    def __init__(self, inner: LanguageModel) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def context_tokens(self) -> int:
        return self.inner.context_tokens

    @property
    def parallel_calls(self) -> int:
        return self.inner.parallel_calls

    async def complete(self, request: ModelRequest, on_text: TextSink | None = None) -> Completion:
        """Answer as the inner model does; errors as the inner model's."""
        return await self.inner.complete(request, on_text)

    async def aclose(self) -> None:
        """Close the inner model."""
        await self.inner.aclose()
