"""What a model is asked about a correction in words: which actions it means, what the answer is."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from alfred.engine.action import ActionKind
from alfred.engine.answer import AnswerValidator
from alfred.engine.context import Progress, RunContext
from alfred.engine.correction import Correction, ShownAction, correction_of
from alfred.engine.extraction import Extraction, Question, call_llm
from alfred.engine.manifest import Manifest
from alfred.engine.sandbox import Sandbox
from alfred.engine.skill_input import SkillInput
from alfred.engine.spoken_words import SpokenWords, without_news
from alfred.engine.state import AlfredState
from alfred.engine.template import Template, compile_template
from alfred.engine.text_budget import estimate_tokens, fit_text
from alfred.engine.yaml_text import read_yaml
from alfred.errors import ModelFailed

CORRECT = "correct"
"""The step that finds out what a correction concerns, and the instance its calls stand under."""
_FILE = Path(__file__).with_name("correction.yaml")
_NAMES = ("system", "user", "answer", "actions", "words")
_MAX_SHOWN_CHARS = 80
_MANY = re.compile(r"\b(?:all|both|every|each|everything|what)\b|[a-z]s\b|所有|全部|都|每|凡")
Out = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Revision:
    """A node's answer after a correction, and the ids of the actions that it discards."""

    out: Out
    discarded: list[str]
    extraction: Extraction
    notes: list[str]


@dataclass(frozen=True, kw_only=True)
class Revising:
    """What a node's answer is corrected with: its manifest, its variables, what it said before.

    `askable` are the fields that a model may be asked for. `is_read` where values are read from
    the input's text, so that one which stands neither there nor in the correction is no news.
    """

    manifest: Manifest
    instance: str
    variables: Mapping[str, Any]
    earlier: Out
    askable: Sequence[str]
    is_read: bool


async def revise(context: RunContext, state: AlfredState, revising: Revising) -> Revision:
    """Ask a node's model for its answer again, with the correction; one call where all goes well.

    A field that the model leaves out stays as it was. Errors: `ModelFailed` as `call_llm`.
    """
    correction = correction_of(state)
    assert correction is not None, "only a correction has a node asked again"
    shown = [one for one in correction["shown"] if one["node"] == revising.instance]
    labels = label_actions(shown, context)
    cleared = _cleared(revising, correction["unclear"])
    unclear = [words for words in correction["unclear"] if words not in cleared]
    schema, discard = _schema(revising, labels, unclear)
    question, notes = _question(context, correction, revising, labels, schema)
    context.on_progress(Progress(text=f"{revising.instance}: reading your correction …"))
    extraction = await call_llm(context, question)
    patch = dict(extraction.out)
    named = cast("list[str]", patch.pop(discard, []))
    given: SkillInput = revising.variables["input"]
    out = {**revising.earlier, **{name: value for name, value in patch.items() if value != []}}
    if revising.is_read:
        spoken = SpokenWords(correction["words"], given)
        out, put_back = without_news(out, revising.earlier, revising.manifest.output_schema, spoken)
        notes = [*notes, *put_back]
    for name in cleared.values():
        out.pop(name, None)
    return Revision(
        out=out,
        discarded=[labels[name]["id"] for name in named if name in labels],
        extraction=extraction,
        notes=notes,
    )


async def choose_nodes(
    context: RunContext, correction: Correction
) -> tuple[list[str], Extraction | None]:
    """Say which nodes' actions a correction is about; a model is asked where there are several.

    Where it can't tell, all are concerned: each is asked, and leaves alone what is not its own.
    """
    shown = correction["shown"]
    nodes = list(dict.fromkeys(one["node"] for one in shown))
    if len(nodes) < 2:
        return nodes, None
    labels = label_actions(shown, context)
    schema = {
        "type": "object",
        "properties": {
            "about": {
                "type": "array",
                "maxItems": len(labels),
                "items": {"enum": list(labels)},
                "description": _texts()["chosen"].render({}),
            }
        },
        "required": ["about"],
    }
    variables = _variables(correction, labels)
    question = Question(
        node=CORRECT,
        attempt=correction["attempt"],
        system=_texts()["choose.system"].render(variables),
        user=_texts()["choose.user"].render(variables),
        schema=schema,
        validator=AnswerValidator(schema),
        source=correction["rest"],
        language=context.language,
    )
    context.on_progress(Progress(text="Finding out what your correction is about …"))
    try:
        extraction = await call_llm(context, question)
    except ModelFailed:
        return nodes, None
    about = {labels[name]["node"] for name in extraction.out.get("about", [])}
    return [node for node in nodes if node in about] or nodes, extraction


def label_actions(shown: Sequence[ShownAction], context: RunContext) -> dict[str, ShownAction]:
    """Name actions as people do, by noun and place among their like: "reminder 2"."""
    nouns = [noun_of(context.kinds, one["kind"]) for one in shown]
    kinds_of: dict[str, set[str]] = {}
    for one, noun in zip(shown, nouns, strict=True):
        kinds_of.setdefault(noun, set()).add(one["kind"])
    total = Counter(one["kind"] for one in shown)
    seen: Counter[str] = Counter()
    labels: dict[str, ShownAction] = {}
    for one, noun in zip(shown, nouns, strict=True):
        seen[one["kind"]] += 1
        name = noun if len(kinds_of[noun]) == 1 else one["kind"]
        place = f" {seen[one['kind']]}" if total[one["kind"]] > 1 else ""
        labels[f"{name}{place}"] = one
    return labels


def noun_of(kinds: Mapping[str, ActionKind], name: str) -> str:
    """Return the noun by which people name what a kind writes; the kind's name, if it is gone."""
    return kinds[name].called[0] if name in kinds else name


def _schema(
    revising: Revising, labels: Mapping[str, ShownAction], unclear: Sequence[str]
) -> tuple[dict[str, Any], str]:
    """Make the node's schema with nothing required, and a field for what is to be discarded.

    That field is there only where the words discard something that code can't find, and names only
    actions that no other needs: a small model fills it with whatever it may.
    """
    schema = revising.manifest.output_schema
    properties: dict[str, Any] = {
        name: sub for name, sub in schema.get("properties", {}).items() if name in revising.askable
    }
    discard = "discard"
    while discard in schema.get("properties", {}):
        discard += "_"
    choices = [name for name, action in labels.items() if not action["is_needed"]]
    if unclear and choices:
        properties[discard] = {
            "type": "array",
            "maxItems": len(choices) if any(map(_MANY.search, unclear)) else len(unclear),
            "items": {"enum": choices},
            "description": _texts()["discarded"].render({}),
        }
    return {**schema, "properties": properties, "required": []}, discard


def _cleared(revising: Revising, unclear: Sequence[str]) -> dict[str, str]:
    """Find which unclear words name a field, by its name or the words that describe it."""
    found: dict[str, str] = {}
    properties: dict[str, Mapping[str, Any]] = revising.manifest.output_schema.get("properties", {})
    for words in unclear:
        fields = [
            name
            for name in revising.askable
            if revising.earlier.get(name) not in (None, [])
            and (
                name.replace("_", " ") == words
                or (len(words) > 1 and words in str(properties[name].get("description", "")))
            )
        ]
        if len(fields) == 1:
            found[words] = fields[0]
    return found


def _question(
    context: RunContext,
    correction: Correction,
    revising: Revising,
    labels: Mapping[str, ShownAction],
    schema: Mapping[str, Any],
) -> tuple[Question, list[str]]:
    """Put the original prompt, the earlier answer and the words together."""
    manifest, given = revising.manifest, cast(SkillInput, revising.variables["input"])
    asked = {name: revising.earlier.get(name) for name in revising.askable}
    added = {
        **_variables(correction, labels),
        "answer": json.dumps(asked, ensure_ascii=False),
    }
    room = context.model.context_tokens - estimate_tokens("".join(added.values()))
    text, notes = fit_text(given["text"], room)
    seen = {**revising.variables, "input": {**given, "text": text}}
    added["system"] = manifest.compiled.system.render(seen)
    added["user"] = manifest.compiled.user.render(seen)
    question = Question(
        node=manifest.name,
        instance=revising.instance,
        attempt=correction["attempt"],
        system=_texts()["revise.system"].render(added),
        user=_texts()["revise.user"].render(added),
        schema=schema,
        validator=AnswerValidator(schema),
        source=f"{given['text']}\n{correction['rest']}",
        language=given["language"],
    )
    return question, notes


def _variables(correction: Correction, labels: Mapping[str, ShownAction]) -> dict[str, str]:
    """Write the shown actions a line each, and the words as one JSON string."""
    lines = [f"{name}: {_told(one)}" for name, one in labels.items()]
    return {
        "actions": "\n".join(lines),
        "words": json.dumps(correction["rest"], ensure_ascii=False),
    }


def _told(action: ShownAction) -> str:
    values = (str(v) for v in action["args"].values() if isinstance(v, str | int | float))
    return ", ".join(" ".join(value.split())[:_MAX_SHOWN_CHARS] for value in values)


@cache
def _texts() -> dict[str, Template]:
    """Load the questions; their file is the package's own and holds no mistake."""
    document = cast("dict[str, Any]", read_yaml(_FILE.read_text(encoding="utf-8")).value)
    texts: dict[str, str] = {}
    for name, held in document.items():
        if isinstance(held, str):
            texts[name] = held
        else:
            parts = cast("dict[str, str]", held)
            texts |= {f"{name}.{part}": text for part, text in parts.items()}
    sandbox = Sandbox({})
    return {
        name: compile_template(text, names=_NAMES, sandbox=sandbox) for name, text in texts.items()
    }
