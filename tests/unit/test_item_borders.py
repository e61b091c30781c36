"""Telling several items of one text apart by a node's own words, without a model."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from alfred.engine.context import RunContext
from alfred.engine.division import MAX_SHARED_CHARS, divide
from alfred.engine.item_borders import MAX_ITEMS, Outline
from alfred.engine.manifest import Items
from alfred.engine.skill_input import SkillInput
from alfred.inputs.reader import read_input
from tests.job_world import REGISTRY

NODE = REGISTRY.get("extract_job")
NO_CONTEXT = cast("RunContext", None)
"""What code tells apart asks no model and looks at no run."""


def given(text: str, filename: str | None = None) -> SkillInput:
    now = datetime(2026, 3, 2, tzinfo=UTC)
    return read_input(text, filename=filename, received_at=now, timezone="UTC")


async def items_of(text: str) -> list[str]:
    division = await divide(given(text), NODE, NO_CONTEXT)
    return [item.given["text"] for item in division.items]


COUNTED = {
    "a label for the employer and one for the role": (
        "公司：青藤科技\n职位：后端工程师\n要求：熟悉 Python\n\n公司：云帆网络\n职位：前端工程师",
        ["公司：青藤科技\n职位：后端工程师\n要求：熟悉 Python", "公司：云帆网络\n职位：前端工程师"],
    ),
    "numbered roles below one employer, which belongs to each": (
        "青藤科技诚聘\n\n职位一：后端工程师\n熟悉 Python\n\n职位二：前端工程师\n熟悉 CSS",
        [
            "青藤科技诚聘\n\n职位一：后端工程师\n熟悉 Python",
            "青藤科技诚聘\n\n职位二：前端工程师\n熟悉 CSS",
        ],
    ),
    "numbers without a colon": (
        "We have two openings.\n\nPosition 1\nKite Tester\n\nPosition 2\nWind Engineer",
        [
            "We have two openings.\n\nPosition 1\nKite Tester",
            "We have two openings.\n\nPosition 2\nWind Engineer",
        ],
    ),
    "an employer as a line of its own above each role": (
        "青藤科技\n\n职位：后端工程师\n地点：香港\n\n云帆网络\n\n职位：前端工程师",
        ["青藤科技\n\n职位：后端工程师\n地点：香港", "云帆网络\n\n职位：前端工程师"],
    ),
    "a drawn line between": (
        "Alder Labs\nLeeds\n\nRole: Data Engineer\n-----\nMarram Ferries, Oban.\n\nRole: Pilot",
        ["Alder Labs\nLeeds\n\nRole: Data Engineer\n-----", "Marram Ferries, Oban.\n\nRole: Pilot"],
    ),
    "no blank line at all": (
        "**Role:** Cook\nLeeds\n**Role:** Gardener\nOban",
        ["**Role:** Cook\nLeeds", "**Role:** Gardener\nOban"],
    ),
    "brackets and numbers before the label": (
        "1. 【岗位】厨师\n会做面\n\n2. 【岗位】园丁\n会种花",
        ["1. 【岗位】厨师\n会做面", "2. 【岗位】园丁\n会种花"],
    ),
    "what the user says above belongs to each": (
        "我想投下面两个职位\n\n公司：青藤科技\n职位：厨师\n\n公司：云帆网络\n职位：园丁",
        [
            "我想投下面两个职位\n\n公司：青藤科技\n职位：厨师",
            "我想投下面两个职位\n\n公司：云帆网络\n职位：园丁",
        ],
    ),
}


@pytest.mark.parametrize("case", COUNTED)
async def test_a_label_that_is_said_again_of_something_else_begins_an_item(case: str) -> None:
    text, expected = COUNTED[case]
    assert await items_of(text) == expected


ONE = {
    "one of everything": "公司：青藤科技\n职位：后端工程师\n岗位职责：写服务\n要求：熟悉 Go",
    "the same label with the same words, as in a footer": "Role: Cook\n\nSoup.\n\nRole: cook",
    "a label in a sentence": "The role: we cook.\nIn this role, you cook. A position in Leeds.",
    "drawn lines between sections": "We are hiring a cook\n---\nYou know soup\n---\nApply by mail",
    "a section's name that holds a sign": "We are hiring a cook.\n\nHiring process: two talks",
    "nothing at all": "tide tables",
    "plurals": "Positions: many\nRoles: more\nTitles: most",
}


@pytest.mark.parametrize("case", ONE)
async def test_a_text_that_is_not_certain_to_hold_several_is_one_item(case: str) -> None:
    assert await items_of(ONE[case]) == [ONE[case]]


MAYBE = {
    "two paragraphs that announce": "Alder Labs is hiring a cook.\n\nMarram Ferries seeks a pilot.",
    "two languages": "青藤科技诚聘厨师，熟悉面食。\n\nKite House is looking for a gardener.",
    "labels in two languages": "公司：青藤科技\n职位：厨师\n\nCompany: Kite House\nRole: Gardener",
    "the same sections twice": "厨师\n任职要求：\n会做面\n\n园丁\n任职要求：\n会种花",
}


@pytest.mark.parametrize("case", MAYBE)
def test_where_only_a_reader_can_tell_paragraphs_are_candidates(case: str) -> None:
    outline = Outline(MAYBE[case], NODE.items)
    assert outline.counted_starts() == ()
    assert len(outline.candidates()) == 2


async def test_every_item_points_back_into_the_whole_text() -> None:
    text = COUNTED["numbered roles below one employer, which belongs to each"][0]
    for item in (await divide(given(text), NODE, NO_CONTEXT)).items:
        words = item.given["text"]
        (section,) = item.given["sections"]
        assert words[section["start"] : section["end"]] == words
        for value in ("青藤科技", words.splitlines()[-1]):
            start = words.index(value)
            (back,) = item.excerpt.to_source({"start": start, "end": start + len(value)})
            assert text[back["start"] : back["end"]] == value


async def test_more_items_than_are_read_at_once_are_left_out_and_said() -> None:
    text = "\n\n".join(f"Role: Cook {number}\nLeeds" for number in range(MAX_ITEMS + 9))
    division = await divide(given(text), NODE, NO_CONTEXT)
    assert len(division.items) == MAX_ITEMS
    assert "Cook 11" in division.items[-1].given["text"]
    assert "Cook 12" not in division.items[-1].given["text"]
    assert division.notes == ("The text holds more than 12 items; the first 12 are read.",)


async def test_a_long_text_above_the_first_item_is_shared_in_part() -> None:
    above = "Alder Labs\n" + "We like tides. " * 20 + "\n"
    text = above + "We write ships.\n" * 200 + "\n\nRole: Cook\n\nRole: Gardener"
    division = await divide(given(text), NODE, NO_CONTEXT)
    for item in division.items:
        assert item.given["text"].startswith(above)
        assert len(item.given["text"]) < MAX_SHARED_CHARS + 100


async def test_a_node_that_declares_no_items_has_one() -> None:
    plain = NODE.model_copy(update={"items": Items()})
    text = COUNTED["no blank line at all"][0]
    assert len((await divide(given(text), plain, NO_CONTEXT)).items) == 1


def record(title: str, **more: Any) -> str:
    import json

    value = {"@context": "https://schema.org", "@type": "JobPosting", "title": title, **more}
    return f'<script type="application/ld+json">{json.dumps(value)}</script>'


def page(*scripts: str) -> str:
    body = "<h1>Openings</h1><p>All our openings at a glance, by the sea.</p>"
    return f"<html><head><title>Jobs</title>{''.join(scripts)}</head><body>{body}</body></html>"


async def test_each_record_of_a_page_is_an_item_with_its_own_lines_and_no_others() -> None:
    two = given(
        page(
            record("Pilot", description="<p>JobPosting</p><p>You steer.</p>"),
            '<script type="application/ld+json">{"@type": "Person", "name": "Ebb"}</script>',
            record("Cook", url="https://ferries.example/cook"),
        ),
        "list.html",
    )
    division = await divide(two, NODE, NO_CONTEXT)
    assert len(division.items) == 1, "a value that looks like a record's head leaves it undecided"
    clean = given(page(record("Pilot"), record("Cook")), "list.html")
    items = (await divide(clean, NODE, NO_CONTEXT)).items
    assert [item.given["records"][0]["value"]["title"] for item in items] == ["Pilot", "Cook"]
    assert [item.given["text"] for item in items] == [
        "JobPosting\ntitle: Pilot",
        "JobPosting\ntitle: Cook",
    ]
    assert all(len(item.given["records"]) == 1 for item in items)


async def test_a_page_with_one_record_or_none_is_one_item() -> None:
    for scripts in ((), (record("Pilot"),)):
        whole = given(page(*scripts), "one.html")
        (item,) = (await divide(whole, NODE, NO_CONTEXT)).items
        assert item.given == whole
