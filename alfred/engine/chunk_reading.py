"""Asks a model for a node's fields: in one question, or chunk by chunk where the text is long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from alfred.engine.chunk_merge import ChunkAnswer, merge_answers
from alfred.engine.chunking import chunk_text, middle_of
from alfred.engine.concurrency import in_order
from alfred.engine.context import Progress
from alfred.engine.excerpt import opening, shifted
from alfred.engine.extraction import Extraction, call_llm, recall_answer
from alfred.engine.grounding import SourceText, ground
from alfred.engine.node_reading import Answered, Reading, losses, total
from alfred.engine.text_budget import fit_text, fits, room_for_text
from alfred.errors import AnswerInvalid, ModelFailed

MAX_ASKED_AGAIN = 8
"""Failed chunks that are asked for again; where more fail, it is not for their text."""
GIVE_UP_AFTER = 3
"""Chunks in a row that a model does not answer at all; it is then asked for no more."""


async def read_fields(reading: Reading, schema: Mapping[str, Any]) -> Answered:
    """Ask a model for the fields of a schema.

    A text that the model can read at once is one question. A longer one is cut short, or read in
    chunks if the manifest says so: each with a schema that requires nothing, so that a chunk may
    say nothing of a field. Chunks that fail are asked for again by themselves; what is still
    unread then is told with its first words, and the others stay.
    Errors: `ModelFailed` where nothing was read at all.
    """
    context, text = reading.context, reading.source.text
    model = context.model
    if reading.manifest.chunking.enabled and not fits(text, model.context_tokens):
        return await _Chunks(reading, {**schema, "required": []}).read()
    read, notes = fit_text(text, model.context_tokens)
    question = reading.question(schema, read, reading.instance)
    async with reading.calls:
        context.on_progress(Progress(text=f"{reading.instance}: reading with {model.name} …"))
        found = await call_llm(context, question, lambda: reading.field_reader(reading.source))
    return Answered(out=found.out, notes=(*notes, *losses([found])), usage=found.usage)


@dataclass(frozen=True)
class _Chunk:
    """A part of the text and its place among all: "3", or "3b" for the second half of it."""

    place: str
    start: int
    end: int

    def of(self, text: str) -> str:
        """Give its words."""
        return text[self.start : self.end]


@dataclass(frozen=True)
class _Outcome:
    """What became of a chunk: an answer whose evidence points into the text, or a failure."""

    chunk: _Chunk
    found: Extraction | None = None
    answer: ChunkAnswer | None = None
    failure: ModelFailed | None = None


class _Chunks:
    """The chunks of one text under way."""

    def __init__(self, reading: Reading, schema: Mapping[str, Any]) -> None:
        self._reading = reading
        self._schema = schema
        self._text = reading.source.text
        room = room_for_text(reading.context.model.context_tokens)
        self._spans = chunk_text(self._text, reading.manifest.chunking, room)
        self._chunks = [
            _Chunk(str(number), span["start"], span["end"])
            for number, span in enumerate(self._spans[: reading.max_chunks], start=1)
        ]
        self._unanswered = 0
        self._given_up: ModelFailed | None = None

    async def read(self) -> Answered:
        """Read every chunk and merge what was read; errors as `read_fields`."""
        outcomes = await in_order(self._read(chunk) for chunk in self._chunks)
        outcomes = await self._ask_again(outcomes)
        answers = [outcome.answer for outcome in outcomes if outcome.answer]
        if not answers:
            raise next(outcome.failure for outcome in outcomes if outcome.failure)
        found = [outcome.found for outcome in outcomes if outcome.found]
        out, notes = merge_answers(answers)
        unread = [self._unread(o.chunk, o.failure) for o in outcomes if o.failure]
        return Answered(
            out=out,
            notes=(*self._left_out(), *unread, *losses(found), *notes),
            usage=total(each.usage for each in found),
        )

    async def _read(self, chunk: _Chunk) -> _Outcome:
        async with self._reading.calls:
            if self._given_up is not None:
                return _Outcome(chunk, failure=self._given_up)
            try:
                outcome = await self._ask(chunk)
            except ModelFailed as failure:
                self._unanswered += not _may_be_its_text(failure)
                if self._unanswered >= GIVE_UP_AFTER:
                    self._given_up = failure
                return _Outcome(chunk, failure=failure)
        self._unanswered = 0
        return outcome

    async def _ask(self, chunk: _Chunk) -> _Outcome:
        reading, context, start = self._reading, self._reading.context, chunk.start
        source = SourceText(chunk.of(self._text))
        question = reading.question(self._schema, source.text, f"{reading.instance}#{chunk.place}")
        told = f"part {chunk.place} of {len(self._chunks)}"
        context.on_progress(
            Progress(text=f"{reading.instance}: reading {told} with {context.model.name} …")
        )
        found = await recall_answer(context, question)
        if found is None:
            found = await call_llm(context, question, lambda: reading.field_reader(source, start))
        evidence = ground(found.out, self._schema, source)
        return _Outcome(chunk, found, ChunkAnswer(found.out, shifted(evidence, start)))

    async def _ask_again(self, outcomes: list[_Outcome]) -> list[_Outcome]:
        """Ask for failed chunks alone, in halves where a shorter text may have a better answer."""
        failed = [outcome for outcome in outcomes if outcome.failure]
        if len(failed) > MAX_ASKED_AGAIN or self._given_up is not None:
            return outcomes
        pieces = {outcome.chunk: self._pieces(outcome) for outcome in failed}
        again = [piece for each in pieces.values() for piece in each]
        kept = [outcome for outcome in outcomes if not pieces.get(outcome.chunk)]
        read = await in_order(self._read(piece) for piece in again)
        return sorted([*kept, *read], key=lambda outcome: outcome.chunk.start)

    def _pieces(self, outcome: _Outcome) -> list[_Chunk]:
        chunk, failure = outcome.chunk, outcome.failure
        if failure is None:
            return []
        if not _may_be_its_text(failure) and failure.code != "model.timeout":
            return [chunk] if failure.retryable else []
        middle = middle_of(self._text, chunk.start, chunk.end)
        if middle is None:
            return []
        return [
            _Chunk(f"{chunk.place}a", chunk.start, middle),
            _Chunk(f"{chunk.place}b", middle, chunk.end),
        ]

    def _unread(self, chunk: _Chunk, failure: ModelFailed) -> str:
        words = opening(chunk.of(self._text))
        return f"Part {chunk.place} of {len(self._chunks)} was not read (“{words}”): {failure}"

    def _left_out(self) -> list[str]:
        if len(self._chunks) == len(self._spans):
            return []
        end = self._chunks[-1].end
        return [
            f"The text is too long to be read whole: {end:,} of {len(self._text):,} characters"
            f" were read, up to “{opening(self._text[end:])}”."
        ]


def _may_be_its_text(failure: ModelFailed) -> bool:
    """Say whether another text might have been answered: the model did answer."""
    return isinstance(failure, AnswerInvalid) or failure.code == "model.refused"
