"""Choosing a domain: a name given, the rules, priority, and saying why nothing decides."""

from __future__ import annotations

from typing import Any

import pytest

from alfred.dispatch.prefilter import Prefilter
from alfred.dispatch.route import choose_domain
from alfred.engine.manifest import Manifest, Match, Prompt
from alfred.engine.skill_input import SkillInput
from alfred.inputs.reader import read_input
from tests.world import NOON


def node(domain: str, keywords: tuple[str, ...], priority: int = 50) -> Manifest:
    return Manifest(
        name=f"read_{domain}",
        domain=domain,
        version=1,
        description="a node",
        match=Match(keywords=keywords, priority=priority),
        prompt=Prompt(system="s", user="u"),
        output_schema={"type": "object"},
    )


def said(words: str) -> SkillInput:
    return read_input(words.encode(), filename=None, received_at=NOON, timezone="UTC")


BIRDS = node("birds", ("heron", "nest", "wing"))
BOATS = node("boats", ("mast", "wing", "keel"))
BOTH = ["birds", "boats"]


def choose(words: str, *nodes: Manifest, **more: Any) -> Any:
    return choose_domain(said(words), Prefilter(nodes or (BIRDS, BOATS)), BOTH, **more)


@pytest.mark.parametrize(
    ("words", "domain"),
    [("a heron on its nest", "birds"), ("the mast broke", "boats"), ("wing, mast, keel", "boats")],
)
def test_the_domain_with_more_matching_rules_takes_the_input(words: str, domain: str) -> None:
    choice = choose(words)
    assert (choice.domain, choice.reason, choice.problem) == (domain, "RULES_MATCHED", "")


def test_a_tie_is_told_with_the_words_that_tie_and_how_to_decide() -> None:
    choice = choose("a heron on the mast")
    assert (choice.domain, choice.reason) == (None, "AMBIGUOUS")
    assert "birds (heron) and boats (mast)" in choice.problem
    assert "--domain" in choice.problem


def test_priority_decides_between_equal_claims_and_says_so() -> None:
    choice = choose("a heron on the mast", BIRDS, node("boats", ("mast",), priority=80))
    assert (choice.domain, choice.reason) == ("boats", "PRIORITY_DECIDED")
    assert "birds (heron) claims this input too; boats (mast) took it" in choice.problem


def test_a_higher_priority_does_not_outweigh_more_evidence() -> None:
    choice = choose("a heron, its nest, a mast", BIRDS, node("boats", ("mast",), priority=90))
    assert (choice.domain, choice.problem) == ("birds", "")


def test_a_named_domain_takes_any_input() -> None:
    for words in ("a heron on its nest", "nothing known"):
        choice = choose(words, named="boats")
        assert (choice.domain, choice.reason, choice.problem) == ("boats", "DOMAIN_NAMED", "")


def test_an_unrecognised_input_is_told_which_words_would_decide() -> None:
    choice = choose("good morning")
    assert (choice.domain, choice.reason) == (None, "UNMATCHED")
    assert "birds (heron, nest, wing, …); boats (mast, wing, keel, …)" in choice.problem


def test_an_unrecognised_input_goes_to_the_only_domain() -> None:
    choice = choose_domain(said("good morning"), Prefilter([BIRDS]), ["birds"])
    assert (choice.domain, choice.reason) == ("birds", "ONLY_DOMAIN")


def test_an_unrecognised_input_goes_to_the_only_domain_that_is_not_choosy() -> None:
    choice = choose("good morning", choosy={"boats"})
    assert (choice.domain, choice.reason, choice.problem) == ("birds", "ONLY_DOMAIN", "")


def test_a_choosy_domain_takes_what_its_rules_recognise_or_what_is_given_to_it() -> None:
    assert choose("the mast broke", choosy={"boats"}).reason == "RULES_MATCHED"
    assert choose("good morning", choosy={"boats"}, named="boats").domain == "boats"


def test_where_every_domain_is_choosy_an_unrecognised_input_goes_to_none() -> None:
    alone = choose_domain(said("hello"), Prefilter([BIRDS]), ["birds"], choosy={"birds"})
    assert (alone.domain, alone.reason) == (None, "UNMATCHED")
    assert choose("hello", choosy={"birds", "boats"}).reason == "UNMATCHED"
