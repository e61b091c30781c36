"""Trims what a model copied too much of, and spells it as the source does; nothing is added."""

from __future__ import annotations

import re
from typing import Any

from alfred.engine.grounding import SourceText
from alfred.nodes.extract_job.labels import ANY_LABEL

FIELDS = ("company", "title", "location", "deadline")
_PRAISE = re.compile(
    r"^(?:an? )?(?:experienced|skilled|seasoned|talented|motivated|passionate) ", re.IGNORECASE
)
_JOINING = re.compile(r"(?:^|\s)(?:of|in|at|the|de|von|für)$", re.IGNORECASE)


def as_worded(out: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the answer with its values worded as the source words them.

    A label in front goes (`Company: Alder Labs`), and so does what praises the applicant
    before a title (`experienced …`), a place behind it (`… in Ulm`), and a place behind a company
    whose name also stands without it. What is not in the source stays as it is, to be marked so.
    """
    source = SourceText(text)
    worded = dict(out)
    for field in FIELDS:
        value = worded.get(field)
        if isinstance(value, str):
            worded[field] = _as_spelled(_without_label(value), source)
    title, place = worded.get("title"), worded.get("location")
    if isinstance(title, str):
        bare = _PRAISE.sub("", title)
        worded["title"] = bare.removesuffix(f" in {place}") if place else bare
    company = _without_place(worded.get("company"), place, source)
    return worded if company is None else {**worded, "company": company}


def _without_label(value: str) -> str:
    label = ANY_LABEL.match(value)
    return (value[label.end() :] or value) if label else value


def _as_spelled(value: str, source: SourceText) -> str:
    span = source.find(value)
    if span is None:
        return value
    return " ".join(source.text[span["start"] : span["end"]].split())


def _without_place(company: Any, place: Any, source: SourceText) -> str | None:
    """Take a place off the end of a company that stands somewhere without it; None otherwise.

    Only a place with its region is taken: a city alone is part of many a name.
    """
    if not (isinstance(company, str) and isinstance(place, str) and "," in place):
        return None
    name = company.removesuffix(place).rstrip(" ,·-–—|")
    if not name or name == company or _JOINING.search(name):
        return None
    ends = [span["end"] for span in source.places(name)]
    return name if any(not source.text[end:].lstrip().startswith(place) for end in ends) else None
