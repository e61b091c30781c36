"""Skills are found as whole names, in both languages, and never inside another word."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alfred.services.matching import Record, match_requirements
from alfred.services.skill_mention import MAX_QUOTE_CHARS, Skill, SkillText, own_words, skill_called


def skill(name: str, *others: str) -> Skill:
    return Skill(id=name, name=name, spellings=frozenset({name.casefold(), *others}))


SKILLS = [
    skill("Python", "python3"),
    skill("Java"),
    skill("JavaScript", "js", "java script", "java-script"),
    skill("Go", "golang", "go语言"),
    skill("C"),
    skill("C++", "cpp"),
    skill("R"),
    skill("SQL"),
    skill("React", "react.js"),
    skill("Excel"),
    skill(".NET"),
    skill("Git"),
    skill("Machine learning", "机器学习", "ml"),
    skill("Kubernetes", "k8s"),
]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("I wrote JavaScript.", ["JavaScript"]),
        ("Java Script first, Java later", ["JavaScript", "Java"]),
        ("Java-Script", ["JavaScript"]),
        ("PostgreSQL and NoSQL", []),
        ("SQL", ["SQL"]),
        ("Moved everything to GitHub", []),
        ("git,docker", ["Git"]),
        ("C/C++ programming", ["C", "C++"]),
        ("C++", ["C++"]),
        ("a net profit", []),
        (".NET services", [".NET"]),
        ("Node.js", []),
        ("Python3、js", ["Python", "JavaScript"]),
        ("负责机器学习平台", ["Machine learning"]),
        ("部署在 K8S 上", ["Kubernetes"]),
        ("ＰＹＴＨＯＮ 全角", ["Python"]),
    ],
)
def test_only_whole_names_count(text: str, named: list[str]) -> None:
    assert [mention.skill.name for mention in SkillText(text).mentions(SKILLS)] == named


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("I go to the office", []),
        ("Go to market plans", []),
        ("Led the Go Live of a bank", []),
        ("Go-Live", []),
        ("Go Global, a programme", []),
        ("Services in Go.", ["Go"]),
        ("Go developer", ["Go"]),
        ("熟悉go语言开发", ["Go"]),
        ("python, go, rust", ["Python", "Go"]),
        ("用 Go 和 Python 写服务", ["Go", "Python"]),
        ("R&D manager", []),
        ("Appendix R", []),
        ("R. Marsh wrote the code", []),
        ("rent in r", []),
        ("Statistics in R", ["R"]),
        ("编程语言：R", ["R"]),
        ("Plan C", []),
        ("vitamin C", []),
        ("500 ml of water", []),
        ("We excel at service", []),
        ("Excel macros", ["Excel"]),
        ("react quickly", []),
        ("React, Redux", ["React"]),
    ],
)
def test_an_ordinary_word_or_letter_is_no_skill(text: str, named: list[str]) -> None:
    assert [mention.skill.name for mention in SkillText(text).mentions(SKILLS)] == named


@given(
    st.sampled_from([(s, n) for s in SKILLS for n in s.spellings if n.isascii() and n.isalnum()]),
    st.text("abcxyzABCXYZ", min_size=1, max_size=3),
)
def test_letters_glued_to_a_name_make_another_word(named: tuple[Skill, str], glued: str) -> None:
    known, spelling = named
    for text in (f"code: {glued}{spelling}, etc", f"code: {spelling}{glued}, etc"):
        assert SkillText(text).mentions([known]) == []
    assert SkillText(f"code: {spelling}, etc").mentions([known])


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    for mention in SkillText(text).mentions(SKILLS):
        span = mention.span
        assert 0 <= span["start"] < span["end"] <= len(text)
        assert len(SkillText(text).sentence(span)) <= MAX_QUOTE_CHARS + 2


@pytest.mark.parametrize(
    ("requirement", "words"),
    [
        ("Experience with Figma is a plus", "Figma"),
        ("熟悉 Figma 者优先", "Figma"),
        ("- You know bookkeeping.", "bookkeeping"),
        ("能力", "能力"),
        ("A driving licence", "A driving licence"),
    ],
)
def test_what_introduces_a_requirement_is_not_what_it_asks_for(
    requirement: str, words: str
) -> None:
    assert own_words(requirement) == words


def test_a_skill_is_called_by_any_of_its_names() -> None:
    assert skill_called("机器学习", SKILLS).name == "Machine learning"
    assert skill_called("experience with K8s", SKILLS).name == "Kubernetes"
    assert skill_called("Figma", SKILLS).id is None


def requirement(text: str, importance: str = "must", skill_id: str | None = None) -> dict[str, Any]:
    return {
        "id": uuid4(),
        "kind": "skill",
        "importance": importance,
        "text": text,
        "skill_id": skill_id,
    }


def told(*texts: str, employer: str = "") -> Record:
    masked = (employer,) if employer else ()
    return Record(table="experience", id=UUID(int=7), texts=texts, masked=masked)


def test_each_requirement_is_quoted_from_what_was_told_or_said_to_be_missing() -> None:
    records = [told("2019 年入职。用 Python 写支付系统。\n后来带团队", "Payments in Python")]
    asked = [requirement("Python and Go"), requirement("机器学习"), requirement("熟悉 Python")]
    both, none, one = match_requirements(asked, records, SKILLS)
    assert [each["verdict"] for each in (both, none, one)] == [
        "partly_on_record",
        "nothing_on_record",
        "on_record",
    ]
    python, go = both["compared"]
    assert (python["name"], python["by"]) == ("Python", "skill")
    assert [q["quote"] for q in python["support"]] == ["用 Python 写支付系统。"]
    assert go["support"] == []
    assert none["compared"][0]["spellings"] == ["machine learning", "ml", "机器学习"]


def test_a_name_in_one_language_matches_the_other() -> None:
    (match,) = match_requirements(
        [requirement("机器学习")], [told("Built machine learning models")], SKILLS
    )
    assert match["verdict"] == "on_record"


def test_a_skill_in_the_name_of_an_employer_is_not_on_record() -> None:
    record = told("I kept the books at Python Bakers.", employer="Python Bakers")
    (match,) = match_requirements([requirement("Python")], [record], SKILLS)
    assert match["verdict"] == "nothing_on_record"
    also = told("At Python Bakers I wrote Python.", employer="Python Bakers")
    (match,) = match_requirements([requirement("Python")], [also], SKILLS)
    assert match["verdict"] == "on_record"


def test_a_requirement_without_a_known_skill_is_compared_by_its_own_words() -> None:
    records = [told("Designed screens in Figma."), told("Held a forklift licence")]
    figma, licence, longer = match_requirements(
        [
            requirement("Experience with Figma"),
            requirement("forklift licence", "nice"),
            requirement("Fig"),
        ],
        records,
        SKILLS,
    )
    assert figma["compared"][0]["by"] == "words"
    assert figma["verdict"] == licence["verdict"] == "on_record"
    assert longer["verdict"] == "nothing_on_record"


def test_a_linked_skill_counts_although_the_words_name_it_otherwise() -> None:
    linked = requirement("container orchestration", skill_id="Kubernetes")
    (match,) = match_requirements([linked], [told("Ran k8s clusters")], SKILLS)
    assert match["verdict"] == "on_record"


def test_words_inside_a_known_skill_are_not_on_record() -> None:
    (match,) = match_requirements([requirement("learning")], [told("machine learning")], SKILLS)
    assert match["verdict"] == "nothing_on_record"
