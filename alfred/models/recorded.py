"""A model that replays recorded answers of a real one, found by the hash of the request."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from alfred.engine.language_model import (
    Completion,
    LanguageModel,
    ModelRequest,
    TextSink,
    ToolCall,
    Usage,
    request_digest,
)
from alfred.errors import ModelFailed
from alfred.models.scripted import stream_text


class RecordedModel:
    """A `LanguageModel` over a file of recordings; with an inner model, unknown calls are added.

    Shapes: JSON lines, the first `{"model": name, "context_tokens": n}`, then one
    `{"request": digest, "completion": {…}}` for each call. Prompts are not in the file, answers
    are. A request is found only under the name of the model that was recorded.
    """

    def __init__(self, path: Path, model: LanguageModel | None = None) -> None:
        self._path = path
        self._model = model
        self._answers: dict[str, Completion] = {}
        self._name = "recorded"
        self._context_tokens = 8192
        if path.exists():
            self._load()
        if model is not None:
            self._adopt(model)

    @property
    def name(self) -> str:
        return self._name

    @property
    def context_tokens(self) -> int:
        return self._context_tokens

    @property
    def parallel_calls(self) -> int:
        return self._model.parallel_calls if self._model else 1

    async def complete(self, request: ModelRequest, on_text: TextSink | None = None) -> Completion:
        """Replay the recorded answer, or ask the inner model and record what it says.

        Errors: `model.not_scripted` without recording and inner model; failures of the inner
        model, which are not recorded.
        """
        digest = request_digest(self.name, request)
        known = self._answers.get(digest)
        if known is not None:
            await stream_text(known.text, on_text)
            return known
        if self._model is None:
            raise ModelFailed(
                "model.not_scripted",
                f"{self._path} has no answer of {self.name} for the request {digest[:12]}.",
                hint="Record it: RecordedModel(path, model) with the real model.",
            )
        completion = await self._model.complete(request, on_text)
        self._answers[digest] = completion
        self._append({"request": digest, "completion": asdict(completion)})
        return completion

    async def aclose(self) -> None:
        if self._model is not None:
            await self._model.aclose()

    def _adopt(self, model: LanguageModel) -> None:
        if self._answers and model.name != self._name:
            raise ModelFailed(
                "model.not_scripted",
                f"{self._path} holds answers of {self._name}, not of {model.name}.",
                hint="Record each model into a file of its own.",
            )
        self._name, self._context_tokens = model.name, model.context_tokens
        if not self._answers:
            self._path.unlink(missing_ok=True)
            self._append({"model": self._name, "context_tokens": self._context_tokens})

    def _append(self, line: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(line, ensure_ascii=False)}\n")

    def _load(self) -> None:
        # Not splitlines: a recorded text may hold U+2028, which it takes for the end of a line.
        lines = self._path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        for number, text in enumerate(lines, 1):
            try:
                line = cast("dict[str, Any]", json.loads(text))
                if number == 1:
                    self._name, self._context_tokens = line["model"], line["context_tokens"]
                else:
                    self._answers[line["request"]] = _completion(line["completion"])
            except (ValueError, KeyError, TypeError) as exc:
                raise ModelFailed(
                    "model.not_scripted",
                    f"{self._path}, line {number} is no recording: {exc}.",
                    hint="Delete the file and record it again.",
                ) from exc


def _completion(fields: dict[str, Any]) -> Completion:
    return Completion(
        text=fields["text"],
        finish_reason=fields["finish_reason"],
        tool_calls=tuple(ToolCall(**call) for call in fields["tool_calls"]),
        usage=Usage(**fields["usage"]),
        seconds=fields["seconds"],
    )
