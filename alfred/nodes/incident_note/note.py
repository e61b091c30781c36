"""What a note says: title, cause and services of a diagnosis's answer, each with its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from alfred.engine.context import RunContext
from alfred.engine.database import Role, Row
from alfred.engine.evidence import Evidence
from alfred.engine.node import Hooks
from alfred.engine.state import AlfredState, read_extracted
from alfred.nodes.diagnosis_shapes import items, mapping, text, texts
from alfred.nodes.incident_note.body import Told, write_body
from alfred.services.queries.diagnosis import load_run

DIAGNOSE = "diagnose"
"""The step of the domain's graph that leaves the answer in the state."""
MAX_TITLE, MAX_CAUSE, MAX_QUOTE = 120, 400, 600
_GIVEN: Evidence = {"support": "given", "spans": [], "quote": ""}
_UNGROUNDED: Evidence = {"support": "ungrounded", "spans": [], "quote": ""}


async def note_hooks(state: AlfredState, context: RunContext) -> Hooks:
    """Note an answer that states something about the system; no model is asked for it.

    Without such an answer, and for a fallback's, the node's gate is closed.
    """
    answer = read_extracted(state, DIAGNOSE)
    run = await _load_run(context) if answer.get("finding") else None
    if run is None:
        return Hooks(gate=lambda _, __: False)
    note = _Note(answer, run, context.timezone)

    async def gather(_: AlfredState, __: RunContext) -> dict[str, Any]:
        return note.beside()

    return Hooks(known=lambda _: note.values(), gather=gather, support=note.support)


async def _load_run(context: RunContext) -> Row | None:
    async with context.database.transaction(Role.READER, context.user_id) as connection:
        return await load_run(connection, context.turn_id)


@dataclass(frozen=True)
class _Note:
    """A run and its answer, as a note tells them."""

    answer: Mapping[str, Any]
    run: Row
    timezone: str

    def values(self) -> dict[str, Any]:
        """Give what a person may correct in words; an empty text where there is no cause yet."""
        service = self.run["scope"].get("service", "")
        return {
            "title": _cut(text(self.answer, "headline"), MAX_TITLE),
            "cause": _cut(text(mapping(self.answer, "cause"), "text"), MAX_CAUSE),
            "services": [name.strip() for name in service.split(",") if name.strip()],
        }

    def beside(self) -> dict[str, Any]:
        """Give what follows from the run, and the whole answer as Markdown."""
        zone = ZoneInfo(self.timezone)
        start = self.run["window_start"].astimezone(zone)
        end = self.run["window_end"].astimezone(zone)
        told = Told(
            question=self.run["question"],
            scope=self.run["scope"],
            start=start,
            end=end,
            answer=self.answer,
        )
        return {
            "run": str(self.run["id"]),
            "headline": text(self.answer, "headline"),
            "finding": self.answer["finding"],
            "window_start": start.isoformat(),
            "window_end": end.isoformat(),
            "body": write_body(told),
        }

    def support(self, out: dict[str, Any], _: Mapping[str, Any]) -> dict[str, Evidence]:
        """Rest what the answer says on the evidence that it cites; anything else on nothing."""
        own = self.values()
        cited = {"title": self._cited_by_answer(), "cause": self._cited_by_cause()}
        evidence: dict[str, Evidence] = {
            f"/{name}": self._derived(ids) if out[name] == own[name] else _UNGROUNDED
            for name, ids in cited.items()
            if out.get(name)
        }
        for index, service in enumerate(out.get("services", [])):
            is_own = service in own["services"]
            evidence[f"/services/{index}"] = _GIVEN if is_own else _UNGROUNDED
        return evidence

    def _cited_by_answer(self) -> list[str]:
        found = [each for s in items(self.answer, "sentences") for each in texts(s, "evidence")]
        return list(dict.fromkeys([*self._cited_by_cause(), *found]))

    def _cited_by_cause(self) -> list[str]:
        named = text(mapping(self.answer, "cause"), "fact")
        facts = [fact for fact in items(self.answer, "facts") if text(fact, "id") == named]
        return [each for fact in facts for each in texts(fact, "evidence")]

    def _derived(self, ids: Sequence[str]) -> Evidence:
        quote = " … ".join(self._quotes(ids))
        return {"support": "derived", "spans": [], "quote": _cut(quote, MAX_QUOTE)}

    def _quotes(self, ids: Sequence[str]) -> Iterator[str]:
        admitted = {text(each, "id"): each for each in items(self.answer, "evidence")}
        for name in ids:
            if name in admitted:
                lines = texts(admitted[name], "lines") or [text(admitted[name], "asked")]
                yield f"{name}: {' / '.join(lines)}"


def _cut(words: str, max_chars: int) -> str:
    """Write a text in one line that is no longer than allowed."""
    line = " ".join(words.split())
    return line if len(line) <= max_chars else f"{line[: max_chars - 1].rstrip()}…"
