"""The HTTP status of each error code, as docs/errors.md promises it."""

from __future__ import annotations

import re
from pathlib import Path

from alfred.errors import all_codes
from alfred.server.problem import problem_document
from alfred.server.status import OF_CODE, OF_FAMILY, status_of

TABLE = Path(__file__).parents[2] / "docs" / "errors.md"
ROW = re.compile(r"\| `([a-z_]+\.[a-z_]+)` \| (.*) \| (\d{3}) \|")


def promised() -> dict[str, int]:
    """Read the last column of the table."""
    rows = ROW.findall(TABLE.read_text(encoding="utf-8"))
    return {code: int(status) for code, _, status in rows}


def test_every_code_is_answered_with_the_status_that_the_document_promises() -> None:
    assert {code: status_of(code) for code in all_codes()} == promised()


def test_no_status_is_named_for_a_code_that_does_not_exist_or_twice() -> None:
    assert set(OF_CODE) <= set(all_codes())
    same = [code for code, status in OF_CODE.items() if OF_FAMILY[code.split(".")[0]] == status]
    assert same == []


def test_a_problem_document_has_every_member_of_the_standard_and_the_code() -> None:
    from alfred.errors import ReviewRefused

    error = ReviewRefused("review.stale", "The rows changed.", hint="Look again.")
    assert problem_document(error) == {
        "type": "urn:alfred:error:review.stale",
        "title": all_codes()["review.stale"],
        "status": 409,
        "detail": "The rows changed.",
        "code": "review.stale",
        "hint": "Look again.",
    }
