"""What a person handed in, after normalisation (L0): the one form every node reads."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Modality = Literal["text", "link", "image", "audio"]
"""`link` is the content of a web page, saved or fetched."""


class Section(TypedDict):
    """A named part of the text: `text[start:end]`.

    Names for a page: `data` (values of its schema.org records), `head` (title, Open Graph, h1),
    `main`. Names for plain text: one section `main`.
    """

    name: str
    start: int
    end: int


class Record(TypedDict):
    """One schema.org object of a page, as it stands there; `type` is its `@type`."""

    type: str
    value: dict[str, Any]


class SkillInput(TypedDict):
    """The input of a turn, plain JSON, since it travels in the graph's state.

    `text` is valid Unicode without NUL; evidence points into it. The original bytes are kept
    beside the chat message. `received_at` is ISO 8601 with an offset, `timezone` an IANA name:
    words such as "next Friday" are resolved against them. `language` is `zh` or `en`, whichever
    the text mostly is.
    """

    modality: Modality
    text: str
    language: str
    url: str | None
    sections: list[Section]
    records: list[Record]
    received_at: str
    timezone: str
