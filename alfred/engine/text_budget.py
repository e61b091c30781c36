"""How much of a text a model can read at once."""

from __future__ import annotations

import math

from alfred.engine.extraction import MAX_ANSWER_TOKENS

PROMPT_TOKENS = 1024
"""Room for the instruction and the schema's rendering."""
LATIN_CHARS_PER_TOKEN = 3.2
CJK_CHARS_PER_TOKEN = 1.2
"""Both lower than usual texts have, so that an estimate errs on the safe side."""


def estimate_tokens(text: str) -> int:
    """Estimate a text's tokens without the model's tokenizer."""
    wide = sum(map(_is_wide, text))
    return math.ceil(_tokens(wide, len(text) - wide))


def room_for_text(context_tokens: int) -> int:
    """Say how many tokens of a model's context are left for a text."""
    return max(256, context_tokens - MAX_ANSWER_TOKENS - PROMPT_TOKENS)


def fits(text: str, context_tokens: int) -> bool:
    """Say whether a model can read a text at once."""
    return fitting_end(text, 0, room_for_text(context_tokens)) == len(text)


def fit_text(text: str, context_tokens: int) -> tuple[str, list[str]]:
    """Cut a text to what fits beside prompt and answer, at the end of a line if one is near.

    Returns the text, and a sentence about what was left out, if anything was.
    """
    end = fitting_end(text, 0, room_for_text(context_tokens))
    if end == len(text):
        return text, []
    line_end = text.rfind("\n", 0, end) + 1
    kept = text[: line_end if line_end > end // 2 else end]
    return kept, [
        f"The text is too long for the model: {len(kept):,} of {len(text):,} characters were read."
    ]


def fitting_end(text: str, start: int, room: int) -> int:
    """Find the end of the longest piece from `start` on that has at most `room` tokens.

    It counts the piece itself, since a text may be denser here than elsewhere.
    """
    if _tokens(len(text) - start, 0) <= room:  # though every character were a wide one
        return len(text)
    wide = 0
    for place in range(start, len(text)):
        wide += _is_wide(text[place])
        if _tokens(wide, place + 1 - start - wide) > room:
            return place
    return len(text)


def _is_wide(char: str) -> bool:
    return char >= "\u2e80"


def _tokens(wide: int, narrow: int) -> float:
    return wide / CJK_CHARS_PER_TOKEN + narrow / LATIN_CHARS_PER_TOKEN
