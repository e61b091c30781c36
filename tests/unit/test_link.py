"""What counts as a link, and what makes one that is fetched."""

from __future__ import annotations

import httpx
import pytest

from alfred.errors import InputRefused
from alfred.inputs.link import find_link, follow, is_bare_link, parse_link


@pytest.mark.parametrize(
    ("words", "link"),
    [
        ("https://jobs.example/1", "https://jobs.example/1"),
        ("  HTTP://jobs.example/1?a=b#c\r\n", "HTTP://jobs.example/1?a=b#c"),
        ("<https://jobs.example/1>", "https://jobs.example/1"),
        ("https://招聘.example/岗位/1。", "https://招聘.example/岗位/1"),
        ("https://jobs.example/1\nhttps://jobs.example/2", None),
    ],
)
def test_a_message_that_is_nothing_but_links_is_found(words: str, link: str | None) -> None:
    found = find_link(words.encode())
    assert found is not None
    assert link is None or found == link


@pytest.mark.parametrize(
    "words",
    [
        "",
        "Look at https://jobs.example/1",
        "https://jobs.example/1 我想投",
        "jobs.example/1",
        "<html>https://jobs.example/1</html>",
        "https://jobs.example/" + "a" * 10_000,
    ],
)
def test_words_around_a_link_make_a_text_of_it(words: str) -> None:
    assert find_link(words.encode()) is None


def test_words_that_are_nearly_links_are_told_apart_at_once() -> None:
    assert find_link(b"a://" * 1_900 + b" x") is None
    assert not is_bare_link("www.a." + "a" * 1_000_000 + "@")


def test_bytes_that_are_no_text_are_no_link() -> None:
    assert find_link(b"https://jobs.example/\xff") is None


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("ftp://jobs.example/1", "ftp"),
        ("file:///etc/passwd", "file"),
        ("javascript://jobs.example/%0aalert(1)", "javascript"),
        ("https://me:secret@jobs.example/1", "password"),
        ("https://@jobs.example/1", "password"),
        ("https://jobs.example@evil.example/1", "password"),
        ("https:///1", "no host"),
        ("https://jobs.example:0/1", "no host and port"),
        ("https://jobs.example:99999/1", "no host and port"),
        ("https://jobs.example:8a/1", "no address"),
        ("https://jobs%2eexample/1", "no host"),
        ("https://jobs.example/" + "a" * 2_000, "2,021 characters"),
        ("https://jobs.example/1 https://jobs.example/2", "2 links"),
    ],
)
def test_a_link_that_cannot_be_fetched_is_refused_with_the_reason(link: str, reason: str) -> None:
    with pytest.raises(InputRefused, match=reason) as caught:
        parse_link(link)
    assert caught.value.code == "input.address"
    assert caught.value.hint
    assert "secret" not in str(caught.value)


def test_a_typed_port_is_taken_and_a_redirect_may_keep_it() -> None:
    link = parse_link("https://jobs.example:8443/1")
    assert link.port == 8443
    assert follow(link, "/2", [8443]).port == 8443


@pytest.mark.parametrize(
    "location",
    [
        "https://jobs.example:6379/",
        "//jobs.example:22/",
        "ftp://jobs.example/",
        "file:///etc/passwd",
        "https://me:pw@jobs.example/",
        "https://jobs.example:x/",
        "http://[::1",
    ],
)
def test_a_redirect_to_anything_but_a_usual_link_is_refused(location: str) -> None:
    with pytest.raises(InputRefused) as caught:
        follow(httpx.URL("https://jobs.example/1"), location, [443])
    assert caught.value.code == "input.address"


def test_a_redirect_keeps_the_fragment_unless_it_brings_its_own() -> None:
    link = httpx.URL("https://jobs.example/1#/post/7")
    assert str(follow(link, "/2", [443])) == "https://jobs.example/2#/post/7"
    assert str(follow(link, "/2#top", [443])) == "https://jobs.example/2#top"


@pytest.mark.parametrize(
    "word", ["www.example.com", "www.example.com/jobs/1", "jobs.example.com/1", "a.cn:8080/x"]
)
def test_a_link_without_its_beginning_is_recognised(word: str) -> None:
    assert is_bare_link(word)


@pytest.mark.parametrize(
    "word", ["Node.js", "notes.txt", "./a.b/c", "me@example.com", "1688", "https://a.cn/1", "www."]
)
def test_other_words_are_not_taken_for_a_link_without_its_beginning(word: str) -> None:
    assert not is_bare_link(word)
