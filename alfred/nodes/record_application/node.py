"""What `record_application` adds to its manifest: the turn's posting and a status that was said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alfred.engine.action import reference
from alfred.engine.context import RunContext
from alfred.engine.evidence import Evidence
from alfred.engine.grounding import SourceText, ground
from alfred.engine.node import Skip
from alfred.engine.skill_input import SkillInput
from alfred.engine.state import AlfredState, read_extracted, read_pending_actions
from alfred.nodes.application_words import find_applied, find_intent

_NO_POSTING = {
    "zh": "没有岗位，投递记录无处可挂。",
    "en": "There is no posting that an application could belong to.",
}
_TEXTS = {
    "type": "object",
    "properties": {"channel": {"type": "string"}, "applied_on": {"type": "string"}},
}


async def find_posting(state: AlfredState, context: RunContext) -> dict[str, Any] | Skip:
    """Refer to the postings that this turn proposes and the user applies to."""
    postings = _wanted_postings(state)
    if not postings:
        return Skip(_NO_POSTING[context.language])
    return {"postings": postings}


def latest_posting(state: AlfredState) -> dict[str, str] | None:
    """Refer to the last posting that the turn proposes and the user applies to, if any."""
    postings = _wanted_postings(state)
    return postings[-1] if postings else None


def _wanted_postings(state: AlfredState) -> list[dict[str, str]]:
    """Refer to each posting beside which the user says that they apply, else to the last one."""
    proposed = [a for a in read_pending_actions(state) if a["kind"] == "upsert_job_posting"]
    wanted = [
        posting
        for posting in proposed
        if read_extracted(state, posting["node"]).get("user_intent") == "apply"
    ]
    return [reference(posting["id"]) for posting in wanted or proposed[-1:]]


def settle_status(
    out: dict[str, Any], variables: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Set applied only where the user says so; otherwise the posting is saved to apply to.

    Then it was not sent yet, and has neither channel nor day.
    """
    if find_applied(variables["input"]) is None:
        return {"status": "saved"}, []
    return {**out, "status": "applied"}, []


def support_values(out: dict[str, Any], variables: Mapping[str, Any]) -> dict[str, Evidence]:
    """Rest the status on the user's phrase, and the rest on the words they are."""
    given: SkillInput = variables["input"]
    texts = {name: value for name, value in out.items() if name != "status"}
    evidence = ground(texts, _TEXTS, SourceText(given["text"]))
    span = find_applied(given) if out["status"] == "applied" else find_intent(given)
    if span is not None:
        quote = given["text"][span["start"] : span["end"]]
        evidence["/status"] = {"support": "derived", "spans": [span], "quote": quote}
    return evidence
