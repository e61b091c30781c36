"""Dates in words are resolved against the message's time and zone, never against the clock."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alfred.engine.dates import resolve_date

WEDNESDAY = datetime(2026, 12, 2, 10, 0, tzinfo=UTC)
SHANGHAI = "Asia/Shanghai"


def resolve(words: str, language: str = "en", received_at: datetime = WEDNESDAY) -> date | None:
    return resolve_date(words, received_at=received_at, timezone=SHANGHAI, language=language)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("2026-12-31", "2026-12-31"),
        ("2026-12-31T23:59:59Z", "2026-12-31"),
        ("20261231", "2026-12-31"),
        ("12/31/2026", "2026-12-31"),
        ("31/12/2026", "2026-12-31"),
        ("31.12.2026", "2026-12-31"),
        ("31/12/26", "2026-12-31"),
        ("by 15 Jan", "2027-01-15"),
        ("January 15th, 2027", "2027-01-15"),
        ("the 15th of January", "2027-01-15"),
        ("15-Jan-27", "2027-01-15"),
        ("Sept. 5", "2027-09-05"),
        ("Friday, 15 January", "2027-01-15"),
        ("15–20 January", "2027-01-20"),
        ("January 15 - 20, 2027", "2027-01-20"),
        ("15 January – 2 February 2027", "2027-02-02"),
        ("mid-January", "2027-01-15"),
        ("end of March 2027", "2027-03-31"),
        ("end of the month", "2026-12-31"),
        ("end of next month", "2027-01-31"),
        ("end of week", "2026-12-04"),
        ("today", "2026-12-02"),
        ("Tomorrow!", "2026-12-03"),
        ("the day after tomorrow", "2026-12-04"),
        ("within two weeks", "2026-12-16"),
        ("in 10 days", "2026-12-12"),
        ("3 business days from now", "2026-12-07"),
        ("two weeks from Friday", "2026-12-18"),
        ("Friday", "2026-12-04"),
        ("this Friday", "2026-12-04"),
        ("next Friday", "2026-12-11"),
        ("20 December 2026 at 23:59 CET", "2026-12-20"),
    ],
)
def test_english_words_become_the_day_they_mean(words: str, expected: str) -> None:
    assert resolve(words) == date.fromisoformat(expected)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("截止日期：12月20日", "2026-12-20"),
        ("１２月２０日", "2026-12-20"),
        ("二〇二六年十二月三十一日", "2026-12-31"),
        ("2027年3月5日前", "2027-03-05"),
        ("明年1月5日", "2027-01-05"),
        ("9月1日至9月30日", "2027-09-30"),
        ("2027年9月1日-30日", "2027-09-30"),
        ("周五（12月4日）", "2026-12-04"),
        ("申请截止 2026/12/20 24:00", "2026-12-20"),
        ("3/4", "2027-03-04"),
        ("12.31", "2026-12-31"),
        ("15号前", "2026-12-15"),
        ("20日前", "2026-12-20"),
        ("1号", "2027-01-01"),
        ("下个月5号", "2027-01-05"),
        ("月底前", "2026-12-31"),
        ("12月底", "2026-12-31"),
        ("下月底", "2027-01-31"),
        ("今年年底", "2026-12-31"),
        ("2027年3月中旬", "2027-03-20"),
        ("今天", "2026-12-02"),
        ("明天", "2026-12-03"),
        ("后天", "2026-12-04"),
        ("大后天", "2026-12-05"),
        ("三日内", "2026-12-05"),
        ("两周之内", "2026-12-16"),
        ("一个月内", "2027-01-02"),
        ("半个月内", "2026-12-17"),
        ("5个工作日内", "2026-12-09"),
        ("周五", "2026-12-04"),
        ("本周五", "2026-12-04"),
        ("下周五", "2026-12-11"),
        ("下下周一", "2026-12-14"),
        ("本周内", "2026-12-06"),
    ],
)
def test_chinese_words_become_the_day_they_mean(words: str, expected: str) -> None:
    assert resolve(words, "zh") == date.fromisoformat(expected)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "ASAP",
        "rolling basis",
        "长期有效",
        "招满即止",
        "03/04/2027",
        "01/02/03",
        "3/4",
        "24/7",
        "1688",
        "1e5",
        "12.5",
        "Feb 30",
        "2月30日",
        "13月1日",
        "0000-00-00",
        "9999-12-31",
        "1688-01-01",
        "9999 months from now",
        "9999年后",
        "every Monday",
        "每周五",
        "10号线",
        "March 2027",
        "January 5 and February 7",
        "within 30 days of the offer",
        "x" * 100_000,
        "\ud800\x00",
    ],
)
def test_words_that_name_no_single_day_give_none(words: str) -> None:
    assert resolve(words) is None


def test_a_day_without_a_year_is_the_next_one_unless_it_has_just_passed() -> None:
    assert resolve("Nov 25") == date(2026, 11, 25)
    assert resolve("Nov 1") == date(2027, 11, 1)
    assert resolve("11月1日", "zh") == date(2027, 11, 1)
    assert resolve("11月底", "zh") == date(2026, 11, 30)


def test_today_is_the_messages_day_in_the_users_zone() -> None:
    late = datetime(2026, 12, 2, 23, 0, tzinfo=UTC)
    assert resolve("tomorrow", received_at=late) == date(2026, 12, 4)
    behind = late.astimezone(timezone(timedelta(hours=-8)))
    assert resolve("明天", "zh", received_at=behind) == date(2026, 12, 4)
    in_new_york = resolve_date(
        "tomorrow", received_at=late, timezone="America/New_York", language="en"
    )
    assert in_new_york == date(2026, 12, 3)


def test_the_end_of_the_month_follows_the_calendar() -> None:
    leap_year = datetime(2028, 2, 10, tzinfo=UTC)
    assert resolve("月底", "zh", leap_year) == date(2028, 2, 29)
    assert resolve("2月29日", "zh", leap_year) == date(2028, 2, 29)
    assert resolve("within one month", "en", datetime(2027, 1, 31, tzinfo=UTC)) == date(2027, 2, 28)


def test_a_moment_without_an_offset_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="offset"):
        resolve("today", received_at=datetime(2026, 12, 2))  # noqa: DTZ001


@settings(deadline=None)
@given(
    words=st.one_of(
        st.text(max_size=400),
        st.text("0123456789-/.年月日号天周个下内前今明底一二十百 janfebdecoundwithin", max_size=60),
    ),
    language=st.sampled_from(["zh", "en"]),
)
def test_no_words_raise_and_no_day_is_beyond_a_century(words: str, language: str) -> None:
    found = resolve(words, language)
    assert found is None or abs(found.year - 2026) <= 100


@settings(deadline=None)
@given(day=st.dates(date(1990, 1, 1), date(2100, 12, 31)))
def test_a_date_with_its_year_is_always_itself(day: date) -> None:
    chinese = f"{day.year}年{day.month}月{day.day}日"
    for words in (day.isoformat(), chinese, f"{day:%d %B %Y}", f"{day:%B} {day.day}, {day.year}"):
        assert resolve(words, "zh") == resolve(words, "en") == day


@pytest.mark.parametrize("piece", ["1", "一", "(", "within ", "1-", "月", "1月1日至", "next "])
def test_long_words_take_no_time(piece: str) -> None:
    began = time.process_time()
    resolve(piece * (300 // len(piece)))
    resolve(piece * 100_000)
    assert time.process_time() - began < 0.5
