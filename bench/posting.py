"""The job of the benchmark: one posting, the model's answer to it, and the rows it leads to."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

COMPANY = "Quillback Instruments"
_NUMBERED = re.compile(rf"{COMPANY} (\d+)")
REQUIREMENTS = (
    ("skill", "Python and SQL in daily work", "must"),
    ("skill", "PostgreSQL beyond the manual", "must"),
    ("experience", "three years with measuring devices", "must"),
    ("qualification", "patience with old firmware", "nice"),
)
SYSTEM = (
    "Extract the job posting from the user's text. Copy each value word for word, give null for"
    " what is not stated, invent nothing."
)
ROWS_PER_TURN = {
    "organization": 1,
    "job_posting": 1,
    "job_requirement": len(REQUIREMENTS),
    "event": 2 + len(REQUIREMENTS),
    "chat_message": 1,
}
"""What every variant has written once a turn is through; what it keeps besides is its own."""


@dataclass(frozen=True)
class Posting:
    """The posting of one turn; its company is like no other's, so that each turn writes all."""

    number: int

    @property
    def company(self) -> str:
        return f"{COMPANY} {self.number}"

    @property
    def title(self) -> str:
        return "Calibration Engineer"

    @property
    def location(self) -> str:
        return "Norrland"

    @property
    def text(self) -> str:
        must = "\n".join(f"- {text}" for _, text, weight in REQUIREMENTS if weight == "must")
        nice = "\n".join(f"- {text}" for _, text, weight in REQUIREMENTS if weight == "nice")
        return (
            f"We are hiring! {self.company} looks for a {self.title} in {self.location}.\n\n"
            "You keep our instruments honest: you read what they send, find what drifts, and write"
            " down what you did about it. We are forty people in an old sawmill by the river.\n\n"
            f"Requirements\n{must}\n\nNice to have\n{nice}\n\nWrite to us in your own words."
        )


def answer_to(text: str) -> str:
    """Answer as the model does: JSON with every value as it stands in the text."""
    numbered = _NUMBERED.search(text)
    posting = Posting(int(numbered[1]) if numbered else 0)
    answer: dict[str, Any] = {
        "company": posting.company,
        "title": posting.title,
        "location": posting.location,
        "deadline": None,
        "requirements": [
            {"kind": kind, "text": words, "importance": weight}
            for kind, words, weight in REQUIREMENTS
        ],
    }
    return json.dumps(answer)
