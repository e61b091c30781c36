"""Keys: spellings of the same name are one, different names stay apart."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alfred import store
from alfred.services.job_posting import fingerprint
from alfred.services.text_key import MAX_KEY_CHARS, organization_key, text_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lumen Kites", "ＬＵＭＥＮ  kites "),
        ("• 熟悉 Python；", "熟悉 Python"),
        ("5+ years of Go.", "- 5+ years of go"),
        ("Straße", "STRASSE"),
    ],
)
def test_spellings_of_the_same_words_have_one_key(one: str, other: str) -> None:
    assert text_key(one) == text_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("C", "C++"), ("C#", "C++"), ("net", ".NET"), ("1", "1.0")]
)
def test_different_words_have_different_keys(one: str, other: str) -> None:
    assert text_key(one) != text_key(other)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Lumen Kites, Inc.", "lumen kites"),
        ("Lumen Kites Co., Ltd.", "lumen kites"),
        ("Lumen Kites GmbH", "lumen kites"),
        ("青藤科技股份有限公司", "青藤科技"),
        ("青藤科技有限公司", "青藤科技"),
        ("有限公司", "有限公司"),
        ("Ltd.", "ltd"),
        ("Unlimited", "unlimited"),
        ("Incline", "incline"),
        ("1688", "1688"),
    ],
)
def test_only_the_legal_form_of_a_company_is_dropped(name: str, key: str) -> None:
    assert organization_key(name) == key


@given(st.text(min_size=1, max_size=400).filter(str.strip))
def test_a_key_is_short_and_never_empty(text: str) -> None:
    key = text_key(text)
    assert key
    assert len(key) <= MAX_KEY_CHARS
    assert len(organization_key(text)) <= MAX_KEY_CHARS


def test_long_texts_that_differ_at_the_end_have_different_keys() -> None:
    assert text_key("a" * 500 + "b") != text_key("a" * 500 + "c")


def test_every_name_of_the_vocabulary_is_its_own_key_and_means_one_thing() -> None:
    path = Path(store.__file__).parent / "migrations" / "job" / "0002_job_vocabulary.py"
    spec = importlib.util.spec_from_file_location("vocabulary", path)
    assert spec is not None
    assert spec.loader is not None
    migration = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(migration)
    for lines in (migration.LOCATIONS, migration.SKILLS):
        names: list[str] = []
        for line in lines.strip().splitlines():
            name, *_, others = (part.strip() for part in line.split("|"))
            names += [name.casefold(), *(o.strip() for o in others.split(";") if o.strip())]
        assert [text_key(name) for name in names] == names
        assert len(set(names)) == len(names)


def test_a_slash_in_a_name_is_not_the_one_that_joins_keys() -> None:
    assert fingerprint(text_key("a/b"), "c", "") != fingerprint(text_key("a"), "b/c", "")
    assert "/" not in text_key("CI/CD")
    assert text_key("CI/CD") == text_key("ci／cd")
