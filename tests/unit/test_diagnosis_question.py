"""What a question asks for, and since when, judged by its words alone."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from alfred.errors import InputRefused
from alfred.graphs.diagnosis.question import (
    Circumstances,
    QuestionKind,
    is_follow_up,
    is_in_other_language,
    kind_of,
    named_in,
    reply_to,
)
from alfred.graphs.diagnosis.time_words import DEFAULT_LOOKBACK, read_since, window_of

NOW = datetime(2026, 3, 2, 15, 30, tzinfo=ZoneInfo("Europe/Berlin"))
UNKNOWN = Circumstances(scope={})
NAMED = Circumstances(scope={}, names={"checkout", "check", "cart-db"})


@pytest.mark.parametrize(
    "question",
    ["hello", "Hi there!", "thanks", "谢谢", "你好，Alfred", "who are you?", "你能做什么？"],
)
def test_a_greeting_starts_no_diagnosis_even_while_alerts_fire(question: str) -> None:
    firing = Circumstances(scope={}, has_alerts=True)
    assert kind_of(question, firing) is QuestionKind.SMALL_TALK


@pytest.mark.parametrize(
    "question",
    [
        "What is a circuit breaker?",
        "what does p99 mean",
        "Explain backpressure",
        "How does a connection pool work?",
        "什么是死锁？",
        "P99 是什么意思",
    ],
)
def test_a_question_about_a_concept_starts_no_diagnosis(question: str) -> None:
    assert kind_of(question, UNKNOWN) is QuestionKind.CONCEPT


@pytest.mark.parametrize(
    "question",
    [
        "Why is checkout slow since 14:00?",
        "What is wrong with checkout?",
        "What is the error rate of cart-db doing?",
        "checkout 为什么这么慢",
        "支付服务报错了",
        "Is everything healthy?",
        "are we down",
    ],
)
def test_a_question_about_a_system_is_a_diagnosis(question: str) -> None:
    assert kind_of(question, NAMED) is QuestionKind.DIAGNOSIS


@pytest.mark.parametrize("question", ["Can you have a look?", "有点奇怪，帮我看看", "why?"])
def test_a_question_that_names_nothing_needs_an_alert_or_an_earlier_one(question: str) -> None:
    assert kind_of(question, UNKNOWN) is QuestionKind.NO_CONTEXT
    assert kind_of(question, Circumstances(scope={}, has_alerts=True)) is QuestionKind.DIAGNOSIS
    given = Circumstances(scope={"service": "checkout"})
    assert kind_of(question, given) is QuestionKind.DIAGNOSIS


def test_a_follow_up_is_a_diagnosis_where_there_is_something_to_follow() -> None:
    question = "And since when?"
    assert is_follow_up(question)
    assert kind_of(question, UNKNOWN) is QuestionKind.NO_CONTEXT
    assert kind_of(question, Circumstances(scope={}, has_previous=True)) is QuestionKind.DIAGNOSIS


@pytest.mark.parametrize("question", ["那是从什么时候开始的？", "why is it so?", "它为什么重启"])
def test_words_that_lean_on_an_earlier_question_are_known_in_both_languages(question: str) -> None:
    assert is_follow_up(question)


def test_the_longest_name_that_stands_alone_is_what_a_question_is_about() -> None:
    assert named_in("Is cart-db slow?", NAMED.names) == "cart-db"
    assert named_in("checkout慢", NAMED.names) == "checkout"
    assert named_in("recheck the rechecks", NAMED.names) is None


@pytest.mark.parametrize(
    "question", ["Warum ist checkout langsam?", "¿Por qué está lento?", "なぜ遅い"]
)
def test_a_third_language_is_noticed(question: str) -> None:
    assert is_in_other_language(question)
    assert not is_in_other_language("Why is checkout slow?")
    assert not is_in_other_language("checkout 为什么慢")


@pytest.mark.parametrize("kind", [k for k in QuestionKind if k is not QuestionKind.DIAGNOSIS])
def test_what_starts_nothing_has_a_reply_in_both_languages(kind: QuestionKind) -> None:
    assert reply_to(kind, "zh") != reply_to(kind, "en")


@pytest.mark.parametrize(
    ("words", "back"),
    [
        ("2h", timedelta(hours=2)),
        ("30 min", timedelta(minutes=30)),
        ("1d", timedelta(days=1)),
        ("90s", timedelta(seconds=90)),
        ("14:00", timedelta(hours=1, minutes=30)),
        ("16:00", timedelta(hours=23, minutes=30)),
        ("2026-03-02T15:00", timedelta(minutes=30)),
        ("2026-03-02T14:00:00+00:00", timedelta(minutes=30)),
    ],
)
def test_a_time_to_look_back_to_is_read_as_people_write_it(words: str, back: timedelta) -> None:
    assert NOW - read_since(words, NOW) == back


@pytest.mark.parametrize(
    "words", ["", "soon", "2 parsecs", "-2h", "25:00", "60d", "2026-03-03", "0m"]
)
def test_what_is_no_time_to_look_back_to_is_refused_with_examples(words: str) -> None:
    with pytest.raises(InputRefused, match=r"last 31 days|no time to look back to") as refused:
        read_since(words, NOW)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("question", "back"),
    [
        ("Why is checkout slow since 14:00?", timedelta(hours=1, minutes=30)),
        ("errors in the last 2 hours", timedelta(hours=2)),
        ("errors in the past hour", timedelta(hours=1)),
        ("最近 3 小时一直超时", timedelta(hours=3)),
        ("checkout 从14:30开始变慢", timedelta(hours=1)),
        ("15:00 起一直报错", timedelta(minutes=30)),
        ("it broke yesterday", DEFAULT_LOOKBACK),
        ("it fails for 5 users", DEFAULT_LOOKBACK),
        ("port 10:99 is closed", DEFAULT_LOOKBACK),
    ],
)
def test_a_question_says_itself_since_when(question: str, back: timedelta) -> None:
    window = window_of(question, NOW)
    assert (window.end - window.start, window.end) == (back, NOW)
