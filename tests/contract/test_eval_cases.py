"""The cases of `evals/cases`: they parse, cover what they should, and their answers are there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from alfred.engine.grounding import SourceText
from alfred.evaluation.agreement import WITHOUT
from alfred.evaluation.case_file import Case, read_cases
from alfred.inputs.reader import read_input
from tests.job_world import REGISTRY

FOLDER = Path(__file__).parents[2] / "evals" / "cases"
FILES = sorted(FOLDER.glob("*.jsonl"))
CASES = [
    pytest.param(path.name.split(".", 1)[0], case, id=f"{path.stem}: {case.id}")
    for path in FILES
    for case in read_cases(path)
]
MIN_CASES = 30


def texts_in(expected: Any) -> Iterator[str]:
    """Give every text that an expectation says is in the source."""
    if isinstance(expected, str):
        yield expected
    elif isinstance(expected, list):
        for each in cast("list[Any]", expected):
            yield from texts_in(each)
    elif isinstance(expected, dict):
        for key, each in cast("dict[str, Any]", expected).items():
            if key != WITHOUT:
                yield from texts_in(each)


def test_there_are_enough_cases_in_both_languages() -> None:
    cases = [case for path in FILES for case in read_cases(path)]
    assert len({case.id for case in cases}) == len(cases)
    assert len(cases) >= MIN_CASES
    languages = [case.language for case in cases]
    assert min(languages.count("zh"), languages.count("en")) >= MIN_CASES / 3


@pytest.mark.parametrize(("node", "case"), CASES)
def test_what_a_case_expects_stands_in_its_text(node: str, case: Case) -> None:
    given = read_input(
        case.content, filename=case.filename, received_at=case.received_at, timezone=case.timezone
    )
    source = SourceText(given["text"])
    expected = [text for value in case.expect.values() for text in texts_in(value)]
    assert [text for text in expected if source.find(text) is None] == []
    assert given["language"] == case.language
    assert set(case.expect) <= set(REGISTRY.get(node).output_schema["properties"])


@pytest.mark.parametrize(("node", "case"), CASES)
def test_every_field_that_can_be_asked_of_a_posting_has_an_expectation(
    node: str, case: Case
) -> None:
    assert {"company", "title", "location", "deadline"} <= set(case.expect)
