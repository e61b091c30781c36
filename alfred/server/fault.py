"""Where in the code an error arose: what a log may hold of it, since its words may be a user's."""

from __future__ import annotations

import traceback
from typing import cast

MAX_FRAMES = 20


def place_of(error: BaseException) -> str:
    """Name an error's kind and the way that led to it, the innermost place first.

    Of several at once the first is told, and of an error that another one caused both.
    """
    if isinstance(error, BaseExceptionGroup):
        first: BaseException = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
        return place_of(first)
    frames = reversed(traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:])
    way = " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames)
    told = f"{type(error).__name__} at {way or 'an unknown place'}"
    cause = error.__cause__
    return told if cause is None else f"{told}, caused by {place_of(cause)}"
