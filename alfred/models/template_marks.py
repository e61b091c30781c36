"""Words that look like the marks of a chat template, written so that no model obeys them.

A prompt is one text in the end: some servers, llama.cpp among them, take the marks of the model's
template for what they are wherever they stand, so that a captured text could end the user's
message and begin one of the system.
"""

from __future__ import annotations

import re

_GAP = "\u200b"
"""Invisible, and no difference to grounding."""
_MARKS = re.compile(
    r"<(?=[|｜]|/?(?:s|bos|eos|start_of_turn|end_of_turn|tool_call|tool_response|think)>)"
    r"|<<(?=/?SYS>>)|\[(?=/?INST\])",
    re.IGNORECASE,
)


def without_marks(text: str) -> str:
    """Break up each mark by an invisible character; other text stays as it is."""
    return _MARKS.sub(lambda found: found[0] + _GAP, text)
