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
    wide = sum(char >= "\u2e80" for char in text)
    return math.ceil(wide / CJK_CHARS_PER_TOKEN + (len(text) - wide) / LATIN_CHARS_PER_TOKEN)


def fit_text(text: str, context_tokens: int) -> tuple[str, list[str]]:
    """Cut a text to what fits beside prompt and answer, at the end of a line.

    Returns the text, and a sentence about what was left out, if anything was.
    """
    budget = max(256, context_tokens - MAX_ANSWER_TOKENS - PROMPT_TOKENS)
    needed = estimate_tokens(text)
    if needed <= budget:
        return text, []
    rough = text[: int(len(text) * budget / needed)]
    kept = rough[: rough.rfind("\n") + 1] or rough
    return kept, [
        f"The text is too long for the model: {len(kept):,} of {len(text):,} characters were read."
    ]
