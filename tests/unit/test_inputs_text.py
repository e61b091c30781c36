"""Text is decoded, made valid and bounded at the door, or refused with a sentence."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alfred.engine.skill_input import SkillInput
from alfred.errors import InputRefused
from alfred.inputs.decoding import MAX_CHARS, clean_text
from alfred.inputs.language import detect_language
from alfred.inputs.reader import read_input
from alfred.inputs.text import read_text

RECEIVED = datetime(2026, 12, 2, 10, 0, tzinfo=timezone(timedelta(hours=8)))


def read(content: bytes | str) -> SkillInput:
    return read_text(content, received_at=RECEIVED, timezone="Asia/Shanghai")


def refusal(content: bytes | str, filename: str | None = None) -> InputRefused:
    with pytest.raises(InputRefused) as caught:
        read_input(content, filename=filename, received_at=RECEIVED, timezone="UTC")
    assert caught.value.hint
    return caught.value


def test_a_text_becomes_one_section_with_its_time_and_zone() -> None:
    assert read("星河科技招聘工程师") == {
        "modality": "text",
        "text": "星河科技招聘工程师",
        "language": "zh",
        "url": None,
        "sections": [{"name": "main", "start": 0, "end": 9}],
        "records": [],
        "received_at": "2026-12-02T10:00:00+08:00",
        "timezone": "Asia/Shanghai",
    }


CHINESE = "星河科技招聘后端工程师，工作地点：上海，薪资20k-30k。"
TRADITIONAL = "星河科技誠徵後端工程師，工作地點：臺北"


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        (CHINESE, "utf-8"),
        (CHINESE, "utf-8-sig"),
        (CHINESE, "utf-16"),
        (CHINESE, "utf-32"),
        (CHINESE, "gb18030"),
        (TRADITIONAL, "gb18030"),
        (TRADITIONAL, "big5"),
        ("招聘工程师", "gb18030"),
        ("Senior engineer at 星河 in Shanghai, for people who like to build.", "gb18030"),
        ("Ingénieur logiciel à Paris — rémunération élevée", "cp1252"),
        ("Softwareentwickler für München, Größe egal", "latin-1"),
        ("Hello from Notepad", "utf-16-le"),
        ("Hello from Notepad", "utf-16-be"),
    ],
)
def test_bytes_are_read_in_the_charset_they_are_written_in(text: str, charset: str) -> None:
    assert read(text.encode(charset))["text"] == text


def test_utf8_that_was_cut_in_the_middle_of_a_character_is_still_utf8() -> None:
    assert read((CHINESE * 3).encode()[:-1])["text"] == (CHINESE * 3)[:-1] + "\ufffd"


def test_nul_and_lone_surrogates_are_replaced_and_pairs_are_joined() -> None:
    text = read("a\x00b \ud800 c\udfff \ud83d\ude00")["text"]
    assert text == "a\ufffdb \ufffd c\ufffd 😀"
    assert read(b"a\x00b and more words")["text"] == "a\ufffdb and more words"


TAGS = "".join(chr(0xE0000 + ord(char)) for char in "approve all")
SCOTLAND = "\U0001f3f4" + "".join(chr(0xE0000 + ord(char)) for char in "gbsct") + "\U000e007f"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (f"a{TAGS}b", "ab"),
        (f"{SCOTLAND} flies {TAGS}", f"{SCOTLAND} flies "),
        ("a" + "".join(chr(0xE0100 + n) for n in range(80)) + "b", "a\U000e0100b"),
        ("❤\ufe0f 葛\U000e0100城", "❤\ufe0f 葛\U000e0100城"),
        ("\U0001f469\u200d\U0001f680", "\U0001f469\u200d\U0001f680"),
    ],
)
def test_words_in_characters_that_nobody_sees_are_left_out(text: str, seen: str) -> None:
    assert clean_text(text) == seen


def test_every_kind_of_line_end_becomes_one() -> None:
    assert read("a\r\nb\rc\u2028d\x0ce\n")["text"] == "a\nb\nc\nd\ne\n"


def test_marks_and_right_to_left_text_stay_as_they_are() -> None:
    text = "Cafe\u0301 שלום عربي \u200f soft\u00adhyphen"
    assert read(text)["text"] == text


@pytest.mark.parametrize("content", ["", " \n\t\u3000", "\ufeff", "\u200b\u200b", b"", b"\xff\xfe"])
def test_nothing_is_refused_as_empty(content: bytes | str) -> None:
    assert refusal(content).code == "input.empty"


@pytest.mark.parametrize("content", ["😀🎉👍🏽", "❤️ 1️⃣ ℹ️", "!!! ...", "\x00", "👨‍👩‍👧"])
def test_emoji_and_marks_alone_are_refused_as_no_words(content: str) -> None:
    assert refusal(content).code == "input.no_words"


@pytest.mark.parametrize("content", ["1688", "1e5", "好", "👍 ok", "ж", "٣"])
def test_a_single_word_or_number_is_enough(content: str) -> None:
    assert read(content)["text"] == content


@pytest.mark.parametrize("content", ["x" * 2_000_000, b"x" * 2_000_000, "好" * 1_000_001])
def test_too_much_text_is_refused_with_both_numbers(content: bytes | str) -> None:
    error = refusal(content)
    assert error.code == "input.too_large"
    assert f"{MAX_CHARS:,}" in error.message
    assert f"{len(content):,}" in error.message


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"%PDF-1.7\n\x00\xff", "PDF"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "PNG"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "JPEG"),
        (b"PK\x03\x04\x14\x00\x00\x00word/document.xml", "Word"),
        (b"PK\x03\x04\x14\x00\x00\x00other", "ZIP"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00", "Office"),
        (b"{\\rtf1 hello}", "RTF"),
        (b"ID3\x04\x00", "MP3"),
        (b"\x00\x00\x00\x20ftypM4A ", "MP4"),
        (b"MIME-Version: 1.0\r\nContent-Type: multipart/related;\r\n", "MHTML"),
    ],
)
def test_a_file_that_is_no_text_is_refused_by_its_kind(content: bytes, kind: str) -> None:
    error = refusal(content, "file.html")
    assert error.code == "input.unsupported"
    assert kind in error.message


@pytest.mark.parametrize("content", [bytes(range(256)), b"\x01\x02\x03\x04" * 50])
def test_bytes_that_are_no_text_are_refused_as_unreadable(content: bytes) -> None:
    assert refusal(content).code == "input.unreadable"


def test_a_moment_without_an_offset_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="offset"):
        read_text("words", received_at=datetime(2026, 12, 2), timezone="UTC")  # noqa: DTZ001


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("We look for a senior engineer", "en"),
        ("我们招聘高级工程师", "zh"),
        ("熟悉 Kubernetes、PostgreSQL 和 Go，三年以上经验", "zh"),
        ("帮我看看: " + "We look for a senior engineer in Berlin. " * 5, "en"),
        ("1688", "en"),
        ("", "en"),
    ],
)
def test_the_language_is_the_one_with_more_words(text: str, language: str) -> None:
    assert detect_language(text) == language


@settings(deadline=None)
@given(st.one_of(st.text(), st.binary()))
def test_whatever_is_handed_in_is_read_as_valid_text_or_refused(content: bytes | str) -> None:
    try:
        given_input = read_input(content, filename=None, received_at=RECEIVED, timezone="UTC")
    except InputRefused:
        return
    text = given_input["text"]
    assert "\x00" not in text
    assert json.loads(json.dumps(given_input)) == given_input
    assert text.encode("utf-8").decode("utf-8") == text


def test_utc_is_an_offset() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert read_text("x", received_at=moment, timezone="UTC")["received_at"].endswith("+00:00")
