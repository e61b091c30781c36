"""What `extract_job` adds to its manifest: the posting's address and the user's own intent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from alfred.engine.context import RunContext
from alfred.engine.date_filters import as_date
from alfred.engine.skill_input import SkillInput
from alfred.engine.state import AlfredState
from alfred.nodes.application_words import find_intent
from alfred.nodes.extract_job.doubts import drop_doubtful, is_no_posting
from alfred.nodes.extract_job.header import read_header
from alfred.nodes.extract_job.labels import read_labels
from alfred.nodes.extract_job.schema_org import read_address, read_job_posting
from alfred.nodes.extract_job.wording import as_worded

_ADDRESS = re.compile(r"https?://[^\s<>\"'，。；、（）《》「」【】]{3,1900}", re.IGNORECASE)

_NICE = re.compile(
    r"nice[ -]to[ -]have|\b(?:is|are|as|be|considered) an? (?:big |strong |real |definite )?plus\b"
    r"|\bpreferred\b|\bbonus\b|\badvantageous\b|\bideally\b|优先|加分|更佳|为佳",
    re.IGNORECASE,
)
_MUST = re.compile(r"\b(?:must|required|mandatory|essential)\b|必须|必备|务必", re.IGNORECASE)


def has_something_to_read(state: AlfredState, _: RunContext) -> bool:
    """Say no where only the rules of `capture_experience` fire: the user tells of themselves."""
    matched = state.get("matched", [])
    return "extract_job" in matched or "capture_experience" not in matched


async def find_address(state: AlfredState, _: RunContext) -> dict[str, Any]:
    """Take the page's address, that of its only record, or the only one that stands in the text."""
    given = state.get("input")
    if given is None:
        return {}
    if given["modality"] == "link" and given["url"] is None:
        return {"url": read_address(given)}
    found = {address.rstrip(".,;:!?)]") for address in _ADDRESS.findall(given["text"])}
    only = found.pop() if len(found) == 1 and given["modality"] != "link" else None
    return {"url": given["url"] or only}


def read_known(given: SkillInput) -> dict[str, Any]:
    """Read what needs no model: the page's record, headers, labels, the user's own intent.

    A model takes a posting's "apply now" for the user's intent, so it is not asked for it.
    """
    intent = "apply" if find_intent(given) is not None else None
    header: dict[str, str] = {}
    if given["modality"] == "text":
        header = read_header(given["text"]) or read_labels(given["text"])
    return {**header, **read_job_posting(given), "user_intent": intent}


def settle_answer(
    out: dict[str, Any], variables: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Let plain words decide what a model gets wrong: wording, importance, what is no deadline.

    What is left out is said in a sentence.
    """
    given: SkillInput = variables["input"]
    has_extras = _NICE.search(given["text"]) is not None
    weighed = [_weighed(item, has_extras=has_extras) for item in out.get("requirements", [])]
    settled = as_worded(out, given["text"])
    if weighed:
        settled["requirements"] = weighed
    doubt = _doubt_about_deadline(out.get("deadline"), given)
    if doubt and given["modality"] != "link":
        del settled["deadline"]
    if not read_known(given).get("title") and is_no_posting(settled, given["text"]):
        return {}, []  # nothing found is no failure
    kept, dropped = drop_doubtful(settled, given["text"])
    return kept, [*doubt, *dropped, *_other_postings(given)]


def _doubt_about_deadline(words: str | None, given: SkillInput) -> list[str]:
    """Say why words are no deadline: they name no day, or one that has passed."""
    if not words:
        return []
    day = as_date(words, {"input": given})
    if day is None:
        return [f"The deadline “{words}” names no single day and is left out."]
    if day < given["received_at"][:10]:
        return [f"“{words}” has passed; as words about the past it is no deadline."]
    return []


def _other_postings(given: SkillInput) -> list[str]:
    """Say that a page lists several postings which could not be told apart."""
    count = sum(record["type"] == "JobPosting" for record in given["records"])
    if count < 2:
        return []
    return [f"The page lists {count} postings that can't be told apart. Save each one's own page."]


def _weighed(requirement: Mapping[str, Any], *, has_extras: bool) -> dict[str, Any]:
    """Set the importance that a requirement's own words state.

    Otherwise the model's stays, but that something is only nice to have needs a text that says so
    of anything: a small model deals such choices out at random.
    """
    words = str(requirement.get("text", ""))
    if _NICE.search(words):
        return {**requirement, "importance": "nice"}
    chosen = requirement.get("importance")
    if _MUST.search(words) or (chosen == "nice" and not has_extras):
        return {**requirement, "importance": "must"}
    return dict(requirement)
