from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alfred.dispatch.prefilter import Prefilter, score
from alfred.engine.manifest import Manifest
from alfred.engine.skill_input import SkillInput


def node(name: str, **match: Any) -> Manifest:
    return Manifest.model_validate(
        {
            "name": name,
            "domain": "notes",
            "version": 1,
            "description": "A node",
            "match": {key: tuple(v) if isinstance(v, list) else v for key, v in match.items()},
            "prompt": {"system": "Read.", "user": "{{ input.text }}"},
            "output_schema": {"type": "object"},
        }
    )


def given_input(text: str, **fields: Any) -> SkillInput:
    whole: SkillInput = {
        "modality": "text",
        "text": text,
        "language": "en",
        "url": None,
        "sections": [],
        "records": [],
        "received_at": "2026-03-02T09:00:00+01:00",
        "timezone": "Europe/Berlin",
    }
    return {**whole, **fields}  # type: ignore[typeddict-item]


POSTING = node(
    "posting",
    keywords=["职位", "招聘", "jd", "hiring", "C++", "job description"],
    url_patterns=["*/jobs/*", "*/careers/*"],
    modalities=["text", "link"],
    priority=90,
)
PLAIN = node("plain")


def score_of(text: str, manifest: Manifest = POSTING, **options: Any) -> float:
    return score(text, [manifest], **options)[manifest.name]


@pytest.mark.parametrize(
    "text",
    [
        "We are hiring!",
        "HIRING now",
        "ＨＩＲＩＮＧ",
        "JD: backend",
        "附上jd一份",
        "招聘",
        "某公司诚聘，招聘启事",
        "a job\n  description",
        "C++ wanted",
        "(C++)",
        "see https://acme.example/jobs/12",
        "详见https://acme.example/Careers/12。",
    ],
)
def test_a_keyword_or_address_counts_in_both_languages(text: str) -> None:
    assert score_of(text) > 0


@pytest.mark.parametrize(
    "text",
    [
        *("", "jdk 21", "xjd", "jd2", "rehirings", "hiring_date", "naïvehiring", "C+ +", "🙂"),
        *("a job", "see https://acme.example/job/12", "acme.example/jobs"),
    ],
)
def test_a_part_of_a_longer_word_does_not_count(text: str) -> None:
    assert score_of(text) == 0


def test_more_evidence_scores_higher() -> None:
    one, two = score_of("招聘"), score_of("招聘 职位")
    both = score_of("招聘 职位", url="https://acme.example/jobs/1")
    assert 0 < one < two < both <= 1
    assert score_of("招聘 招聘 招聘") == one


def test_the_documented_formula_holds() -> None:
    assert score_of("招聘 职位") == pytest.approx(0.75 * 0.95)
    assert score_of("", url="https://a.example/jobs/1") == pytest.approx(0.8 * 0.95)
    assert score_of("招聘", url="https://a.example/jobs/1") == pytest.approx(0.9 * 0.95)


def test_a_node_without_rules_or_of_another_modality_scores_nothing() -> None:
    assert score_of("招聘", PLAIN) == 0
    assert score_of("招聘", modality="image") == 0
    assert score_of("招聘", node("pictures", keywords=["招聘"], modalities=["image"])) == 0


def test_the_address_is_matched_by_path_and_as_a_whole() -> None:
    by_host = node("host", url_patterns=["https://jobs.example/*"])
    assert score_of("", by_host, url="https://JOBS.example/x") > 0
    assert score_of("", by_host, url="https://other.example/x") == 0
    assert score_of("", POSTING, url="https://[broken/jobs/1") > 0


def test_candidates_come_best_first_with_what_matched() -> None:
    low = node("low", keywords=["招聘", "职位"], priority=10)
    high = node("high", keywords=["招聘", "职位"], priority=80)
    twin = node("a_twin", keywords=["招聘", "职位"], priority=10)
    found = Prefilter([low, PLAIN, high, twin]).candidates(given_input("招聘职位"))
    assert [candidate.name for candidate in found] == ["high", "a_twin", "low"]
    assert found[0].matched == ("招聘", "职位")
    assert found[0].domain == "notes"


def test_candidates_of_another_modality_are_left_out() -> None:
    assert Prefilter([POSTING]).candidates(given_input("招聘", modality="audio")) == []


def test_an_address_of_the_input_is_used() -> None:
    page = given_input("nothing", modality="link", url="https://acme.example/jobs/7")
    assert Prefilter([POSTING]).candidates(page)[0].matched == ("*/jobs/*",)


def test_a_keyword_written_twice_counts_once() -> None:
    assert score_of("jd", node("twice", keywords=["jd", "JD", "ｊｄ"])) == score_of(
        "jd", node("twice", keywords=["jd"])
    )


def test_no_manifests_give_no_scores() -> None:
    assert score("招聘", []) == {}


def test_a_typographic_apostrophe_is_an_apostrophe() -> None:
    assert score_of("I’ve applied", node("said", keywords=["i've applied"])) > 0


WORDS = ["招聘", "jd", "jdk", "hiring", "校招", "C++", "x", "ﬁne", "\ud800", "https://a.b/jobs/1"]
nodes = st.lists(
    st.builds(
        node,
        st.sampled_from(["a", "b", "c", "d"]),
        keywords=st.lists(st.sampled_from(["招聘", "jd", "校招", "招", "C++", "hiring"])),
        url_patterns=st.lists(st.sampled_from(["*/jobs/*", "*"]), max_size=2),
        modalities=st.lists(st.sampled_from(["text", "link"]), max_size=2),
        priority=st.integers(0, 100),
    ),
    unique_by=lambda manifest: manifest.name,
    max_size=4,
)


@given(nodes, st.lists(st.sampled_from(WORDS) | st.text(max_size=5)).map("".join), st.randoms())
def test_scores_lie_in_the_unit_interval_whatever_the_order(
    manifests: Sequence[Manifest], text: str, shuffler: random.Random
) -> None:
    shuffled = list(manifests)
    shuffler.shuffle(shuffled)
    scores = score(text, manifests)
    assert score(text, shuffled) == scores
    assert set(scores) == {manifest.name for manifest in manifests}
    assert all(0 <= value <= 1 for value in scores.values())
    given_text = given_input(text)
    assert Prefilter(manifests).candidates(given_text) == Prefilter(shuffled).candidates(given_text)
