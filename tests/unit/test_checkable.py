"""Numbers, times and names of a sentence, and which of them stand in evidence."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alfred.nodes.checkable import Excerpts, is_checkable, missing_from, tokens_of

LINES = (
    'BasketSlow{service="basket",instance="10.0.0.5:8080"} firing since 13:58:10Z value 2.31',
    "2026-03-02T14:00:05Z basket ERROR timeout after 250ms, 1234 waiting, 12.5 % failed",
    "- pool_size: 50",
    "+ pool_size: 5",
    "commit 4f0c2ab9d17e88 in config/basket.yaml by kl",
    "pod basket-api-7d9f8c-x2k1q OOMKilled exit_code=137 restarts=4",
    "GET /api/orders status=503 count=17 ratio=0.35",
    "Mar  2 14:05:09 db1.internal postgres: too many connections (50/50)",
    "FATAL disk /var/log/basket 100% used",
    "throughput 3e4 requests, memory 512MiB",
    "deployed 1.8.2 (x214) to mail-6c9f7d-bcdfg",
)
EVIDENCE = Excerpts(LINES)


@pytest.mark.parametrize(
    "sentence",
    [
        "The p value is 2.31.",
        "Latency exceeded 250 ms.",
        "延迟达到 250毫秒。",
        "1,234 requests wait.",
        "有 1234 个请求在等待",
        "12.5% of calls fail.",
        "错误率为百分之十二点五",
        "It began at 14:00.",
        "It began at 14:00:05 UTC.",
        "It began at 2pm.",
        "14点00分开始",
        "3月2日出现",
        "On 2 March it broke.",
        "pool_size was set to 5.",
        "pool_size=5",
        "pool_size 从 50 改为 5",
        "service=basket fires",
        "BasketSlow fires on 10.0.0.5:8080.",
        "Commit 4f0c2ab touched config/basket.yaml.",
        "The change to basket.yaml did it.",
        "basket-api was OOMKilled with 137.",
        "basket-api-7d9f8c-x2k1q restarted 4 times.",
        "/api/orders answers 503.",
        "db1 says 'too many connections'.",
        "db1 说“too many connections”。",
        "Connections: 50/50.",
        "/var/log/basket is 100 % full.",
        "３万次请求",  # full width
        "The ratio is 0.35 (E7).",
        "30,000 requests",
        "内存 512MiB",
        "出现 214 次",
        "v1.8.2 was deployed, 214 times over.",
        "mail-6c9f7d restarted.",
    ],
)
def test_what_the_evidence_holds_is_not_missing(sentence: str) -> None:
    assert is_checkable(sentence)
    assert missing_from(sentence, EVIDENCE) == []


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        ("35 % of users are affected.", ["35 %"]),
        ("35% of calls fail.", ["35%"]),
        ("三十五万人受影响", ["三十五万"]),
        ("Latency is 2.3.", ["2.3"]),
        ("Latency is 250s.", ["250s"]),
        ("It began at 14:01.", ["14:01"]),
        ("It began at 14:00:06.", ["14:00:06"]),
        ("It began at 13:58:10+08:00.", ["13:58:10+08:00"]),
        ("On 3 March it broke.", ["3 March"]),
        ("pool_size=6", ["pool_size=6"]),
        ("max_size=5", ["max_size=5"]),
        ("basket-db is down.", ["basket-db"]),
        ("The ledger-api restarted.", ["ledger-api"]),
        ("Commit 4f0c2ac is the one.", ["4f0c2ac"]),
        ("Commit 4f0c2ab9d17e88aa is the one.", ["4f0c2ab9d17e88aa"]),
        ("/api/order fails.", ["/api/order"]),
        ("10.0.0.50 is down.", ["10.0.0.50"]),
        ("NullPointerException in basket.", ["NullPointerException"]),
        ("It says 'out of memory'.", ["out of memory"]),
        ("memory 512MB", ["512MB"]),
        ("-5 is odd", ["-5"]),
        ("db10 fails", ["db10"]),
        ("v1.8 was deployed", ["v1.8"]),
        ("mail-6c9f restarted.", ["mail-6c9f"]),
    ],
)
def test_what_no_line_holds_is_named_as_it_is_written(sentence: str, missing: list[str]) -> None:
    assert missing_from(sentence, EVIDENCE) == missing


@pytest.mark.parametrize(
    "sentence",
    [
        "The service is slow because the database is busy.",
        "这些实例都变慢了，十分严重，万一继续下去。",
        "A long-running, read-only check (see E1, F2) e.g. of the CPU and/or the disk.",
        "The first-look says it's the root-cause.",
        "",
        "……",
    ],
)
def test_ordinary_words_are_nothing_to_check(sentence: str) -> None:
    assert tokens_of(sentence) == []


def test_a_percentage_is_no_fraction_and_no_bare_number() -> None:
    assert missing_from("35%", Excerpts(["ratio 0.35"])) == ["35%"]
    assert missing_from("35%", Excerpts(["35 users"])) == ["35%"]
    assert missing_from("35%", Excerpts(["used_percent 35"])) == []


def test_a_label_has_to_stand_in_one_line() -> None:
    assert missing_from("zone=b7", Excerpts(["zone=a1", "rack b7"])) == ["zone=b7"]
    assert missing_from("zone=b7", Excerpts(['{"zone": "b7"}'])) == []


NUMBERS = st.integers(0, 10**9) | st.decimals(0, 10**6, places=2)
WORDS = st.text(string.ascii_lowercase, min_size=2, max_size=8)
NAMES = st.builds("{}_{}".format, WORDS, WORDS) | st.builds("{}-{}7".format, WORDS, WORDS)


@given(number=NUMBERS, name=NAMES, before=WORDS, after=WORDS)
def test_what_a_line_says_is_found_wherever_it_stands(
    number: object, name: str, before: str, after: str
) -> None:
    line = f"{before} {name}={number} {after}"
    assert missing_from(f"{name} is {number}", Excerpts([line])) == []
    assert missing_from(f"{name}是{number}。", Excerpts([line])) == []


@given(number=st.integers(0, 10**6), other=st.integers(0, 10**6))
def test_one_number_never_stands_for_another(number: int, other: int) -> None:
    missing = missing_from(f"count is {number}", Excerpts([f"count={other} of x{number}y"]))
    assert (missing == []) == (number == other)


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    for token in tokens_of(text):
        assert token.written
    assert isinstance(missing_from(text, Excerpts([text])), list)


@given(st.lists(NAMES | NUMBERS.map(str), min_size=1, max_size=5))
def test_a_sentence_never_lacks_what_its_own_words_say(words: list[str]) -> None:
    sentence = " ".join(words)
    assert missing_from(sentence, Excerpts([sentence])) == []
