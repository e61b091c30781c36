"""What a person said in corrections, as something that values can rest on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

from alfred.engine.date_filters import as_date
from alfred.engine.evidence import Evidence
from alfred.engine.grounding import SourceText, ground
from alfred.engine.skill_input import SkillInput

_CLAUSES = re.compile(r"[,;，；。！!\n]+")
_PUT_BACK = {
    "zh": "“{value}”既不在原文里，也不是你说的；{name} 保持“{before}”。",
    "en": "“{value}” stands neither in the text nor in your words; {name} stays “{before}”.",
}


class SpokenWords:
    """The corrections of a turn, the oldest first, beside the input that they are about."""

    def __init__(self, words: Sequence[str], given: SkillInput) -> None:
        self.given = given
        self._sources = [SourceText(text) for text in reversed(words)]

    def quote(self, value: Any) -> str:
        """Quote the newest words that say a value; empty where none do.

        A day is said however it is written: a model may put it in the language of the source.
        """
        for source in self._sources:
            if isinstance(value, str):
                span = source.find(value)
            else:
                span = next(iter(source.number_places(value)), None)
            if span is not None:
                return source.text[span["start"] : span["end"]]
        return self._same_day(value) if isinstance(value, str) else ""

    def _same_day(self, value: str) -> str:
        variables = {"input": self.given}
        day = as_date(value, variables)
        clauses = (c.strip() for source in self._sources for c in _CLAUSES.split(source.text))
        return next((c for c in clauses if as_date(c, variables) == day), "") if day else ""


def said(
    evidence: Mapping[str, Evidence], out: Mapping[str, Any], spoken: SpokenWords
) -> dict[str, Evidence]:
    """Rest what the source does not say on the person's own words, where these say it."""
    found = dict(evidence)
    for pointer, leaf in evidence.items():
        if leaf["support"] == "ungrounded" and (quote := spoken.quote(_value_at(out, pointer))):
            found[pointer] = {"support": "said", "spans": [], "quote": quote}
    return found


def without_news(
    out: Mapping[str, Any],
    earlier: Mapping[str, Any],
    schema: Mapping[str, Any],
    spoken: SpokenWords,
) -> tuple[dict[str, Any], list[str]]:
    """Put back what a model changed into something that neither the source nor the person says.

    Returns the answer, and a sentence for each value that was put back.
    """
    kept = deepcopy(dict(out))
    notes: list[str] = []
    source = SourceText(spoken.given["text"])
    for pointer, leaf in said(ground(out, schema, source), out, spoken).items():
        before, value = _value_at(earlier, pointer), _value_at(out, pointer)
        *steps, last = _steps(pointer)
        if leaf["support"] != "ungrounded" or before in (None, value):
            continue
        if not _has_same_items(out, earlier, steps):
            continue  # its place holds something else now; it is shown as what it is
        holder = _follow(kept, steps)
        holder[int(last) if isinstance(holder, list) else last] = before
        told = _PUT_BACK[spoken.given["language"]]
        notes.append(told.format(value=value, name=pointer[1:], before=before))
    return kept, notes


def _has_same_items(out: Any, earlier: Any, steps: Sequence[str]) -> bool:
    """Say whether the lists on a way have as many items as before."""
    ways = [
        (_follow(out, steps[:end]), _follow(earlier, steps[:end])) for end in range(len(steps) + 1)
    ]
    lists = [cast("tuple[list[Any], list[Any]]", way) for way in ways if isinstance(way[0], list)]
    return all(len(now) == len(was) for now, was in lists)


def _value_at(value: Any, pointer: str) -> Any:
    return _follow(value, _steps(pointer))


def _follow(value: Any, steps: Sequence[str]) -> Any:
    """Go down by keys and indexes; None where they lead nowhere."""
    for step in steps:
        if isinstance(value, Mapping):
            value = cast("Mapping[str, Any]", value).get(step)
        elif isinstance(value, list) and int(step) < len(cast("list[Any]", value)):
            value = cast("list[Any]", value)[int(step)]
        else:
            return None
    return value


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
