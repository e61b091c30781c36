"""One attempt of a node instance: known values, then the model, then evidence, then actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from alfred.engine.action import Action
from alfred.engine.canonical import digest
from alfred.engine.chunk_reading import read_fields
from alfred.engine.concurrency import CallLimit
from alfred.engine.context import RunContext
from alfred.engine.correction import HeldAnswer, held_answer, is_concerned, spoken
from alfred.engine.correction_question import Revising, revise
from alfred.engine.division import Item
from alfred.engine.evidence import Evidence
from alfred.engine.grounding import SourceText, ground
from alfred.engine.hooks import Hooks, Out, Skip
from alfred.engine.language_model import Usage
from alfred.engine.manifest import Manifest
from alfred.engine.node_reading import Reading
from alfred.engine.rendering import Answer, render_actions
from alfred.engine.spoken_words import SpokenWords, said
from alfred.engine.state import AlfredState, read_extracted
from alfred.errors import AlfredError, ModelFailed, TemplateFailed


@dataclass(frozen=True, kw_only=True)
class Result:
    """What one attempt of a node instance came to."""

    outcome: str
    reason: str
    out: Out | None = None
    actions: tuple[Action, ...] = ()
    errors: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    held: HeldAnswer | None = None
    discarded: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Task:
    """What an instance has to do: one item of the input, read by one node."""

    manifest: Manifest
    context: RunContext
    hooks: Hooks
    instance: str
    item: Item
    calls: CallLimit
    max_chunks: int


async def attempt_item(task: Task, state: AlfredState) -> Result:
    """Run one attempt on one item.

    A model's failure does not take the run down: it is told in `errors`, and what is known
    without the model goes on.
    """
    given = task.item.given
    own: AlfredState = {**state, "input": given}
    gathered = await task.hooks.gather(own, task.context)
    if isinstance(gathered, Skip):
        return Result(outcome="SKIPPED", reason="NOTHING_GATHERED", errors=(gathered.sentence,))
    variables = {
        "input": given,
        "memory_context": state.get("memory_context", []),
        "extracted": {n: read_extracted(state, n) for n in state.get("extracted", {})},
        "gathered": gathered,
        "corrections": spoken(state),
    }
    attempt = _Attempt(
        task=task,
        number=state.get("attempt", 0),
        state=state,
        variables=variables,
        source=SourceText(given["text"]),
    )
    return await attempt.run()


@dataclass
class _Attempt:
    """One attempt under way: what its steps hand to each other."""

    task: Task
    number: int
    state: AlfredState
    variables: dict[str, Any]
    source: SourceText
    usage: Usage = field(default_factory=Usage)
    notes: list[str] = field(default_factory=list[str])
    held: HeldAnswer | None = None
    discarded: tuple[str, ...] = ()

    async def run(self) -> Result:
        known = self.task.hooks.known(self.task.item.given)
        missing = self.task.manifest.schema_without(known)
        asked = self._prompt() if missing is not None else ""
        earlier = held_answer(self.state, self.task.instance)
        if earlier is not None and is_concerned(self.state, self.task.instance):
            return await self._revise(earlier, known)
        if earlier is not None and earlier["prompt"] == asked:
            self.held = earlier
            self.notes += earlier["notes"]
            return self._finish(earlier["out"])
        return await self._read(known, missing, asked)

    async def _read(
        self, known: Mapping[str, Any], missing: Mapping[str, Any] | None, prompt: str
    ) -> Result:
        is_whole = True
        try:
            asked = await self._ask(missing) if missing is not None else {}
        except ModelFailed as error:
            if not any(value is not None for value in known.values()):
                return Result(outcome="FAILED", reason=reason_of(error), errors=(str(error),))
            unread = ", ".join((missing or {}).get("properties", {}))
            self.notes.append(f"Not read ({unread}): {error}")
            asked, is_whole = {}, False
        stated = {name: value for name, value in known.items() if value is not None}
        answered = {**asked, **stated}
        if is_whole:
            self.held = HeldAnswer(prompt=prompt, out=answered, notes=list(self.notes))
        return self._finish(answered)

    async def _revise(self, earlier: HeldAnswer, known: Mapping[str, Any]) -> Result:
        """Ask for the answer again with the person's words.

        Where that fails, or would leave nothing to propose, the earlier answer stands.
        """
        task = self.task
        self.held = earlier
        revising = Revising(
            manifest=task.manifest,
            instance=task.instance,
            variables=self.variables,
            earlier=earlier["out"],
            askable=[
                name
                for name in task.manifest.output_schema.get("properties", {})
                if known.get(name, name) is not None
            ],
            is_read=task.hooks.support is None,
        )
        try:
            async with task.calls:
                revision = await revise(task.context, self.state, revising)
        except ModelFailed as error:
            self.notes.append(f"The correction was not read: {error}")
            return self._finish(earlier["out"])
        self.usage = revision.extraction.usage
        self.notes += revision.notes
        self.discarded = tuple(revision.discarded)
        revised = self._finish(revision.out)
        if revised.actions:
            held = HeldAnswer(prompt=earlier["prompt"], out=revision.out, notes=[])
            return replace(revised, held=held)
        self.notes = ["The correction would leave nothing to propose, so that nothing is changed."]
        return self._finish(earlier["out"])

    def _prompt(self) -> str:
        """Name what is asked: an answer is kept as long as the question stays the same."""
        compiled = self.task.manifest.compiled
        return digest(
            [compiled.system.render(self.variables), compiled.user.render(self.variables)]
        )

    def _finish(self, answered: Out) -> Result:
        out, remarks = self.task.hooks.refine(answered, {**self.variables, "out": answered})
        self.notes += remarks
        return self._propose(out)

    async def _ask(self, schema: Mapping[str, Any]) -> Out:
        """Ask the model for the fields of a schema."""
        task = self.task
        reading = Reading(
            manifest=task.manifest,
            context=task.context,
            instance=task.instance,
            attempt=self.number,
            variables=self.variables,
            source=self.source,
            excerpt=task.item.excerpt,
            calls=task.calls,
            max_chunks=task.max_chunks,
        )
        answered = await read_fields(reading, schema)
        self.usage = answered.usage
        self.notes += answered.notes
        return answered.out

    def _propose(self, out: Out) -> Result:
        task, variables = self.task, {**self.variables, "out": out}
        evidence = task.item.excerpt.all_in_source(self._evidence(out, variables))
        if self.variables["corrections"]:
            spoken_words = SpokenWords(self.variables["corrections"], task.item.given)
            evidence = said(evidence, out, spoken_words)
        if not _says_anything(evidence):
            return self._result("COMPLETED", "NOTHING_FOUND", {}, [])
        answer = Answer(
            node=task.instance,
            turn_id=task.context.turn_id,
            attempt=self.number,
            variables=variables,
            evidence=evidence,
        )
        try:
            templates = task.manifest.compiled.actions
            actions = render_actions(templates, answer, task.context.kinds)
        except TemplateFailed as error:
            self.notes.append(str(error))
            return self._result("FAILED", reason_of(error), out, [])
        reason = "ACTIONS_PROPOSED" if actions else "NOTHING_PROPOSED"
        return self._result("COMPLETED", reason, out, actions)

    def _evidence(self, out: Out, variables: Mapping[str, Any]) -> dict[str, Evidence]:
        if self.task.hooks.support is not None:
            return self.task.hooks.support(out, variables)
        return ground(out, self.task.manifest.output_schema, self.source)

    def _result(self, outcome: str, reason: str, out: Out, actions: list[Action]) -> Result:
        return Result(
            outcome=outcome,
            reason=reason,
            out=out,
            actions=tuple(actions),
            errors=tuple(self.notes),
            usage=self.usage,
            held=self.held,
            discarded=self.discarded,
        )


def said_of(result: Result, words: str) -> Result:
    """Let each of a result's sentences begin with the item that it is about."""
    return replace(result, errors=tuple(f"{words}: {error}" for error in result.errors))


def reason_of(error: AlfredError) -> str:
    """Make an event's reason of an error's code."""
    return error.code.replace(".", "_").upper()


def _says_anything(evidence: Mapping[str, Evidence]) -> bool:
    """Say whether any value rests on something; a choice about nothing says nothing."""
    return any(leaf["support"] in ("grounded", "derived", "said") for leaf in evidence.values())
