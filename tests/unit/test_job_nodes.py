"""What the nodes' Python adds: records of pages, the user's own words, the graph's shape."""

from __future__ import annotations

from typing import Any

import pytest

from alfred.engine.skill_input import Modality, SkillInput
from alfred.engine.state import group
from alfred.graphs.job import build_job_graph, route_after_extract
from alfred.nodes.application_words import find_applied, find_intent
from alfred.nodes.extract_job.node import read_known, settle_answer
from alfred.nodes.extract_job.schema_org import read_job_posting
from alfred.nodes.record_application.node import settle_status


def given(text: str, *records: dict[str, Any], modality: Modality = "text") -> SkillInput:
    return {
        "modality": modality,
        "text": text,
        "language": "en",
        "url": None,
        "sections": [],
        "records": [{"type": str(r["@type"]), "value": r} for r in records],
        "received_at": "2026-03-02T12:00:00+00:00",
        "timezone": "UTC",
    }


def posting(**fields: Any) -> dict[str, Any]:
    return {"@type": "JobPosting", "title": "Keeper", **fields}


TEXT = """title: Keeper
hiringOrganization.name: North Pier Trust
jobLocation: Galway, Ireland and Cork
validThrough: 2026-04-10T23:59
radio, first aid
A degree in optics. Five years at sea.
TELECOMMUTE
"""


def read(**fields: Any) -> dict[str, Any]:
    return read_job_posting(given(TEXT, posting(**fields), modality="link"))


@pytest.mark.parametrize(
    "organization",
    [
        "North Pier Trust",
        {"@type": "Organization", "name": "North Pier Trust"},
        [{"name": "North Pier Trust"}],
    ],
)
def test_the_company_is_read_from_a_name_an_object_or_a_list(organization: Any) -> None:
    assert read(hiringOrganization=organization)["company"] == "North Pier Trust"


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("Galway", "Galway"),
        ({"@type": "Place", "address": "Galway"}, "Galway"),
        ({"address": {"addressLocality": "Galway", "addressCountry": "Ireland"}}, "Galway"),
        ({"address": {"addressCountry": {"@type": "Country", "name": "Ireland"}}}, "Ireland"),
        ([{"address": {"addressLocality": "Galway"}}, {"address": "Galway"}], "Galway"),
        ([{"address": {"addressLocality": "Galway"}}, {"address": "Cork"}], None),
        ({"address": {"addressLocality": "North Pier Trust"}}, None),
        ({"address": {"addressLocality": "Atlantis"}}, None),
        ({"address": {"addressLocality": 7}}, None),
        (None, None),
    ],
)
def test_the_location_is_a_place_of_the_text_and_not_the_company(
    location: Any, expected: str | None
) -> None:
    found = read(hiringOrganization="North Pier Trust", jobLocation=location)
    assert found.get("location") == expected


def test_work_from_anywhere_is_a_place_where_there_is_no_other() -> None:
    assert read(jobLocationType="TELECOMMUTE")["location"] == "TELECOMMUTE"


def test_skills_and_requirements_are_taken_over_piece_by_piece() -> None:
    found = read(
        skills="radio, first aid, juggling",
        qualifications="<ul><li>A degree in optics.</li></ul>",
        experienceRequirements={
            "@type": "OccupationalExperienceRequirements",
            "description": "Five years at sea.",
        },
    )
    assert found["requirements"] == [
        {"kind": "skill", "text": "radio"},
        {"kind": "skill", "text": "first aid"},
        {"kind": "qualification", "text": "A degree in optics."},
        {"kind": "experience", "text": "Five years at sea."},
    ]
    assert "deadline" not in found


@pytest.mark.parametrize("title", ["Diver", "", "   ", "—", 1688, None, ["Keeper"], "Keeper " * 40])
def test_a_title_that_is_odd_or_not_in_the_text_is_left_to_the_model(title: Any) -> None:
    assert "title" not in read(title=title)


def test_no_record_and_several_records_give_nothing() -> None:
    assert read_job_posting(given(TEXT)) == {}
    assert read_job_posting(given(TEXT, posting(), posting(title="North Pier Trust"))) == {}
    assert read_job_posting(given(TEXT, {"@type": "Recipe", "title": "Keeper"})) == {}


APPLIED = [
    "我已经投了这家",
    "我昨天投递了简历",
    "我上周在官网申请了这个岗位",
    "已投递：插画师，杭州",
    "I applied yesterday.",
    "I have already applied to this one",
    "I've submitted my application.",
    "I sent in my CV on Monday",
]
WANTED = [
    "我想投这个职位",
    "我打算申请这个岗位",
    "帮我准备一份简历投这家",
    "I want to apply for this",
    "I'd like to apply",
    "I'm going to apply next week",
    "I'll apply",
    "help me apply",
]
NEITHER = [
    "请将简历投递至邮箱",
    "投递截止日期：4月10日",
    "已有 120 人投递",
    "我不想投这个",
    "我还没投",
    "我们希望你投递简历",
    "Apply now!",
    "Applicants who applied before need not apply again.",
    "I have not applied.",
    "I do not want to apply",
    "How to apply: send your CV",
]


@pytest.mark.parametrize("words", APPLIED)
def test_having_applied_is_recognised(words: str) -> None:
    span = find_applied(given(words))
    assert span is not None
    assert words[span["start"] : span["end"]] in words
    assert find_intent(given(words)) == span


@pytest.mark.parametrize("words", WANTED)
def test_wanting_to_apply_is_an_intent_and_not_an_application(words: str) -> None:
    assert find_applied(given(words)) is None
    assert find_intent(given(words)) is not None


@pytest.mark.parametrize("words", NEITHER)
def test_what_a_posting_says_or_a_user_denies_is_no_intent(words: str) -> None:
    assert find_intent(given(words)) is None


def test_the_words_of_a_page_are_never_the_users() -> None:
    assert find_intent(given("I applied", modality="link")) is None


def test_the_intent_comes_from_the_users_own_words_and_from_no_model() -> None:
    assert read_known(given("Apply now!")) == {"user_intent": None}
    assert read_known(given("I applied")) == {"user_intent": "apply"}


def test_a_channel_is_kept_only_for_what_was_sent() -> None:
    out = {"status": "applied", "channel": "email"}
    assert settle_status(out, {"input": given("I want to apply")})[0] == {"status": "saved"}
    assert settle_status({"channel": "email"}, {"input": given("I applied by email")})[0] == {
        "status": "applied",
        "channel": "email",
    }


def test_the_graph_has_the_topology_of_the_specification() -> None:
    graph = build_job_graph().compile().get_graph()
    assert {(edge.source, edge.target, edge.conditional) for edge in graph.edges} == {
        ("__start__", "extract_job", False),
        ("extract_job", "capture_experience", False),
        ("extract_job", "record_application", True),
        ("extract_job", "__end__", True),
        ("capture_experience", "__end__", False),
        ("record_application", "generate_resume", False),
        ("generate_resume", "__end__", False),
    }


@pytest.mark.parametrize(
    ("out", "route"),
    [({"user_intent": "apply"}, "apply"), ({"user_intent": "save"}, "done"), ({}, "done")],
)
async def test_only_an_intent_to_apply_leads_to_the_application(
    out: dict[str, Any], route: str
) -> None:
    assert await route_after_extract({"extracted": group("extract_job", 0, 1, out)}) == route
    assert await route_after_extract({}) == "done"


@pytest.mark.parametrize(
    ("words", "chosen", "expected"),
    [
        ("Nice to have: you have sailed before", "must", "nice"),
        ("Dutch is a plus", "must", "nice"),
        ("有分布式系统经验者优先", "must", "nice"),
        ("A driving licence is required", "nice", "must"),
        ("必须持有驾照", "nice", "must"),
        ("Solid SQL", "must", "must"),
        ("Solid SQL", None, None),
        ("Surplus stock handling", "must", "must"),
        ("German B2 needed", "nice", "must"),
    ],
)
def test_the_words_of_a_requirement_outweigh_the_model_on_its_importance(
    words: str, chosen: str | None, expected: str | None
) -> None:
    requirement = {"text": words} | ({"importance": chosen} if chosen else {})
    settled, _ = settle_answer({"requirements": [requirement]}, {"input": given(words)})
    assert settled["requirements"][0].get("importance") == expected


def test_what_a_model_calls_nice_stays_so_where_the_text_knows_extras() -> None:
    text = "Solid SQL. Nice to have: sailing, German"
    requirement = {"text": "German", "importance": "nice"}
    settled, _ = settle_answer({"requirements": [requirement]}, {"input": given(text)})
    assert settled["requirements"] == [requirement]


@pytest.mark.parametrize(
    ("words", "kept", "said"),
    [
        ("by 15 January 2030", True, ""),
        ("yesterday via their website", False, "has passed"),
        ("03/04/2030", False, "names no single day"),
        ("as soon as possible", False, "names no single day"),
    ],
)
def test_what_is_no_day_to_come_is_no_deadline_and_is_said(
    words: str, kept: bool, said: str
) -> None:
    settled, remarks = settle_answer({"deadline": words}, {"input": given(words)})
    assert ("deadline" in settled) == kept
    assert bool(remarks) == bool(said)
    assert all(said in remark for remark in remarks)
