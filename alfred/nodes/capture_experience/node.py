"""What `capture_experience` adds to its manifest: when it runs, and summaries that were said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from alfred.engine.context import RunContext
from alfred.engine.grounding import SourceText
from alfred.engine.state import AlfredState

MAX_SUMMARY = 400
_SENTENCE = re.compile(r"[^。！？!?；;\n]+?(?:[。！？!?；;\n]|\.(?=\s)|$)")
_DROPPED = {
    "zh": "去掉了一段原文没有的经历：{summary}",
    "en": "An experience was dropped because the text does not tell it: {summary}",
}


def tells_experience(state: AlfredState, _: RunContext) -> bool:
    """Say whether the user speaks of what they did; a plain posting then costs no second call."""
    return "capture_experience" in state.get("matched", [])


def keep_told(
    out: dict[str, Any], variables: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Let every summary be the user's own words, since it becomes a row that a résumé rests on.

    A summary that is not in the text gives way to the sentence that names the experience's
    organization, role or period; an experience of which the text names none is dropped. What the
    user says in a correction are their own words too.
    """
    given = variables["input"]
    sources = [SourceText(words) for words in (given["text"], *variables.get("corrections", ()))]
    kept: list[dict[str, Any]] = []
    notes: list[str] = []
    for experience in out.get("experiences", []):
        told = (_told_summary(experience, source) for source in sources)
        summary = next((words for words in told if words is not None), None)
        if summary is None:
            notes.append(_DROPPED[given["language"]].format(summary=experience["summary"]))
        else:
            kept.append({**experience, "summary": summary})
    return {"experiences": kept}, notes


def _told_summary(experience: Mapping[str, Any], source: SourceText) -> str | None:
    if source.find(experience["summary"]) is not None:
        return experience["summary"]
    for name in ("organization", "role", "period"):
        span = source.find(experience[name]) if name in experience else None
        if span is not None:
            return _sentence_at(source.text, span["start"])
    return None


def _sentence_at(text: str, offset: int) -> str | None:
    for found in _SENTENCE.finditer(text):
        if found.end() > offset:
            return found[0].strip()[:MAX_SUMMARY] or None
    return None
