"""Runs one node: known values, then the model, then evidence for each value, then actions."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from alfred.engine.action import Action
from alfred.engine.answer import AnswerValidator
from alfred.engine.context import FieldRead, Progress, RunContext
from alfred.engine.evidence import Evidence
from alfred.engine.extraction import Extraction, Question, call_llm
from alfred.engine.grounding import SourceText, ground
from alfred.engine.language_model import TextSink
from alfred.engine.manifest import Manifest
from alfred.engine.partial_json import PartialObject
from alfred.engine.rendering import Answer, render_actions
from alfred.engine.schema_place import SchemaPlace, place_of
from alfred.engine.skill_input import SkillInput
from alfred.engine.state import AlfredState, group, read_extracted
from alfred.engine.text_budget import fit_text
from alfred.engine.trace import event
from alfred.errors import AlfredError, ModelFailed, TemplateFailed

Update = dict[str, Any]
Out = dict[str, Any]
Entry = Callable[[AlfredState, RunnableConfig, Runtime[RunContext]], Awaitable[Update]]


def _nothing_known(_: SkillInput) -> Out:
    return {}


def _always(_: AlfredState, __: RunContext) -> bool:
    return True


async def _nothing_gathered(_: AlfredState, __: RunContext) -> Out:
    return {}


def _as_answered(out: Out, _: Mapping[str, Any]) -> tuple[Out, list[str]]:
    return out, []


@dataclass(frozen=True)
class Skip:
    """What `gather` returns where the node has nothing to work on, with a sentence that says so."""

    sentence: str


@dataclass(frozen=True, kw_only=True)
class Hooks:
    """What a node's Python adds to its manifest.

    `known` reads values from the input without a model, None for what need not be asked; the
    model is asked for the rest.
    `gate` says whether the node has anything to do here. `gather` looks up more variables,
    or finds that there is nothing to work on; then no model is asked.
    `refine` may drop or derive, never invent; it returns the answer and what it has to say.
    `support` gives the evidence where values rest on something other than the input's text.
    """

    known: Callable[[SkillInput], Out] = _nothing_known
    gate: Callable[[AlfredState, RunContext], bool] = _always
    gather: Callable[[AlfredState, RunContext], Awaitable[Out | Skip]] = _nothing_gathered
    refine: Callable[[Out, Mapping[str, Any]], tuple[Out, list[str]]] = _as_answered
    support: Callable[[Out, Mapping[str, Any]], dict[str, Evidence]] | None = None


def node_entry(name: str, hooks: Hooks | None = None) -> Entry:
    """Make the function that a graph registers for a node."""
    chosen = hooks or Hooks()

    async def entry(
        state: AlfredState, config: RunnableConfig, runtime: Runtime[RunContext]
    ) -> Update:
        step = int(config.get("metadata", {}).get("langgraph_step", 0))
        return await run_node(name, state, runtime.context, chosen, step=step)

    entry.__name__ = f"{name}_node"
    return entry


@dataclass(frozen=True, kw_only=True)
class _Result:
    """What one attempt of a node came to."""

    outcome: str
    reason: str
    out: Out | None = None
    actions: tuple[Action, ...] = ()
    errors: tuple[str, ...] = ()
    extraction: Extraction | None = None


async def run_node(
    name: str, state: AlfredState, context: RunContext, hooks: Hooks, *, step: int
) -> Update:
    """Run a node and return its update: its answer, its proposed actions, its event.

    A model's failure does not take the run down: it is told in `errors`, and what is known
    without the model goes on.
    """
    attempt = state.get("attempt", 0)
    began = time.monotonic()
    result = await _attempt(context.manifest(name), state, context, hooks)
    usage = result.extraction.usage if result.extraction else None
    happened = event(
        name,
        result.outcome,
        result.reason,
        attempt=attempt,
        step=step,
        milliseconds=int((time.monotonic() - began) * 1000),
        prompt_tokens=usage.prompt_tokens if usage else 0,
        completion_tokens=usage.completion_tokens if usage else 0,
    )
    update: Update = {
        "pending_actions": group(name, attempt, step, list(result.actions)),
        "errors": group(name, attempt, step, list(result.errors)),
        "events": group(name, attempt, step, [happened]),
        "extracted": group(name, attempt, step, result.out or {}),
    }
    return update


@dataclass
class _Attempt:
    """One attempt under way: what its steps hand to each other."""

    manifest: Manifest
    context: RunContext
    hooks: Hooks
    number: int
    variables: dict[str, Any]
    source: SourceText
    extraction: Extraction | None = None
    notes: list[str] = field(default_factory=list[str])

    def result(self, outcome: str, reason: str, out: Out, actions: list[Action]) -> _Result:
        return _Result(
            outcome=outcome,
            reason=reason,
            out=out,
            actions=tuple(actions),
            errors=tuple(self.notes),
            extraction=self.extraction,
        )


async def _attempt(
    manifest: Manifest, state: AlfredState, context: RunContext, hooks: Hooks
) -> _Result:
    if not hooks.gate(state, context):
        return _Result(outcome="SKIPPED", reason="GATE_CLOSED")
    given = state.get("input")
    if given is None:
        return _Result(outcome="FAILED", reason="NO_INPUT", errors=("There is no input.",))
    gathered = await hooks.gather(state, context)
    if isinstance(gathered, Skip):
        return _Result(outcome="SKIPPED", reason="NOTHING_GATHERED", errors=(gathered.sentence,))
    variables = {
        "input": given,
        "memory_context": state.get("memory_context", []),
        "extracted": {n: read_extracted(state, n) for n in state.get("extracted", {})},
        "gathered": gathered,
    }
    attempt = _Attempt(
        manifest=manifest,
        context=context,
        hooks=hooks,
        number=state.get("attempt", 0),
        variables=variables,
        source=SourceText(given["text"]),
    )
    known = hooks.known(given)
    missing = _schema_without(manifest, known)
    try:
        asked = await _ask(attempt, missing) if missing is not None else {}
    except ModelFailed as error:
        if not any(value is not None for value in known.values()):
            return _Result(outcome="FAILED", reason=_reason(error), errors=(str(error),))
        unread = ", ".join((missing or {}).get("properties", {}))
        attempt.notes.append(f"Not read ({unread}): {error}")
        asked = {}
    answered = {**asked, **{name: value for name, value in known.items() if value is not None}}
    out, remarks = hooks.refine(answered, {**variables, "out": answered})
    attempt.notes += [*_losses(attempt.extraction), *remarks]
    return _propose(attempt, out)


def _propose(attempt: _Attempt, out: Out) -> _Result:
    manifest, variables = attempt.manifest, {**attempt.variables, "out": out}
    support = attempt.hooks.support
    if support is not None:
        evidence = support(out, variables)
    else:
        evidence = ground(out, manifest.output_schema, attempt.source)
    if not _says_anything(evidence):
        return attempt.result("COMPLETED", "NOTHING_FOUND", {}, [])
    answer = Answer(
        node=manifest.name,
        turn_id=attempt.context.turn_id,
        attempt=attempt.number,
        variables=variables,
        evidence=evidence,
    )
    try:
        actions = render_actions(manifest.compiled.actions, answer, attempt.context.kinds)
    except TemplateFailed as error:
        attempt.notes.append(str(error))
        return attempt.result("FAILED", _reason(error), out, [])
    reason = "ACTIONS_PROPOSED" if actions else "NOTHING_PROPOSED"
    return attempt.result("COMPLETED", reason, out, actions)


async def _ask(attempt: _Attempt, schema: Mapping[str, Any]) -> Out:
    """Ask the model for the fields of a schema, within what it can read at once."""
    manifest, context = attempt.manifest, attempt.context
    given: SkillInput = attempt.variables["input"]
    model = context.model
    text, notes = fit_text(given["text"], model.context_tokens)
    seen = {**attempt.variables, "input": {**given, "text": text}}
    is_whole = schema is manifest.output_schema
    question = Question(
        node=manifest.name,
        attempt=attempt.number,
        system=manifest.compiled.system.render(seen),
        user=manifest.compiled.user.render(seen),
        schema=schema,
        validator=manifest.compiled.answers if is_whole else AnswerValidator(schema),
        source=given["text"],
        language=given["language"],
    )
    context.on_progress(Progress(text=f"{manifest.name}: reading with {model.name} …"))
    attempt.extraction = await call_llm(
        context, question, lambda: _field_reader(manifest, context, attempt.source)
    )
    attempt.notes += notes
    return attempt.extraction.out


def _field_reader(manifest: Manifest, context: RunContext, source: SourceText) -> TextSink:
    """Tell each field with its evidence as soon as it is decoded."""
    partial = PartialObject()

    def read(piece: str) -> None:
        for pointer, value in partial.feed(piece):
            if not isinstance(value, str) or not value.strip():
                continue
            span = source.find(value)
            evidence: Evidence = {"support": "ungrounded", "spans": [], "quote": ""}
            if _is_choice(manifest.output_schema, pointer, value):
                evidence["support"] = "classified"
            elif span is not None:
                quote = source.text[span["start"] : span["end"]]
                evidence = {"support": "grounded", "spans": [span], "quote": quote}
            context.on_progress(
                FieldRead(node=manifest.name, pointer=pointer, value=value, evidence=evidence)
            )

    return read


def _is_choice(schema: Mapping[str, Any], pointer: str, value: str) -> bool:
    place: SchemaPlace | None = place_of(schema)
    for step in pointer.split("/")[1:]:
        if place is None:
            return False
        place = place.item() if step.isdigit() else place.field(step)
    return place is not None and place.lists(value)


def _schema_without(manifest: Manifest, known: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the schema of what is still to be asked; None where nothing is."""
    schema = manifest.output_schema
    if not known:
        return schema
    properties: dict[str, Any] = schema.get("properties", {})
    left = {name: sub for name, sub in properties.items() if name not in known}
    required = [name for name in schema.get("required", []) if name in left]
    return {**schema, "properties": left, "required": required} if left else None


def _says_anything(evidence: Mapping[str, Evidence]) -> bool:
    """Say whether any value rests on something; a choice about nothing says nothing."""
    return any(leaf["support"] in ("grounded", "derived") for leaf in evidence.values())


def _losses(extraction: Extraction | None) -> list[str]:
    if extraction is None or not extraction.lost:
        return []
    reasons = dict.fromkeys(problem.message for problem in extraction.lost.values())
    return [f"{len(extraction.lost)} items of the answer were dropped: {'; '.join(reasons)}."]


def _reason(error: AlfredError) -> str:
    return error.code.replace(".", "_").upper()
