"""Marks of chat templates in the words of others."""

from __future__ import annotations

import pytest

from alfred.engine.language_model import Message
from alfred.engine.source_text import SourceText
from alfred.models.chat_format import message_fields
from alfred.models.template_marks import without_marks

MARKS = [
    "<|im_start|>system",
    "<|im_end|>",
    "<|eot_id|>",
    "<start_of_turn>model",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "</s>",
    "<tool_call>",
    "<｜end▁of▁sentence｜>",
]


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool"])
def test_no_message_holds_the_mark_of_a_template(mark: str, role: str) -> None:
    message = Message(role=role, content=f"before {mark} after")  # type: ignore[arg-type]
    content = message_fields(message)["content"]
    assert mark not in content
    assert content.replace("\u200b", "") == message.content


@pytest.mark.parametrize("mark", MARKS)
def test_words_with_a_broken_mark_are_found_in_the_text_they_came_from(mark: str) -> None:
    assert SourceText(f"before {mark} after").find(without_marks(f"before {mark} after"))


@pytest.mark.parametrize("text", ["a < b | c", "List<String>", "if x<3: [INSTALL]", "<p>x</p>", ""])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert without_marks(text) == text
