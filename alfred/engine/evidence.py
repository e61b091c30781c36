"""What a value rests on: the words of the source, found by code and never by the model."""

from __future__ import annotations

from typing import Literal, TypedDict

Support = Literal[
    "grounded", "classified", "derived", "given", "literal", "edited", "said", "ungrounded"
]
"""
grounded    the words stand in the source, at `spans`
classified  a choice from a closed list about the words at `spans` (enums, booleans)
derived     computed by code from the words at `spans` (a date from "next Friday")
given       known beside the text: the page's address, a row that the node looked up
literal     fixed by the manifest, says nothing about the source
edited      given by the user at review
said        in the user's own words of a correction, which `quote` repeats
ungrounded  not in the source
"""


class Span(TypedDict):
    """A half-open range of code points of `SkillInput.text`: `text[start:end]`."""

    start: int
    end: int


class Evidence(TypedDict):
    """The support of one value. `quote` is the source's own words, joined over the spans."""

    support: Support
    spans: list[Span]
    quote: str


def is_tickable(evidence: Evidence) -> bool:
    """Say whether a value may be approved without a person looking at it first."""
    return evidence["support"] != "ungrounded"
