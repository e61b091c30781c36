from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alfred.engine.answer import (
    AnswerProblem,
    AnswerValidator,
    Validation,
    drop_nulls,
    parse_answer,
    repair_note,
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "company": {"type": "string", "description": "Name of the employer"},
        "title": {"type": "string", "maxLength": 40},
        "remote": {"type": "boolean"},
        "salary": {"type": "integer"},
        "level": {"enum": ["junior", "senior", "unknown"]},
        "contact": {
            "type": "object",
            "properties": {"mail": {"type": "string"}},
            "required": ["mail"],
        },
        "requirements": {
            "type": "array",
            "maxItems": 4,
            "items": {
                "type": "object",
                "properties": {
                    "kind": {"enum": ["skill", "degree"]},
                    "text": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["text"],
            },
        },
        "bonus": {
            "anyOf": [
                {"type": "object", "properties": {"n": {"type": "integer"}}},
                {"type": "null"},
            ]
        },
    },
    "required": ["company", "title"],
}
VALIDATOR = AnswerValidator(SCHEMA)


def validated(answer: dict[str, Any], source: str = "") -> Validation:
    return VALIDATOR.validate(answer, source)


def rules(validation: Validation) -> list[tuple[str, str]]:
    return [(problem.pointer, problem.rule) for problem in validation.problems]


@pytest.mark.parametrize(
    ("text", "pointer", "rule"),
    [
        ("", "", "empty"),
        ("  \n", "", "empty"),
        ('```json\n{"a": 1}\n```', "", "fenced"),
        ('{"a": 1} I hope this helps', "", "trailing"),
        ('{"a": 1}{"b": 2}', "", "trailing"),
        ('Sure! {"a": 1}', "", "syntax"),
        ('{"a": 1', "", "syntax"),
        ("{'a': 1}", "", "syntax"),
        ('{"a": 1,}', "", "syntax"),
        ('{"a": "line\nbreak"}', "", "syntax"),
        ('\ufeff{"a": 1}', "", "syntax"),
        ("[1]", "", "not_object"),
        ("null", "", "not_object"),
        ('{"a": 1, "a": 2}', "/a", "duplicate"),
        ('{"x": [{"a": 1, "a": 1}]}', "/x/0/a", "duplicate"),
        ('{"a": NaN}', "/a", "number"),
        ('{"a": [-Infinity]}', "/a/0", "number"),
        ('{"a": 1e999}', "/a", "number"),
        ('{"a": 9223372036854775808}', "/a", "number"),
        ('{"a": %s}' % ("9" * 10_000), "/a", "number"),
        ('{"a": "\\ud800"}', "/a", "characters"),
        ('{"a": "x\\u0000y"}', "/a", "characters"),
        ('{"a/b": "\\udc00"}', "/a~1b", "characters"),
        ('{"\\u0000": 1}', "", "characters"),
        ('{"a": ' + "[" * 100_000, "", "size"),
        ('{"a": ' + "[" * 80 + "]" * 80 + "}", "/a" + "/0" * 64, "size"),
        ('{"a": "' + "x" * 1_000_001 + '"}', "", "size"),
    ],
)
def test_text_that_is_not_one_plain_object_is_a_problem(text: str, pointer: str, rule: str) -> None:
    parsed = parse_answer(text)
    assert parsed.value is None
    assert [(p.pointer, p.rule) for p in parsed.problems] == [(pointer, rule)]


def test_a_truncated_answer_is_not_even_parsed() -> None:
    assert parse_answer('{"a": 1}', "length").problems[0].rule == "truncated"
    assert parse_answer('{"a": 1}', "refused").problems[0].rule == "refused"


def test_the_largest_whole_numbers_are_fine() -> None:
    text = '{"a": 9223372036854775807, "b": -9223372036854775808, "c": 1e3}'
    assert parse_answer(text).value == {"a": 2**63 - 1, "b": -(2**63), "c": 1000.0}


@given(st.text() | st.text(alphabet='{}[]:,"\\u0dnNaIf123-eE '))
def test_parsing_never_raises(text: str) -> None:
    parsed = parse_answer(text)
    assert (parsed.value is None) == bool(parsed.problems)


def test_nulls_are_dropped_at_any_depth() -> None:
    value = {"a": None, "b": [None, {"c": None, "d": 0}], "e": False, "f": {}}
    assert drop_nulls(value) == {"b": [{"d": 0}], "e": False, "f": {}}


def test_a_good_answer_passes_unchanged() -> None:
    answer = {
        "company": "Nordlicht",
        "title": "Engineer",
        "remote": True,
        "requirements": [{"kind": "skill", "text": "Go"}],
    }
    assert validated(answer, "Nordlicht seeks an Engineer with Go, remote") == Validation(answer)


def test_an_absent_required_value_at_the_top_is_no_problem() -> None:
    assert validated({"title": "Engineer"}).value == {"title": "Engineer"}
    assert validated({"company": None, "title": None}).value == {}


def test_a_required_value_of_a_nested_object_is_needed() -> None:
    assert rules(validated({"contact": {}})) == [("/contact", "required")]


@pytest.mark.parametrize(
    ("answer", "pointer", "rule", "wanted"),
    [
        ({"remote": "true"}, "/remote", "type", "boolean"),
        ({"salary": "12"}, "/salary", "type", "integer"),
        ({"salary": 1.5}, "/salary", "type", "integer"),
        ({"company": 1688}, "/company", "type", "string"),
        ({"level": "chief"}, "/level", "enum", "junior, senior, unknown"),
        ({"title": "y" * 41}, "/title", "limit", "maxLength 40"),
        ({"contact": {"mail": "a", "fax": "b"}}, "/contact", "closed", "mail"),
        ({"requirements": {"text": "Go"}}, "/requirements", "type", "array"),
        ({"bonus": {"n": "x"}}, "/bonus/n", "type", "integer"),
        ({"bonus": 3}, "/bonus", "type", "null / object"),
    ],
)
def test_a_wrong_value_is_a_problem_with_its_pointer(
    answer: dict[str, Any], pointer: str, rule: str, wanted: str
) -> None:
    validation = validated(answer)
    assert validation.value is None
    assert [(p.pointer, p.rule, p.wanted) for p in validation.problems] == [(pointer, rule, wanted)]


def test_an_unknown_field_is_a_problem_that_lists_the_known_ones() -> None:
    problem = validated({"compny": "Nordlicht"}).problems[0]
    assert problem.rule == "closed"
    assert "company" in problem.wanted


def test_a_bad_item_is_lost_and_the_good_ones_are_kept() -> None:
    good = {"kind": "skill", "text": "Go"}
    answer = {"requirements": [good, {"kind": "magic", "text": "x"}, {"kind": "skill"}, good]}
    validation = validated(answer)
    assert validation.value == {"requirements": [good, good]}
    assert {at: p.rule for at, p in validation.lost.items()} == {
        "/requirements/1": "enum",
        "/requirements/2": "required",
    }


def test_only_the_innermost_bad_item_is_lost() -> None:
    answer = {"requirements": [{"text": "Go", "tags": ["a", 5]}, {"text": "C"}]}
    validation = validated(answer)
    assert validation.value == {"requirements": [{"text": "Go", "tags": ["a"]}, {"text": "C"}]}
    assert list(validation.lost) == ["/requirements/0/tags/1"]


def test_an_item_whose_own_list_is_all_bad_is_lost_as_a_whole() -> None:
    answer = {"requirements": [{"text": "Go", "tags": [5, 6]}, {"text": "C"}]}
    validation = validated(answer)
    assert validation.value == {"requirements": [{"text": "C"}]}
    assert list(validation.lost) == ["/requirements/0"]


def test_a_list_without_one_good_item_calls_for_a_repair() -> None:
    validation = validated({"requirements": [{"kind": "x", "text": "Go"}, {"text": 1}]})
    assert validation.value is None
    assert rules(validation) == [("/requirements/0/kind", "enum"), ("/requirements/1/text", "type")]


def test_a_problem_elsewhere_calls_for_a_repair_of_the_items_too() -> None:
    answer = {"remote": "true", "requirements": [{"text": "Go"}, {"text": 1}]}
    validation = validated(answer)
    assert validation.value is None
    assert not validation.lost
    assert ("/requirements/1/text", "type") in rules(validation)


def test_items_over_the_limit_are_lost() -> None:
    items = [{"text": f"skill {n}"} for n in range(6)]
    validation = validated({"requirements": items})
    assert validation.value == {"requirements": items[:4]}
    assert list(validation.lost) == ["/requirements/4", "/requirements/5"]


def test_repeated_items_are_lost_where_items_must_differ() -> None:
    schema = {
        "type": "object",
        "properties": {"tags": {"type": "array", "uniqueItems": True, "items": {"type": "string"}}},
    }
    validation = AnswerValidator(schema).validate({"tags": ["a", "b", "a"]})
    assert validation.value == {"tags": ["a", "b"]}
    assert validation.lost["/tags/2"].rule == "repeated"


def test_a_list_that_becomes_too_short_calls_for_a_repair() -> None:
    schema = {
        "type": "object",
        "properties": {"tags": {"type": "array", "minItems": 2, "items": {"type": "string"}}},
    }
    validation = AnswerValidator(schema).validate({"tags": ["a", 5]})
    assert validation.value is None
    assert rules(validation) == [("/tags", "limit")]


@pytest.mark.parametrize(
    "word",
    [
        *("N/A", "null", "None", " unknown ", "not specified", "(not stated)", "-", "", "TBD"),
        *("未提供", "未提及", "不详", "无", "暂无", "（无）"),
    ],
)
def test_a_word_for_nothing_is_absent(word: str) -> None:
    answer = {"company": word, "requirements": [{"text": "Go"}, {"text": word}]}
    expected = Validation({"requirements": [{"text": "Go"}]})
    assert validated(answer, "无锡诚聘 unknowns") == expected


def test_a_word_for_nothing_stays_where_the_source_says_it() -> None:
    assert validated({"title": "None"}, "Title: None").value == {"title": "None"}
    assert validated({"title": "无"}, "学历要求：无").value == {"title": "无"}
    assert validated({"title": "无"}, "工作地点：无锡").value == {}


def test_a_choice_of_the_schema_is_never_a_word_for_nothing() -> None:
    assert validated({"level": "unknown"}).value == {"level": "unknown"}


@pytest.mark.parametrize(
    "value",
    [
        *("string", "<company>", "{{ company }}", "{company}", "[company name]", "...", "TODO"),
        *("PLACEHOLDER", "company", "Name of the employer", "【公司名】", "占位符", "…", "xxx"),
    ],
)
def test_a_placeholder_is_a_problem_unless_the_source_contains_it(value: str) -> None:
    assert rules(validated({"company": value}, "Nordlicht seeks you")) == [
        ("/company", "placeholder")
    ]
    assert validated({"company": value}, f"Employer: {value}.").value == {"company": value}


def test_a_placeholder_among_good_items_is_lost() -> None:
    answer = {"requirements": [{"text": "Go"}, {"text": "<skill>"}]}
    validation = validated(answer, "Go")
    assert validation.value == {"requirements": [{"text": "Go"}]}
    assert validation.lost["/requirements/1"].rule == "placeholder"


@pytest.mark.parametrize("value", ["C++", "1688", "1e5", "C#", "O'Neil & Sons", "三只松鼠", "[x]y"])
def test_an_odd_name_is_no_placeholder(value: str) -> None:
    assert validated({"company": value}).value == {"company": value}


def test_a_schema_that_says_so_stays_open() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "object", "properties": {}, "additionalProperties": True}},
    }
    answer = {"a": {"anything": 1}}
    assert AnswerValidator(schema).validate(answer).value == answer


def test_a_free_map_keeps_its_fields() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "object"}}}
    assert AnswerValidator(schema).validate({"a": {"x": 1}}).value == {"a": {"x": 1}}


def test_parts_of_a_composed_object_do_not_shut_each_other_out() -> None:
    part = {"properties": {"x": {"type": "integer"}}}
    schema = {
        "type": "object",
        "properties": {"a": {"allOf": [part, {"properties": {"y": {"type": "integer"}}}]}},
    }
    assert AnswerValidator(schema).validate({"a": {"x": 1, "y": 2}}).value == {
        "a": {"x": 1, "y": 2}
    }


def test_references_are_followed() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/pair"}},
        "$defs": {"pair": {"type": "object", "properties": {"x": {"enum": ["none", "some"]}}}},
    }
    validator = AnswerValidator(schema)
    assert validator.validate({"a": {"x": "none"}}).value == {"a": {"x": "none"}}
    assert validator.validate({"a": {"y": 1}}).problems[0].pointer == "/a"


@given(
    st.dictionaries(
        st.sampled_from(sorted(SCHEMA["properties"])),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=8),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["text", "kind", "tags", "mail", "n"]), inner, max_size=3
                )
            ),
            max_leaves=8,
        ),
    )
)
def test_what_is_accepted_is_accepted_again_and_loses_nothing(answer: dict[str, Any]) -> None:
    first = validated(answer)
    if first.value is None:
        assert first.problems
    else:
        assert validated(first.value) == Validation(first.value)


def test_a_repair_note_says_where_and_what_but_not_what_was_answered() -> None:
    answer = {"remote": "perhaps on Mondays", "level": "chief wizard"}
    problems = validated(answer).problems
    english = repair_note(problems, "en")
    assert "/remote: expected boolean" in english
    assert "/level: expected one of: junior, senior, unknown" in english
    chinese = repair_note(problems, "zh")
    assert "/remote: 应为 boolean" in chinese
    for note in (english, chinese):
        assert "Mondays" not in note
        assert "wizard" not in note


def test_a_repair_note_stays_short() -> None:
    problems = [AnswerProblem(f"/{'k' * 500}/{n}", "type", "string") for n in range(100)]
    assert len(repair_note(problems, "en")) < 2000
