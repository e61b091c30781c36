"""What a robots.txt says to Alfred."""

from __future__ import annotations

import pytest

from alfred.inputs.robots import Robots

PAGE = "https://jobs.example/post/1?from=mail"


@pytest.mark.parametrize(
    "rules",
    [
        "",
        "User-agent: *\nDisallow:",
        "User-agent: *\nDisallow: /admin\n",
        "User-agent: Otherbot\nDisallow: /\n",
        "User-agent: *\nDisallow: /\n\nUser-agent: alfred\nAllow: /post\n",
        "User-agent: *\nDisallow: /\nAllow: /post/\n",
        "User-agent: *\nDisallow: /*.pdf$\n",
        "<html><body>Disallow: /</body></html>",
    ],
)
def test_a_page_that_the_rules_leave_open_may_be_fetched(rules: str) -> None:
    assert Robots(rules.encode()).permit(PAGE)


@pytest.mark.parametrize(
    "rules",
    [
        "User-agent: *\nDisallow: /",
        "\ufeffUser-agent: *\r\nDisallow: /post\r\n",
        "user-agent: Alfred\ndisallow: /post/1\n\nUser-agent: *\nAllow: /\n",
        "User-agent: *\nDisallow: /*?from=\n",
        "User-agent: a\nUser-agent: *\nUser-agent: b\nDisallow: /post\n",
        "User-agent: a\nUser-agent: b\nUser-agent: Alfred\nDisallow: /post\n",
        "# all\nUser-agent: * # everybody\nDisallow: /p*t/1 # so\n",
    ],
)
def test_a_page_that_the_rules_close_may_not(rules: str) -> None:
    assert not Robots(rules.encode()).permit(PAGE)


def test_rules_for_thousands_of_others_are_read_as_one_group() -> None:
    agents = "".join(f"User-agent: bot-{n}\n" for n in range(15_000))
    rules = "".join(f"Disallow: /{n}\n" for n in range(15_000))
    robots = Robots((agents + rules + "User-agent: *\nDisallow: /post/1\n").encode())
    assert not robots.permit(PAGE)
    assert robots.permit("https://jobs.example/post/2")


def test_bytes_that_are_no_text_close_nothing() -> None:
    assert Robots(b"\xff\xfe\x00User-agent").permit(PAGE)
