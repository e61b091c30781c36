"""A value counts as grounded only where its own words stand in the source."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from alfred.engine.evidence import Span
from alfred.engine.grounding import SourceText, ground
from alfred.engine.normalised_text import NormalisedText


def found(source: str, value: str | float) -> str | None:
    """The source's own words for a value, None where it does not stand there in one piece."""
    text = SourceText(source)
    if isinstance(value, str):
        span = text.find(value)
    else:
        span = next(iter(text.number_places(value)), None)
    return None if span is None else source[span["start"] : span["end"]]


@pytest.mark.parametrize(
    ("source", "value", "words"),
    [
        ("公司：1688 招聘", "1688", "1688"),
        ("Title: 1e5 developer", "1e5", "1e5"),
        ("负责 服务器\r\n开发与维护", "负责服务器开发", "负责 服务器\r\n开发"),
        ("ＡＣＭＥ　Ｌｔｄ．", "Acme Ltd", "ＡＣＭＥ　Ｌｔｄ"),
        ("soft\u00adware engi\u00adneer", "Software Engineer", "soft\u00adware engi\u00adneer"),
        ("zero\u200bwidth words", "zerowidth", "zero\u200bwidth"),
        ("Cafe\u0301 Central", "Café central", "Cafe\u0301 Central"),
        ("x e\u0323\u0301 y", "e\u0301\u0323", "e\u0323\u0301"),
        ("Große Straße 5", "GROSSE STRASSE", "Große Straße"),
        ("full–time “remote”", 'full-time "remote"', "full–time “remote”"),
        ("two\n\n   words", "two words", "two\n\n   words"),
        ("שלום עולם", "עולם", "עולם"),
        ("uses C++ and C#", "C++", "C++"),
        ("uses C++ and C#", "C#", "C#"),
        ("Node.js, Go", "Go", "Go"),
        ("in Berlin.We offer", "Berlin", "Berlin"),
        ("(Acme)", "Acme", "Acme"),
        ("Acme", '"Acme."', "Acme"),
        ("3年以上Java经验", "Java", "Java"),
        ("3年以上Java经验", "3年", "3年"),
        ("5+ years", "5", "5"),
        ("salary 20-30k", "20", "20"),
        ("paid $18.40", "$", "$"),
        ("合计 ￥1,236.00", "¥", "￥"),
    ],
)
def test_a_value_is_found_however_its_words_are_written(
    source: str, value: str, words: str
) -> None:
    assert found(source, value) == words


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("Google", "Go"),
        ("uses C++ and C#", "C"),
        ("uses .NET", "NET"),
        ("Node.js", "Node"),
        ("ASP.NET", "ASP"),
        ("résumé", "resume"),
        ("cafe\u0301", "cafe"),
        ("㈱星河", "株"),
        ("16888", "1688"),
        ("5years", "5"),
        ("5", "-5"),
        ("", "x"),
        ("x", ""),
        ("x", "\u200b"),
        ("...", "."),
        ("5 % of it", "%"),
        ("Acme Holdings Ltd", "Acme Ltd"),
    ],
)
def test_a_value_is_not_found_inside_a_longer_word(source: str, value: str) -> None:
    assert found(source, value) is None


@pytest.mark.parametrize(
    ("source", "value", "words"),
    [
        ("pays 20,000 EUR", 20000, "20,000"),
        ("pays 20.000 EUR", 20000, "20.000"),
        ("pays 20 000 EUR", 20000, "20 000"),
        ("pays 20'000 CHF", 20000, "20'000"),
        ("pays 20000 EUR", 20000.0, "20000"),
        ("$1,234.50", 1234.5, "1,234.50"),
        ("1,5 years", 1.5, "1,5"),
        ("２０人", 20, "２０"),
        ("-5年经验", 5, "5"),
        ("at -5 degrees", -5, "-5"),
    ],
)
def test_a_number_is_found_in_its_written_forms(source: str, value: float, words: str) -> None:
    assert found(source, value) == words


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("20 000 EUR", 20),
        ("20,000 EUR", 20),
        ("1,500", 1.5),
        ("1.5", 1),
        ("1.5", 5),
        ("at -5 degrees", 5),
        ("20-5", -5),
        ("1千", 1000),
        ("ten", 10),
        ("inf nan", float("inf")),
        ("1e5", 100000),
    ],
)
def test_a_number_is_not_found_inside_another(source: str, value: float) -> None:
    assert found(source, value) is None


def scattered(source: str, value: str) -> list[str]:
    evidence = ground({"value": value}, {}, SourceText(source))["/value"]
    assert (evidence["support"] == "grounded") is bool(evidence["spans"])
    return [source[span["start"] : span["end"]] for span in evidence["spans"]]


@pytest.mark.parametrize(
    ("source", "value", "words"),
    [
        ("- Java\n- Python\n", "Java, Python", ["Java", "Python"]),
        ("Location: Berlin", "Location Berlin", ["Location", "Berlin"]),
        ("Engineer (Backend) at Acme", "Engineer Backend", ["Engineer", "Backend"]),
        ("Acme Co., Ltd.", "Acme Co Ltd", ["Acme Co", "Ltd"]),
        ("work well in large teams of people", "work in large teams of people", None),
        ("负责后端，服务器开发", "负责后端服务器开发", ["负责后端", "服务器开发"]),
    ],
)
def test_words_in_order_with_little_between_them_are_grounded_piece_by_piece(
    source: str, value: str, words: list[str] | None
) -> None:
    assert scattered(source, value) == (words or ["work", "in large teams of people"])


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("able to not work in large teams", "able to work in large teams"),
        ("you don't work in large teams", "you work in large teams"),
        ("at least 5 years of work in teams", "at least years of work in teams"),
        ("不负责后端服务器的开发工作", "负责前端服务器的开发工作"),
        ("我们不负责后端服务器开发", "我们负责后端服务器开发"),
        ("5 years of Kotlin. Python is a plus", "Kotlin Python"),
        ("Python, then much more text in between, Kotlin", "Python Kotlin"),
        ("Kotlin Python", "Python Kotlin"),
        ("Acme Global Ltd", "Acme Ltd"),
    ],
)
def test_what_changes_the_meaning_is_never_skipped(source: str, value: str) -> None:
    assert scattered(source, value) == []


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "company": {"type": ["string", "null"]},
        "is_remote": {"type": "boolean"},
        "intent": {"enum": ["apply", "save"]},
        "skills": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "kind": {"$ref": "#/$defs/kind"},
                    "years": {"type": "integer"},
                },
            },
        },
    },
    "$defs": {"kind": {"anyOf": [{"enum": ["must", "nice"]}, {"type": "null"}]}},
}


def test_every_leaf_gets_its_evidence_and_nothing_else_does() -> None:
    source = "星河科技 hires. Must: Go, 5 years. Nice: Rust."
    out = {
        "company": "星河科技",
        "is_remote": True,
        "intent": "apply",
        "skills": [
            {"name": "Go", "kind": "must", "years": 5},
            {"name": "Haskell", "kind": "nice", "years": None},
        ],
        "note/~": "Rust",
        "empty": [],
        "nothing": None,
    }
    evidence = ground(out, SCHEMA, SourceText(source))
    assert {pointer: each["support"] for pointer, each in evidence.items()} == {
        "/company": "grounded",
        "/is_remote": "classified",
        "/intent": "classified",
        "/skills/0/name": "grounded",
        "/skills/0/kind": "classified",
        "/skills/0/years": "grounded",
        "/skills/1/name": "ungrounded",
        "/skills/1/kind": "classified",
        "/note~1~0": "grounded",
    }
    assert evidence["/skills/0/kind"]["quote"] == "Go … 5"
    assert evidence["/skills/1/kind"]["spans"] == []
    assert evidence["/intent"]["spans"] == []
    assert evidence["/company"] == {
        "support": "grounded",
        "spans": [Span(start=0, end=4)],
        "quote": "星河科技",
    }


def test_of_several_places_the_one_beside_its_neighbours_counts() -> None:
    source = "Go, 3 years. Rust, 3 years. Zig, 3 years."
    out = {"skills": [{"name": "Zig", "years": 3}, {"name": "Go", "years": 3}]}
    evidence = ground(out, SCHEMA, SourceText(source))
    assert evidence["/skills/0/years"]["spans"] == [Span(start=33, end=34)]
    assert evidence["/skills/1/years"]["spans"] == [Span(start=4, end=5)]


def test_without_neighbours_the_shortest_then_the_first_place_counts() -> None:
    assert SourceText("a soft\u00adware, software, software").find("software") == Span(
        start=13, end=21
    )


LETTERS = st.sampled_from(
    [*"abcXYZ019", *"招聘工程师上海", *"ＡＢ２", "é", "e\u0301", "ß", "ﬁ", "\u00ad", "\u200b"]
)
BETWEEN = st.sampled_from([" ", "  ", "\n", "\r\n", "，", "：", "(", ")", "-", "“", "\u3000", "/"])
WORD = st.lists(LETTERS, min_size=1, max_size=6).map("".join)
WORDS = st.lists(WORD, min_size=1, max_size=12)


@settings(deadline=None)
@given(words=WORDS, joints=st.lists(BETWEEN, min_size=12, max_size=12), data=st.data())
def test_any_whole_words_of_a_text_are_found_as_themselves(
    words: list[str], joints: list[str], data: st.DataObject
) -> None:
    source = "".join(word + joint for word, joint in zip(words, joints, strict=False))
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    start = len("".join(words[:first])) + len("".join(joints[:first]))
    value = "".join(w + j for w, j in zip(words[first:last], joints[first:last], strict=True))
    value += words[last]
    assert source[start : start + len(value)] == value
    wanted = NormalisedText(value).text
    # A number at an edge may be part of a longer one: 1,000 and 20 000 are single words.
    assume(wanted and wanted[0].isalpha() and not wanted[-1].isdigit())
    span = SourceText(source).find(value)
    assert span is not None
    assert NormalisedText(source[span["start"] : span["end"]]).text == wanted


@settings(deadline=None)
@given(
    number=st.integers(1_000_000, 10**12),
    position=st.integers(0, 6),
    change=st.integers(1, 9),
    around=st.sampled_from(["{}", "薪资{}元", "pays {} a year", "({})", "x-{}-y", "{}，三年"]),
)
def test_a_number_with_one_digit_changed_is_never_grounded(
    number: int, position: int, change: int, around: str
) -> None:
    digits = str(number)
    changed = str((int(digits[position]) + change) % 10)
    altered = digits[:position] + changed + digits[position + 1 :]
    source = SourceText(around.format(f"{number:,}") + " " + around.format(digits))
    assert source.places(digits)
    assert source.number_places(number)
    evidence = ground({"a": altered, "b": int(altered), "c": around.format(altered)}, {}, source)
    assert {each["support"] for each in evidence.values()} == {"ungrounded"}


@settings(deadline=None)
@given(st.text())
def test_any_text_finds_itself_or_nothing(text: str) -> None:
    source = SourceText(text)
    span = source.find(text)
    if span is not None:
        assert 0 <= span["start"] < span["end"] <= len(text)
    for start, end in ((0, 1), (0, len(source.text)), (1, 3)):
        source.find(text[start:end])
        source.scattered(text[start:end])


def test_a_megabyte_and_a_hundred_values_take_about_a_second() -> None:
    line = "We look for engineer number {0} in Berlin, 5+ years of Go. 我们招聘第{0}位工程师。\n"
    text = "".join(line.format(number) for number in range(11_000))
    assert len(text.encode()) > 1_000_000
    values = [f"engineer number {number * 90}" for number in range(50)]
    values += [f"engineer number {number * 90} in Munich" for number in range(50)]
    began = time.process_time()
    evidence = ground({"values": values}, {}, SourceText(text))
    assert time.process_time() - began < 3
    assert [each["support"] for each in evidence.values()] == ["grounded"] * 50 + [
        "ungrounded"
    ] * 50


GLUED = "Clear writing in EnglishNative level of PortugueseCare for detailsA head for figures"


@pytest.mark.parametrize(
    "value", ["Native level of Portuguese", "Clear writing in English", "A head for figures"]
)
def test_a_line_is_found_where_the_source_lost_its_line_breaks(value: str) -> None:
    span = SourceText(GLUED).find(value)
    assert span is not None
    assert GLUED[span["start"] : span["end"]] == value


@pytest.mark.parametrize("value", ["Native", "ative level of Portuguese", "level of Portugues"])
def test_a_single_word_or_a_piece_of_one_is_not_found_in_glued_lines(value: str) -> None:
    assert SourceText(GLUED).find(value) is None
