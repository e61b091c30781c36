"""What a call keeps: whatever a model asks and a source says, it can be sealed and stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alfred.errors import ProbeFailed
from alfred.probes.arguments import check_schema, storable
from alfred.probes.probe import Finding, Window
from alfred.probes.tool_call import Kind, ToolCall, is_sealed
from alfred.probes.toolbox import MAX_ASKED_CHARS, MAX_NAME_CHARS, MAX_WHERE_CHARS, Toolbox
from alfred.services.diagnosis_run import RecordToolCall

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
HOUR = Window(start=NOW - timedelta(hours=1), end=NOW)
RUN = UUID("9b2f1c1e-7b0f-4f6e-8a4e-0d5a4f4b1c2d")


class Answers:
    """A tool that takes any arguments and answers what it was made with."""

    name = "any"
    kind: Kind = "other"
    description = "Anything."
    parameters: Mapping[str, Any] = {"type": "object"}
    is_primary = True
    timeout_s = 5.0

    def __init__(self, answer: Finding | ProbeFailed) -> None:
        self._answer = answer

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        if isinstance(self._answer, ProbeFailed):
            raise self._answer
        return self._answer

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> Mapping[str, Any]:
        return {"scope": "".join(scope.values())}

    async def aclose(self) -> None:
        """Nothing is held."""


async def ask(
    answer: Finding | ProbeFailed, arguments: Mapping[str, Any] | None = None, name: str = "any"
) -> ToolCall:
    return await Toolbox([Answers(answer)]).call(name, arguments or {}, HOUR, [], round_=1)


def is_kept(call: ToolCall) -> bool:
    """Say whether a call is sealed and can be recorded."""
    fields = {k: v for k, v in call.items() if k != "id"}
    RecordToolCall.model_validate({"run": RUN, "evidence_id": call["id"], **fields})
    return is_sealed(call) and is_sealed(json.loads(json.dumps(call)))


ODD = st.text(st.characters(codec=None), max_size=60)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=3),
    max_leaves=8,
)


@given(texts=st.lists(ODD, max_size=5), arguments=st.dictionaries(ODD, ANY, max_size=4), name=ODD)
async def test_whatever_is_asked_and_answered_can_be_recorded(
    texts: list[str], arguments: dict[str, Any], name: str
) -> None:
    said = "".join(texts)
    finding = Finding(asked=said, where=said, lines=tuple(texts))
    for call in (
        await ask(finding, arguments),
        await ask(finding, arguments, name),
        await ask(ProbeFailed("probe.answer", said, hint=said)),
    ):
        assert is_kept(call)
        assert not [line for line in call["lines"] if "\n" in line or "\x1b" in line]


async def test_nul_and_half_characters_in_arguments_are_replaced_before_the_tool_is_asked() -> None:
    call = await ask(Finding(asked="a", where="b"), {"a\x00": ["\ud800", {"b": "c\udfff"}]})
    assert call["outcome"] == "empty"
    assert call["arguments"] == {"a\ufffd": ["\ufffd", {"b": "c\ufffd"}]}


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "arguments",
    [
        *({"a": float("nan")}, {"a": float("inf")}, {"a": 2**63}, {"a": "x" * 5_000}),
        *({"a": object()}, nested(30), nested(5_000)),
    ],
)
async def test_arguments_that_nobody_could_mean_are_refused(arguments: dict[str, Any]) -> None:
    call = await ask(Finding(asked="a", where="b"), arguments)
    assert (call["outcome"], call["arguments"]) == ("refused", {})
    assert "too long, too deep, or hold a number that is none" in call["error"]
    assert is_kept(call)
    assert storable(arguments) is None


async def test_a_name_a_question_and_a_place_are_bounded() -> None:
    finding = Finding(asked="a" * 9_000, where=", ".join(["/var/log/a.log"] * 500), lines=("x",))
    call = await ask(finding)
    assert len(call["asked"]) == MAX_ASKED_CHARS
    assert len(call["where"]) == MAX_WHERE_CHARS
    assert is_kept(call)
    unknown = await ask(finding, name="\x1b[31m" + "x" * 5_000)
    assert len(unknown["tool"]) == MAX_NAME_CHARS
    assert unknown["error"].startswith("There is no tool '[31mx")
    assert is_kept(unknown)
    assert (await ask(finding, name=" \x00 "))["tool"] == "?"


async def test_a_first_look_keeps_no_odd_text_either() -> None:
    (call,) = await Toolbox([Answers(Finding(asked="", where=""))]).first_look(
        HOUR, {"service": "a\ud800"}
    )
    assert call["arguments"] == {"scope": "a\ufffd"}
    assert is_kept(call)


@pytest.mark.parametrize(
    "place", ["http://127.0.0.1:9/schema", "file:///etc/hostname", "#/$defs/none"]
)
def test_a_schema_that_refers_elsewhere_is_refused_and_nothing_is_fetched(place: str) -> None:
    with pytest.raises(ValueError, match="write out what a"):
        check_schema({"type": "object", "properties": {"a": {"$ref": place}}})


def test_a_schema_may_refer_to_itself() -> None:
    own: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/b"}},
        "$defs": {"b": {}},
    }
    assert check_schema(own) == own
