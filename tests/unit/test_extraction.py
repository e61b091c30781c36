from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import pytest

from alfred.engine import extraction
from alfred.engine.answer import AnswerValidator
from alfred.engine.context import JournalKey, RunContext
from alfred.engine.extraction import Question, call_llm
from alfred.engine.language_model import Completion, TextSink
from alfred.engine.registry import Registry
from alfred.errors import AnswerInvalid, ModelFailed
from alfred.models.scripted import Answer, ScriptedModel

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "company": {"type": "string"},
        "wants": {"type": "array", "items": {"type": "string", "maxLength": 12}},
    },
    "required": ["company"],
}
SOURCE = "Marram Ferries seeks somebody who knows tide tables."
GOOD = json.dumps({"company": "Marram Ferries"})
BROKEN = '{"company": "Cormorant Cruises", "wants": "zephyr"}'
QUESTION = Question(
    node="n",
    attempt=0,
    system="Read it.",
    user=SOURCE,
    schema=SCHEMA,
    validator=AnswerValidator(SCHEMA),
    source=SOURCE,
    language="en",
)


class Memory:
    """A journal that keeps its entries in this process."""

    def __init__(self) -> None:
        self.entries: dict[JournalKey, Completion] = {}

    async def recall(self, call: JournalKey) -> Completion | None:
        return self.entries.get(call)

    async def record(self, call: JournalKey, completion: Completion) -> None:
        self.entries.setdefault(call, completion)


def context(model: ScriptedModel, journal: Memory | None = None) -> RunContext:
    return RunContext(
        turn_id=UUID(int=1),
        user_id=UUID(int=2),
        message_id=UUID(int=3),
        received_at=datetime(2026, 3, 2, tzinfo=UTC),
        timezone="UTC",
        language="en",
        # An extraction asks a model and writes its journal; it has no use for the rest.
        database=cast("Any", None),
        open_model=lambda: model,
        journal=journal or Memory(),
        registry=Registry({}, ()),
        kinds={},
        approvals=cast("Any", None),
        on_progress=lambda _: None,
    )


def cut_off(text: str) -> Completion:
    return Completion(text=text, finish_reason="length")


def down(code: str = "model.unreachable") -> ModelFailed:
    return ModelFailed(code, "The server is away.")


@pytest.fixture
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "TRANSPORT_PAUSES_S", (0.0, 0.0))


async def failure(answers: Sequence[Answer]) -> tuple[ModelFailed, ScriptedModel]:
    model = ScriptedModel(answers)
    with pytest.raises(ModelFailed) as caught:
        await call_llm(context(model), QUESTION)
    return caught.value, model


async def test_a_good_answer_costs_one_call() -> None:
    model = ScriptedModel([GOOD])
    found = await call_llm(context(model), QUESTION)
    assert (found.out, found.calls, model.calls) == ({"company": "Marram Ferries"}, 1, 1)


async def test_a_broken_answer_is_repaired_at_most_twice_and_its_text_is_kept() -> None:
    model = ScriptedModel([BROKEN, BROKEN, GOOD])
    found = await call_llm(context(model), QUESTION)
    assert (found.calls, model.calls) == (3, 3)
    error, broken = await failure([BROKEN, BROKEN, BROKEN, GOOD])
    assert isinstance(error, AnswerInvalid)
    assert (error.code, broken.calls) == ("model.invalid_output", 3)
    assert error.details["raw"] == BROKEN
    assert "/wants" in str(error)


@pytest.mark.parametrize(
    "bad",
    [
        BROKEN,
        '```json\n{"company": "Cormorant Cruises"}\n```',
        '{"company": "Cormorant Cruises"} and zephyr',
        '{"company": "Cormorant Cruises", "company": "zephyr"}',
        '{"company": 7, "zephyr": "Cormorant Cruises"',
        '{"company": ["Cormorant Cruises"]}',
        '{"wants": ["zephyr zephyr zephyr", "Cormorant Cruises"]}',
    ],
)
async def test_the_broken_answer_never_appears_in_the_next_prompt(bad: str) -> None:
    model = ScriptedModel([bad, GOOD])
    await call_llm(context(model), QUESTION)
    first, second = model.requests
    assert second.messages[0] == first.messages[0]
    assert [message.role for message in second.messages] == ["system", "user"]
    note = second.messages[1].content.removeprefix(SOURCE)
    assert note
    assert note != second.messages[1].content
    for word in ("Cormorant", "Cruises", "zephyr"):
        assert word not in note


async def test_a_cut_off_answer_is_asked_for_once_more_with_twice_the_room() -> None:
    model = ScriptedModel([cut_off('{"company": "Mar'), GOOD])
    assert (await call_llm(context(model), QUESTION)).calls == 2
    room = [request.max_tokens for request in model.requests]
    assert room == [extraction.MAX_ANSWER_TOKENS, 2 * extraction.MAX_ANSWER_TOKENS]
    error, twice = await failure([cut_off('{"company"'), cut_off('{"company": "'), GOOD])
    assert (error.code, twice.calls) == ("model.truncated", 2)
    assert error.details["raw"] == '{"company": "'


async def test_truncations_and_repairs_share_one_bound() -> None:
    error, model = await failure([BROKEN, cut_off("{"), BROKEN, GOOD])
    assert (error.code, model.calls) == ("model.invalid_output", 3)


@pytest.mark.usefixtures("_no_pauses")
async def test_a_server_that_is_away_is_asked_three_times_for_each_answer() -> None:
    model = ScriptedModel([down(), down(), BROKEN, down("model.overloaded"), GOOD])
    found = await call_llm(context(model), QUESTION)
    assert (found.calls, model.calls) == (2, 5)
    error, away = await failure([down(), down(), down(), GOOD])
    assert (error.code, away.calls) == ("model.unreachable", 3)


@pytest.mark.usefixtures("_no_pauses")
@pytest.mark.parametrize(
    "code", ["model.refused", "model.no_key", "model.missing", "model.timeout"]
)
async def test_what_cannot_get_better_is_not_tried_again(code: str) -> None:
    error, model = await failure([down(code), GOOD])
    assert (error.code, model.calls) == (code, 1)


async def test_good_items_stay_and_lost_ones_have_a_reason() -> None:
    answer = {"company": "Marram Ferries", "wants": ["tide tables", "far too long a wish"]}
    model = ScriptedModel([json.dumps(answer)])
    found = await call_llm(context(model), QUESTION)
    assert found.out["wants"] == ["tide tables"]
    assert list(found.lost) == ["/wants/1"]
    assert model.calls == 1


async def test_a_second_run_is_answered_from_the_journal_repairs_included() -> None:
    journal = Memory()
    first = await call_llm(context(ScriptedModel([BROKEN, GOOD]), journal), QUESTION)
    silent = ScriptedModel([])
    again = await call_llm(context(silent, journal), QUESTION)
    assert again.out == first.out
    assert (again.calls, silent.calls) == (2, 0)


async def test_each_try_has_a_sink_of_its_own() -> None:
    heard: list[list[str]] = []

    def listen() -> TextSink:
        heard.append([])
        return heard[-1].append

    await call_llm(context(ScriptedModel([cut_off('{"company": "Mar'), GOOD])), QUESTION, listen)
    assert ["".join(pieces) for pieces in heard] == ['{"company": "Mar', GOOD]
