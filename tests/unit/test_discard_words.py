from __future__ import annotations

from typing import Any

import pytest

from alfred.engine.correction import ShownAction
from alfred.engine.discard_words import find_discarded

CALLED = {
    "upsert_company": ("company", "公司"),
    "link_requirement": ("requirement", "要求"),
    "create_reminder": ("reminder", "提醒"),
}


def shown(number: int, kind: str, **args: Any) -> ShownAction:
    return {
        "id": str(number),
        "number": number,
        "node": "extract_job",
        "kind": kind,
        "is_rejected": False,
        "is_needed": False,
        "args": args,
        "proposed": args,
    }


ACTIONS = [
    shown(1, "upsert_company", name="Alder Labs"),
    shown(2, "link_requirement", text="You know SQL"),
    shown(3, "link_requirement", text="You know Kafka"),
    shown(4, "create_reminder", due_on="2026-05-10"),
    shown(5, "create_reminder", due_on="2026-04-30"),
    shown(6, "create_reminder", due_on="2026-04-20"),
]


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("drop the second reminder", {5}),
        ("please remove the last reminder", {6}),
        ("drop the 1st reminder", {4}),
        ("drop the first and remove the second reminder", {5}),
        ("drop the first and third reminders", {4, 6}),
        ("drop the first, second and the third reminder", {4, 5, 6}),
        ("delete all reminders", {4, 5, 6}),
        ("I don't need the reminders", {4, 5, 6}),
        ("drop the SQL requirement", {2}),
        ("drop 3 and 5", {3, 5}),
        ("drop #3, 5, 6", {3, 5, 6}),
        ("drop actions 4 and 6", {4, 6}),
        ("删掉第二个提醒", {5}),
        ("把第二个提醒删掉", {5}),
        ("不要提醒了", {4, 5, 6}),
        ("去掉最后一个提醒", {6}),
        ("去掉 Kafka 那条要求", {3}),
        ("删掉3和5", {3, 5}),
        ("删掉第一个和第三个提醒", {4, 6}),
    ],
)
def test_a_clause_that_discards_names_its_actions_in_either_language(
    words: str, numbers: set[int]
) -> None:
    assert find_discarded(words, ACTIONS, CALLED).discarded == numbers


@pytest.mark.parametrize(
    ("words", "rest"),
    [
        ("no, the company is Kestrel, and drop the second reminder", "the company is Kestrel"),
        ("不对，公司应该是青禾，删掉第二个提醒", "公司应该是青禾"),
        ("no, sorry, drop the reminders", ""),
        ("不对，不要提醒了", ""),
    ],
)
def test_what_else_is_said_is_left_and_what_says_nothing_is_not(words: str, rest: str) -> None:
    said = find_discarded(words, ACTIONS, CALLED)
    assert said.discarded
    assert said.rest == rest
    assert said.unclear == []


@pytest.mark.parametrize(
    "words",
    [
        "remove Ltd. from the company",
        "drop the deadline",
        "drop the ninth reminder",
        "drop 3 and 9",
        "drop the COBOL requirement",
        "drop the company of the reminder",
        "公司名不要带有限公司",
        "删掉截止日期",
        "drop the second",
        "删掉第二个",
    ],
)
def test_what_the_words_alone_do_not_tell_is_left_for_a_model(words: str) -> None:
    said = find_discarded(words, ACTIONS, CALLED)
    assert said.discarded == set()
    assert len(said.unclear) == 1
    assert said.rest


@pytest.mark.parametrize(
    ("words", "numbers"),
    [("keep the second reminder", {5}), ("bring back 3", {3}), ("保留第二个提醒", {5})],
)
def test_what_is_to_be_kept_is_brought_back(words: str, numbers: set[int]) -> None:
    said = find_discarded(words, ACTIONS, CALLED)
    assert (said.restored, said.discarded, said.rest) == (numbers, set(), "")


def test_the_rest_is_left_as_it_was_said() -> None:
    words = "The firm is Smith and Sons; 3 and 5 years, drop the reminders. It is in Leeds, and"
    said = find_discarded(words, ACTIONS, CALLED)
    assert said.discarded == {4, 5, 6}
    assert said.rest == "The firm is Smith and Sons; 3 and 5 years, It is in Leeds"


@pytest.mark.parametrize(
    "words",
    [
        "the title is Dropwise Engineer",
        "the location is Leeds",
        "岗位名称是数据工程师",
        "Smith and Sons, not Smith; sorry.",
        "3 and 5 years",
    ],
)
def test_words_that_discard_nothing_are_all_left(words: str) -> None:
    said = find_discarded(words, ACTIONS, CALLED)
    assert (said.rest, said.unclear, said.discarded) == (words, [], set())
