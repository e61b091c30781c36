"""Reads the fields of a node's answer from its text with a model, at once if it fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from alfred.engine.concurrency import CallLimit
from alfred.engine.context import FieldRead, RunContext
from alfred.engine.evidence import Evidence
from alfred.engine.excerpt import Excerpt, shifted
from alfred.engine.extraction import Extraction, Question
from alfred.engine.grounding import SourceText
from alfred.engine.language_model import TextSink, Usage
from alfred.engine.manifest import Manifest
from alfred.engine.partial_json import PartialObject
from alfred.engine.schema_place import SchemaPlace, place_of


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What is read, by which node instance, and how many calls may be under way at once.

    `variables` are the prompt's; the text of their `input` gives way to what is asked about.
    `excerpt` says where that text stands in the message, which shown evidence points into.
    """

    manifest: Manifest
    context: RunContext
    instance: str
    attempt: int
    variables: Mapping[str, Any]
    source: SourceText
    excerpt: Excerpt
    calls: CallLimit
    max_chunks: int

    def question(self, schema: Mapping[str, Any], text: str, instance: str) -> Question:
        """Ask for the fields of a schema in a text; the calls are journaled under `instance`."""
        manifest = self.manifest
        given = self.variables["input"]
        seen = {**self.variables, "input": {**given, "text": text}}
        return Question(
            node=manifest.name,
            instance=instance,
            attempt=self.attempt,
            system=manifest.compiled.system.render(seen),
            user=manifest.compiled.user.render(seen),
            schema=schema,
            validator=manifest.validator_of(schema),
            source=text,
            language=given["language"],
        )

    def field_reader(self, source: SourceText, offset: int = 0) -> TextSink:
        """Tell each field with its evidence as soon as it is decoded.

        `source` is what is asked about: the text from `offset` on.
        """
        partial = PartialObject()

        def read(piece: str) -> None:
            for pointer, value in partial.feed(piece):
                if isinstance(value, str) and value.strip():
                    found = shifted({pointer: self._evidence(pointer, value, source)}, offset)
                    (evidence,) = self.excerpt.all_in_source(found).values()
                    self.context.on_progress(
                        FieldRead(
                            node=self.instance, pointer=pointer, value=value, evidence=evidence
                        )
                    )

        return read

    def _evidence(self, pointer: str, value: str, source: SourceText) -> Evidence:
        span = source.find(value)
        if _is_choice(self.manifest.output_schema, pointer, value):
            return {"support": "classified", "spans": [], "quote": ""}
        if span is None:
            return {"support": "ungrounded", "spans": [], "quote": ""}
        quote = source.text[span["start"] : span["end"]]
        return {"support": "grounded", "spans": [span], "quote": quote}


@dataclass(frozen=True, kw_only=True)
class Answered:
    """The fields that were read, sentences about what was not, and what it has cost."""

    out: dict[str, Any]
    notes: tuple[str, ...]
    usage: Usage


def losses(found: Iterable[Extraction]) -> list[str]:
    """Say how many entries of answers were dropped, and why."""
    problems = [problem for each in found for problem in each.lost.values()]
    if not problems:
        return []
    reasons = dict.fromkeys(problem.message for problem in problems)
    return [f"{len(problems)} items of the answer were dropped: {'; '.join(reasons)}."]


def total(usages: Iterable[Usage]) -> Usage:
    """Add up what several questions have cost."""
    counted = list(usages)
    return Usage(
        prompt_tokens=sum(usage.prompt_tokens for usage in counted),
        cached_tokens=sum(usage.cached_tokens for usage in counted),
        completion_tokens=sum(usage.completion_tokens for usage in counted),
    )


def _is_choice(schema: Mapping[str, Any], pointer: str, value: str) -> bool:
    place: SchemaPlace | None = place_of(schema)
    for step in pointer.split("/")[1:]:
        if place is None:
            return False
        place = place.item() if step.isdigit() else place.field(step)
    return place is not None and place.lists(value)
