"""How probes write times, numbers, labels and foreign text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alfred.probes.probe import Window
from alfred.probes.said import say_count, say_labels, say_number, say_text, say_time, say_window

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
HOUR = Window(start=NOON - timedelta(hours=1), end=NOON)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("17", "17"),
        ("0.25", "0.25"),
        ("0.4831234567", "0.48312"),
        ("123456.789123", "123457"),
        ("1234567890123", "1234567890123"),
        ("4e+00", "4"),
        ("1.5e-07", "1.5e-07"),
        ("0.000000012345678", "1.2346e-08"),
        ("-12.3456789", "-12.346"),
        ("1.7976931348623157e+308", "1.7977e+308"),
        ("NaN", "NaN"),
        ("+Inf", "+Inf"),
        ("no number", "no number"),
    ],
)
def test_numbers_have_few_digits_and_lose_no_size(given: str, told: str) -> None:
    assert say_number(given) == told


def test_times_are_in_utc_and_carry_their_date_where_it_is_another() -> None:
    here = timezone(timedelta(hours=8))
    assert say_time(datetime(2026, 5, 4, 19, 30, 5, tzinfo=here), HOUR) == "11:30:05Z"
    assert say_time(NOON - timedelta(days=2), HOUR) == "2026-05-02T12:00:00Z"
    night = Window(start=NOON - timedelta(hours=13), end=NOON)
    assert say_time(NOON, night) == "2026-05-04T12:00:00Z"
    assert say_window(HOUR) == "from 2026-05-04T11:00:00Z to 12:00:00Z"
    assert say_window(night) == "from 2026-05-03T23:00:00Z to 2026-05-04T12:00:00Z"


def test_foreign_text_becomes_one_line_without_what_is_not_seen() -> None:
    assert say_text("one\n\ttwo\x00\x1b[31mthree\u202efour\u2028five") == (
        "one two [31mthree four five"
    )


@given(st.text(max_size=400))
def test_whatever_is_told_is_one_line_of_valid_text(text: str) -> None:
    for given_text in (text, f"\ud83d{text}"):
        told = say_text(given_text, 100)
        assert len(told) <= 100
        assert len(told.splitlines()) <= 1
        assert told.encode().decode() == told


def test_a_secret_is_masked_before_the_text_is_cut() -> None:
    told = say_text("login password=hunter2hunter2", 24)
    assert "hunter" not in told
    assert len(told) <= 24


def test_labels_are_sorted_and_compact() -> None:
    assert say_labels({"service": "pay", "instance": "a:1"}) == "{instance=a:1, service=pay}"
    assert say_labels({}) == ""


def test_counts_agree_with_their_noun() -> None:
    assert [say_count(n, "line") for n in (0, 1, 2)] == ["0 lines", "1 line", "2 lines"]
    assert say_count(2, "entry", "entries") == "2 entries"
