from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from alfred.engine.action import Action, ActionKind, Arguments, RowId
from alfred.engine.date_filters import FILTERS
from alfred.engine.evidence import Evidence, is_tickable
from alfred.engine.grounding import SourceText, ground
from alfred.engine.manifest import ActionTemplate
from alfred.engine.rendering import Answer, render_actions
from alfred.engine.sandbox import Sandbox
from alfred.engine.template import compile_template

SOURCE = "Marram Ferries seeks a Harbour Planner, apply by 2 May 2026. You know tide tables."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "company": {"type": "string"},
        "title": {"type": "string"},
        "deadline": {"type": "string"},
        "remote": {"type": "boolean"},
        "tags": {"type": "array", "items": {"enum": ["sea", "land"]}},
        "wants": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "kind": {"enum": ["skill", "other"]}},
            },
        },
    },
}
INPUT = {
    "text": SOURCE,
    "url": "https://marram.example",
    "received_at": "2026-03-02T12:00:00+00:00",
    "timezone": "UTC",
    "language": "en",
}
NAMES = ("out", "input", "gathered", "extracted", "memory_context", "want", "day")


class Note(Arguments):
    text: Any
    extra: Any = None


class Mark(Arguments):
    text: Any = None
    kind: Any = None
    note: RowId | None = None


async def note(_: Any, __: Any) -> Any:
    raise AssertionError("rendering runs nothing")


async def mark(_: Any, __: Any) -> Any:
    raise AssertionError("rendering runs nothing")


KINDS = {
    "note": ActionKind(arguments=Note, handler=note),
    "mark": ActionKind(arguments=Mark, handler=mark, binds={"note": "note"}),
}


def template(
    kind: str, args: Mapping[str, Any], for_each: str | None = None, variable: str | None = None
) -> ActionTemplate:
    sandbox = Sandbox(dict(FILTERS))

    def compiled(source: Any) -> Any:
        return compile_template(source, names=NAMES, sandbox=sandbox)

    return ActionTemplate(
        kind=kind,
        args={name: compiled(source) for name, source in args.items()},
        for_each=compiled(for_each) if for_each else None,
        variable=variable,
    )


def render(out: Mapping[str, Any], *templates: ActionTemplate) -> list[Action]:
    answer = Answer(
        node="n",
        turn_id=UUID(int=1),
        attempt=0,
        variables={
            "out": out,
            "input": INPUT,
            "gathered": {"id": "7"},
            "extracted": {"other": {"company": "Nobody Ltd"}},
            "memory_context": [],
        },
        evidence=ground(out, SCHEMA, SourceText(SOURCE)),
    )
    return render_actions(templates, answer, KINDS)


def support(out: Mapping[str, Any], source: Any) -> Evidence:
    (action,) = render(out, template("note", {"text": source}))
    return action["evidence"]["text"]


def ticked(action: Action) -> bool:
    return all(map(is_tickable, action["evidence"].values()))


@pytest.mark.parametrize(
    ("out", "source", "expected"),
    [
        ({"company": "Marram Ferries"}, "{{ out.company }}", "grounded"),
        ({"company": "Gannet"}, "{{ out.company }}", "ungrounded"),
        ({"remote": True}, "{{ out.remote }}", "classified"),
        ({"company": "Marram Ferries"}, "{{ out.company | upper }}", "derived"),
        ({"company": "Gannet"}, "{{ out.company | upper }}", "ungrounded"),
        ({"deadline": "2 May 2026"}, "{{ out.deadline | as_date }}", "derived"),
        ({"deadline": "3 June 2026"}, "{{ out.deadline | as_date }}", "ungrounded"),
        ({"company": "Marram Ferries"}, "{{ out.company }} says", "derived"),
        (
            {"company": "Marram Ferries", "title": "Pilot"},
            "{{ out.title }} at {{ out.company }}",
            "ungrounded",
        ),
        ({"remote": True}, "{{ 'far' if out.remote else 'near' }}", "classified"),
        ({"tags": ["sea", "land"]}, "{{ out.tags }}", "classified"),
        ({"wants": [{"text": "tide tables", "kind": "skill"}]}, "{{ out.wants }}", "grounded"),
        ({"wants": [{"text": "juggling", "kind": "skill"}]}, "{{ out.wants }}", "ungrounded"),
        ({"wants": [{"text": "juggling"}]}, "{{ out.wants | length }}", "ungrounded"),
        ({}, "a fixed word", "literal"),
        ({}, "{{ input.url }}", "given"),
        ({}, "{{ gathered.id }}", "given"),
        ({}, "{{ extracted.other.company }}", "ungrounded"),
        (
            {"company": "Marram Ferries"},
            "{{ out.company }}, {{ extracted.other.company }}",
            "ungrounded",
        ),
    ],
)
def test_a_value_has_the_support_of_what_it_is_made_of(
    out: Mapping[str, Any], source: str, expected: str
) -> None:
    assert support(out, source)["support"] == expected


def test_a_computed_value_carries_all_the_words_that_it_is_made_of() -> None:
    out = {"company": "Marram Ferries", "title": "Harbour Planner"}
    evidence = support(out, "{{ out.title }} at {{ out.company }}")
    quotes = [SOURCE[span["start"] : span["end"]] for span in evidence["spans"]]
    assert quotes == ["Marram Ferries", "Harbour Planner"]


def test_a_choice_about_an_ungrounded_item_ticks_nothing() -> None:
    out = {
        "wants": [{"text": "juggling", "kind": "skill"}, {"text": "tide tables", "kind": "skill"}]
    }
    args = {"text": "{{ want.text }}", "kind": "{{ want.kind }}"}
    actions = render(out, template("mark", args, "{{ out.wants }}", "want"))
    assert [ticked(action) for action in actions] == [False, True]
    assert [a["evidence"]["kind"]["support"] for a in actions] == ["classified"] * 2


def test_days_computed_from_an_ungrounded_date_tick_nothing() -> None:
    args = {"text": "{{ day }}"}
    each = template("note", args, "{{ out.deadline | as_date | days_before(10, 20) }}", "day")
    known, invented = (
        render({"deadline": "2 May 2026"}, each),
        render({"deadline": "3 June 2026"}, each),
    )
    assert [a["args"]["text"] for a in known] == ["2026-04-22", "2026-04-12"]
    assert {a["evidence"]["text"]["support"] for a in known} == {"derived"}
    assert len(invented) == 2
    assert {a["evidence"]["text"]["support"] for a in invented} == {"ungrounded"}


def test_an_absent_optional_value_drops_the_argument_and_a_required_one_is_missing() -> None:
    (action,) = render(
        {}, template("note", {"text": "{{ out.title }}", "extra": "{{ out.company }}"})
    )
    assert (action["args"], action["missing"], action["evidence"]) == ({}, ["text"], {})
    assert action["origins"] == {"text": "/title", "extra": "/company"}
    (blank,) = render({"title": "  "}, template("note", {"text": "{{ out.title }}"}))
    assert blank["missing"] == ["text"]


def test_an_absent_list_and_one_that_is_none_give_no_actions() -> None:
    each = template("mark", {"text": "{{ want.text }}"}, "{{ out.wants }}", "want")
    assert render({}, each) == []
    assert render({"wants": []}, each) == []


def test_origins_name_the_place_of_the_answer_and_ids_follow_from_the_place_alone() -> None:
    each = template("mark", {"text": "{{ want.text }}"}, "{{ out.wants }}", "want")
    out = {"wants": [{"text": "tide tables"}, {"text": "Harbour"}]}
    first, again = render(out, each), render({"wants": [{"text": "x"}, {"text": "y"}]}, each)
    assert [a["origins"]["text"] for a in first] == ["/wants/0/text", "/wants/1/text"]
    assert [a["id"] for a in first] == [a["id"] for a in again]
    assert len({a["id"] for a in first}) == 2


def test_a_bound_argument_refers_to_the_latest_earlier_action_of_its_kind() -> None:
    one, two = template("note", {"text": "one"}), template("note", {"text": "two"})
    bound = template("mark", {"text": "x"})
    early, first, second, late = render({}, bound, one, two, bound)
    assert "note" not in early["args"]
    assert late["args"]["note"] == {"$ref": second["id"]}
    assert first["id"] != second["id"]
    (_, given) = render({}, one, template("mark", {"note": "{{ gathered.id }}"}))
    assert given["args"]["note"] == "7"


def test_what_an_answer_says_is_never_rendered_as_a_template() -> None:
    (action,) = render({"title": "{{ 7 * 7 }}"}, template("note", {"text": "{{ out.title }}"}))
    assert action["args"]["text"] == "{{ 7 * 7 }}"
