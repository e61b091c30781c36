"""A résumé line says what its sources say, or it is dropped."""

from __future__ import annotations

from typing import Any

import pytest

from alfred.errors import ActionRefused
from alfred.services.document import CreateDocumentVersion, check_lines
from alfred.services.resume import (
    Line,
    Source,
    resume_markdown,
    resume_sources,
    supported_lines,
    unsupported_words,
)

ENGLISH = "Lumen Kites | engineer | 2019-2021 | led the kite repair team of six people, 1,200 kites"
CHINESE = "青藤科技 | 后端工程师 | 2021 年至今 | 负责支付系统的开发，日均 300 万笔"


@pytest.mark.parametrize(
    "line",
    [
        "Led the repair team of six people at Lumen Kites",
        "Repaired 1,200 kites",
        "Engineer at Lumen Kites, 2019-2021",
    ],
)
def test_a_line_in_the_words_of_its_source_is_supported(line: str) -> None:
    assert unsupported_words(line, [ENGLISH]) == []


@pytest.mark.parametrize(
    ("line", "foreign"),
    [
        ("Led the repair team of seven people", "seven"),
        ("Repaired 1,201 kites", "1,201"),
        ("Repaired 200 kites", "200"),
        ("Led the kite repair team at Acorn", "acorn"),
        ("Engineer at Lumen Kites, 2018-2021", "2018-2021"),
        ("Cut costs by 40%", "40%"),
        ("Led an award-winning team", "award"),
    ],
)
def test_a_number_a_date_or_a_name_that_no_source_holds_is_found(line: str, foreign: str) -> None:
    assert foreign in unsupported_words(line, [ENGLISH])


@pytest.mark.parametrize(
    ("line", "is_supported"),
    [
        ("负责支付系统开发", True),
        ("在青藤科技负责支付系统的开发", True),
        ("日均 300 万笔", True),
        ("日均 30 万笔", False),
        ("负责支付系统与风控系统的开发", False),
        ("在白藤科技负责支付系统的开发", False),
        ("带领十人负责支付系统", False),
    ],
)
def test_chinese_lines_consist_of_pieces_of_their_sources(line: str, is_supported: bool) -> None:
    assert (unsupported_words(line, [CHINESE]) == []) == is_supported


def source(number: int, text: str) -> Source:
    return {"number": number, "text": text, "table": "experience", "id": f"row-{number}"}


def line(text: str, *sources: int, section: Any = "experience") -> Line:
    return {"section": section, "text": text, "sources": list(sources)}


def test_lines_without_an_existing_source_are_dropped_whole() -> None:
    sources = [source(1, ENGLISH)]
    lines = [line("Led the team", 1), line("Led the team", 1, 9), line("Led the team")]
    kept, dropped = supported_lines(lines, sources)
    assert kept == lines[:1]
    assert [reason for _, reason in dropped] == ["no such source"] * 2


def test_every_line_of_the_markdown_is_placed_with_its_sources() -> None:
    sources = [source(1, "a"), source(2, "b")]
    lines = [line("physics", 2, section="education"), line("kites\n # team", 1, 2)]
    markdown = resume_markdown(lines, "en")
    placed = resume_sources(lines, "en", sources)
    assert markdown == "# Résumé\n\n## Experience\n\n- kites # team\n\n## Education\n\n- physics"
    shown = markdown.split("\n")
    assert [(shown[p["line"] - 1], p["source_id"]) for p in placed] == [
        ("- kites # team", "row-1"),
        ("- kites # team", "row-2"),
        ("- physics", "row-2"),
    ]
    assert resume_markdown([], "en") is None


ROW = "00000000-0000-0000-0000-00000000000a"


@pytest.mark.parametrize(
    ("markdown", "lines", "words"),
    [
        ("# CV\n\n- a\n- b", [3], "Line 4 "),
        ("# CV\n\n- a", [1, 3], "Line 1 "),
        ("# CV\n\n- a", [3, 9], "Line 9 "),
        ("# CV", [], "no lines"),
    ],
)
def test_a_document_says_which_line_rests_on_nothing(
    markdown: str, lines: list[int], words: str
) -> None:
    args = CreateDocumentVersion.model_validate_json(
        CreateDocumentVersion.model_construct(
            title="CV",
            kind="resume",
            markdown=markdown,
            lines=[
                {"line": number, "source_table": "experience", "source_id": ROW} for number in lines
            ],
        ).model_dump_json(warnings=False)
    )
    with pytest.raises(ActionRefused, match=words) as refused:
        check_lines(args)
    assert refused.value.code == "action.unsupported_line"
