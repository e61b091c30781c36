"""What `generate_resume` adds to its manifest: its sources; what they don't say is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alfred.engine.action import Action, reference
from alfred.engine.context import RunContext
from alfred.engine.database import Role
from alfred.engine.evidence import Evidence, is_tickable
from alfred.engine.node import Skip
from alfred.engine.state import AlfredState, read_pending_actions
from alfred.nodes.application_words import find_applied
from alfred.nodes.record_application.node import latest_posting
from alfred.services.queries.resume_sources import describe_experience, list_resume_sources
from alfred.services.resume import Source, supported_lines

MAX_SOURCES = 60
_NOTHING = {
    "zh": "还没有任何经历，写不出简历；先讲讲你做过什么。",
    "en": "There is no experience to write a résumé from yet; tell what you have done first.",
}
_DROPPED = {
    "zh": "简历去掉了一条没有依据的内容（{reason}）：{text}",
    "en": "A résumé line was dropped because its sources don't say it ({reason}): {text}",
}


def is_still_to_apply(state: AlfredState, _: RunContext) -> bool:
    """Say no where the user tells that they have applied: the résumé is already sent."""
    given = state.get("input")
    return given is not None and find_applied(given) is None


async def find_sources(state: AlfredState, context: RunContext) -> dict[str, Any] | Skip:
    """Number what a résumé may rest on: stored rows first, then this turn's proposals."""
    async with context.database.transaction(Role.READER, context.user_id) as connection:
        stored = await list_resume_sources(connection, limit=MAX_SOURCES)
    proposed = [
        {
            "table": "experience",
            "id": reference(action["id"]),
            "text": describe_experience(_supported(action)),
        }
        for action in read_pending_actions(state)
        if action["kind"] == "record_experience" and not action["missing"]
    ]
    found = [*stored, *proposed][-MAX_SOURCES:]
    if not found:
        return Skip(_NOTHING[context.language])
    sources = [{"number": number, **source} for number, source in enumerate(found, start=1)]
    return {
        "sources": sources,
        "listing": "\n".join(f"{s['number']}. {s['text']}" for s in sources),
        "target": _target(read_pending_actions(state)),
        "posting": latest_posting(state),
    }


def drop_unsupported(
    out: dict[str, Any], variables: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Drop every line that says what its sources don't, and tell which."""
    kept, dropped = supported_lines(out.get("lines", []), variables["gathered"]["sources"])
    told = _DROPPED[variables["input"]["language"]]
    return {"lines": kept}, [told.format(text=text, reason=reason) for text, reason in dropped]


def support_lines(out: dict[str, Any], variables: Mapping[str, Any]) -> dict[str, Evidence]:
    """Rest each line on the words of its sources, which stand in other messages."""
    sources: Sequence[Source] = variables["gathered"]["sources"]
    texts = {source["number"]: source["text"] for source in sources}
    evidence: dict[str, Evidence] = {}
    for index, line in enumerate(out["lines"]):
        quote = " … ".join(texts[number] for number in line["sources"])
        evidence[f"/lines/{index}/text"] = {"support": "derived", "spans": [], "quote": quote}
    return evidence


def _supported(action: Action) -> dict[str, Any]:
    """Leave out what the user never said: no line may rest on it, even if the rest is approved."""
    evidence = action["evidence"]
    return {
        name: value
        for name, value in action["args"].items()
        if name not in evidence or is_tickable(evidence[name])
    }


def _target(actions: Sequence[Action]) -> str:
    wanted = {"upsert_job_posting": ("title", "company_name"), "link_requirement": ("text",)}
    lines: list[str] = []
    for action in actions:
        told = [action["args"].get(name) for name in wanted.get(action["kind"], ())]
        if words := " ".join(part for part in told if part):
            lines.append(words)
    return "\n".join(lines)
