"""A model whose composer gets one number wrong, once: what a careless model would do."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

from alfred.engine.language_model import Completion, LanguageModel, ModelRequest, TextSink
from alfred.models.around import ModelAround

COMPOSER = "Alfred · composer"
"""How the composer's system prompt begins; every node of a diagnosis names itself so."""
_NUMBER = re.compile(r"(?<![\w.:/\-])\d+(?:\.\d+)?(?![\w.:/\-]*\d)", re.ASCII)


class EditedModel(ModelAround):
    """A `LanguageModel` that changes one number in the first answer of the composer.

    The changed number is one that the prompt has nowhere. `wrong` is that number, empty where there
    was none to change; only a number of a sentence counts, not of a reference.
    """

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model)
        self.wrong = ""
        self._has_answered = False

    async def complete(self, request: ModelRequest, on_text: TextSink | None = None) -> Completion:
        """Answer as the model does, but for one number; errors as the model's."""
        completion = await super().complete(request, on_text)
        is_composer = request.messages[0].content.startswith(COMPOSER)
        if not is_composer or self._has_answered:
            return completion
        self._has_answered = True
        edited = edit_number(completion.text, "\n".join(m.content for m in request.messages))
        if edited is None:
            return completion
        self.wrong = edited.wrong
        return replace(completion, text=edited.answer)


class Edited(NamedTuple):
    """An answer with a wrong number in it, and that number."""

    answer: str
    wrong: str


def edit_number(answer: str, prompt: str) -> Edited | None:
    """Change the first number of a sentence in the composer's answer; None where there is none.

    Shapes: `answer` is the JSON text of an object with `sentences`, each with a `text`.
    """
    try:
        read: Any = json.loads(answer)
    except ValueError:
        return None
    listed: Any = cast("Mapping[str, Any]", read).get("sentences") if isinstance(read, dict) else ()
    for sentence in cast("list[Any]", listed) if isinstance(listed, list) else []:
        text = cast("Mapping[str, Any]", sentence).get("text") if isinstance(sentence, dict) else ""
        if isinstance(text, str) and (found := _NUMBER.search(text)):
            wrong = _another(found[0], prompt)
            sentence["text"] = f"{text[: found.start()]}{wrong}{text[found.end() :]}"
            return Edited(json.dumps(read, ensure_ascii=False), wrong)
    return None


def _another(number: str, prompt: str) -> str:
    """Make a number that a prompt has nowhere out of one that it has."""
    wrong = number
    while wrong in prompt:
        wrong = f"7{wrong}"
    return wrong
