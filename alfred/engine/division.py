"""Divides an input into the items it holds; a model is asked only where code cannot tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from alfred.engine.answer import AnswerValidator
from alfred.engine.context import Progress, RunContext
from alfred.engine.evidence import Span
from alfred.engine.excerpt import Excerpt, joined, opening
from alfred.engine.extraction import Question, call_llm
from alfred.engine.grounding import SourceText
from alfred.engine.item_borders import MAX_ITEMS, Outline
from alfred.engine.language_model import Usage
from alfred.engine.manifest import Manifest
from alfred.engine.normalised_text import NormalisedText
from alfred.engine.skill_input import Record, Section, SkillInput
from alfred.engine.text_borders import lines_of
from alfred.errors import ModelFailed

MAX_SHARED_CHARS = 1_500
"""How much of what stands before the first item is read with each."""
MAX_OUTLINED = 60
"""Paragraphs whose beginnings a model is shown."""
_OUTLINE_CHARS, _LEAST_CHARS = 3_000, 60
"""Characters of the outline together, and of each paragraph at least."""


@dataclass(frozen=True)
class Item:
    """One item as an input of its own, and where its words stand in the whole."""

    given: SkillInput
    excerpt: Excerpt


@dataclass(frozen=True, kw_only=True)
class Division:
    """The items of an input, at least one; what was left out; and what asking has cost."""

    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


async def divide(given: SkillInput, manifest: Manifest, context: RunContext) -> Division:
    """Find the items of an input.

    A page has one for each record of the manifest's type. A text is divided where a label counts
    them; where several paragraphs announce one, a model says which of them begin an item. An
    input that is not certain to hold several is one item.
    Errors: none of the model's; where it fails, the input is one item, and a note says so.
    """
    if given["modality"] == "link":
        return _by_records(given, manifest.items.record)
    if not (manifest.items.labels or manifest.items.signs):
        return _undivided(given)
    outline = Outline(given["text"], manifest.items)
    if starts := outline.counted_starts():
        return _by_starts(given, starts)
    if manifest.items.question is None or not outline.candidates():
        return _undivided(given)
    try:
        return await _by_question(given, outline, manifest, context)
    except ModelFailed as error:
        note = f"It could not be told whether the text holds several items: {error}"
        return Division(items=_undivided(given).items, notes=(note,))


def _undivided(given: SkillInput) -> Division:
    return Division(items=(Item(given, Excerpt.whole(given["text"])),))


def _by_records(given: SkillInput, kind: str | None) -> Division:
    blocks = _record_blocks(given, kind)
    if len(blocks) < 2:
        return _undivided(given)
    # The page's address is that of the list, not of an item in it.
    shared: SkillInput = {**given, "url": None}
    items = [_item(shared, joined([span], given["text"]), [record]) for span, record in blocks]
    return _bounded(items)


def _by_starts(given: SkillInput, starts: Sequence[int], usage: Usage | None = None) -> Division:
    """Divide a text; what stands before the first start belongs to each item."""
    text = given["text"]
    ends = [*starts[1:], len(text)]
    before = Span(start=0, end=_shared_end(text, starts[0]))
    items = [
        _item(given, joined([before, Span(start=start, end=end)], text), [])
        for start, end in zip(starts, ends, strict=True)
    ]
    return _bounded(items, usage or Usage())


def _bounded(items: Sequence[Item], usage: Usage | None = None) -> Division:
    note = f"The text holds more than {MAX_ITEMS} items; the first {MAX_ITEMS} are read."
    return Division(
        items=tuple(items[:MAX_ITEMS]),
        notes=(note,) if len(items) > MAX_ITEMS else (),
        usage=usage or Usage(),
    )


def _item(given: SkillInput, excerpt: Excerpt, records: list[Record]) -> Item:
    sections = [Section(name="main", start=0, end=len(excerpt.text))]
    own: SkillInput = {**given, "text": excerpt.text, "sections": sections, "records": records}
    return Item(own, excerpt)


def _shared_end(text: str, start: int) -> int:
    if start <= MAX_SHARED_CHARS:
        return start
    return text.rfind("\n", 0, MAX_SHARED_CHARS) + 1 or MAX_SHARED_CHARS


def _record_blocks(given: SkillInput, kind: str | None) -> list[tuple[Span, Record]]:
    """Find the lines of each record of a kind in a page's text; empty where they don't add up.

    A record's lines stand in the section `data` below a line with its type.
    """
    wanted = [record for record in given["records"] if record["type"] == kind]
    section = next((s for s in given["sections"] if s["name"] == "data"), None)
    if len(wanted) < 2 or section is None:
        return []
    types = {record["type"] for record in given["records"]}
    base, end = section["start"], section["end"]
    lines = lines_of(given["text"][base:end])
    heads = [(base + start, line) for start, line in lines if line in types]
    ends = [*(place for place, _ in heads[1:]), end]
    spans = [
        Span(start=place, end=until)
        for (place, line), until in zip(heads, ends, strict=True)
        if line == kind
    ]
    return list(zip(spans, wanted, strict=True)) if len(spans) == len(wanted) else []


async def _by_question(
    given: SkillInput, outline: Outline, manifest: Manifest, context: RunContext
) -> Division:
    """Ask which paragraphs begin an item, and what it is; code then decides which do."""
    shown = _shown(outline, given["text"])
    choices = {shown[number]: number for number in outline.candidates() if number in shown}
    schema = _begins_schema(manifest, list(choices))
    question = Question(
        node=manifest.name,
        instance=f"{manifest.name}#items",
        attempt=0,  # a correction changes what is read of an item, never where items begin
        system=manifest.items.question or "",
        user="\n".join(shown.values()),
        schema=schema,
        validator=AnswerValidator(schema),
        source=given["text"],
        language=given["language"],
    )
    context.on_progress(Progress(text=f"{manifest.name}: looking for several items …"))
    answer = await call_llm(context, question)
    named = {choices[found["begins"]]: found for found in answer.out.get("items", [])}
    kept = _confirmed(named, outline, manifest, given["text"])
    if len(kept) < 2:
        return Division(items=_undivided(given).items, usage=answer.usage)
    return _by_starts(given, outline.starts_at(kept), answer.usage)


def _shown(outline: Outline, text: str) -> dict[int, str]:
    """Give the beginning of each paragraph, numbered: the more, the fewer there are."""
    paragraphs = outline.paragraphs[:MAX_OUTLINED]
    each = max(_LEAST_CHARS, _OUTLINE_CHARS // len(paragraphs))
    return {
        number: f"{number + 1}. {opening(text[p.start : p.end], each)}"
        for number, p in enumerate(paragraphs)
    }


def _begins_schema(manifest: Manifest, choices: list[str]) -> dict[str, Any]:
    """Let an answer name candidates only, each with what tells it from the others."""
    fields: dict[str, Any] = manifest.output_schema.get("properties", {})
    identity = {name: fields[name] for name in manifest.items.identity if name in fields}
    entry = {
        "type": "object",
        "properties": {"begins": {"enum": choices}, **identity},
        "required": ["begins"],
    }
    entries = {"type": "array", "maxItems": MAX_ITEMS + 1, "items": entry}
    return {"type": "object", "properties": {"items": entries}, "required": ["items"]}


def _confirmed(
    named: Mapping[int, Mapping[str, Any]], outline: Outline, manifest: Manifest, text: str
) -> list[int]:
    """Keep the paragraphs that begin an item of its own, which a small model says of too many.

    It states there what it is, by the first of the identity's fields, and differs from every item
    before in one that both state. The others are parts of the item before.
    """
    kept: list[int] = []
    known: list[dict[str, str]] = []
    numbers = sorted(named)
    for number, following in zip(numbers, [*numbers[1:], len(outline.paragraphs)], strict=True):
        start, end = outline.paragraphs[number].start, outline.paragraphs[following - 1].end
        source = SourceText(text[start:end])
        stated = {
            name: NormalisedText(value).text
            for name in manifest.items.identity
            if isinstance(value := named[number].get(name), str) and source.find(value)
        }
        is_named = not manifest.items.identity or manifest.items.identity[0] in stated
        if is_named and all(_differs(stated, other) for other in known):
            kept.append(number)
            known.append(stated)
    return kept


def _differs(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return any(name in other and other[name] != value for name, value in one.items())
