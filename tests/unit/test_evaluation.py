"""Evaluation: what counts as right, counted by hand; case files and stored runs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alfred.engine.evidence import Evidence
from alfred.errors import EvaluationRefused
from alfred.evaluation.agreement import agree, normalise, problem_with
from alfred.evaluation.case_file import digest_of, read_cases
from alfred.evaluation.difference import compare
from alfred.evaluation.evaluate import choose_cases
from alfred.evaluation.report import difference_lines, miss_lines, report_lines, run_document
from alfred.evaluation.run_file import Run, RunFolder, Subject, with_result
from alfred.evaluation.score import (
    CaseResult,
    FieldScore,
    field_scores,
    language_scores,
    score_fields,
)

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
GROUNDED: Evidence = {"support": "grounded", "spans": [{"start": 0, "end": 3}], "quote": "Ulm"}
UNGROUNDED: Evidence = {"support": "ungrounded", "spans": [], "quote": ""}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ＡＢＣ　科技", "abc 科技"),
        ("Full-Time.", "full-time"),
        ("  Quillmark \n Press ", "QUILLMARK PRESS"),
        ("后端工程师（上海）", "后端工程师(上海)"),
        ("Straße", "STRASSE"),
        ("招聘。", "招聘"),
    ],
)
def test_width_case_blanks_and_punctuation_at_the_end_make_no_difference(
    one: str, other: str
) -> None:
    assert normalise(one) == normalise(other)
    assert agree(one, other) == "normalised"


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ("Berlin", "Berlin, Germany"),
        ("青藤科技", "青藤科技有限公司"),
        ("北京", "北京市"),
        (".NET 工程师", "NET 工程师"),
        ("Köln", "Cologne"),
        ("C++", "C"),
    ],
)
def test_a_legal_form_a_country_or_a_translation_is_a_difference(expected: str, got: str) -> None:
    assert agree(expected, got) == "different"


@given(st.text())
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@pytest.mark.parametrize(
    ("expected", "got", "agreement"),
    [
        (None, None, "exact"),
        (None, "Ulm", "different"),
        ("Ulm", None, "different"),
        ("Ulm", "Ulm", "exact"),
        (True, True, "exact"),
        (1, True, "different"),
        (["北京", "上海"], "上海、北京", "normalised"),
        (["Dublin", "Utrecht"], "Dublin, Utrecht", "normalised"),
        (["Dublin", "Utrecht"], "Dublin and Utrecht", "normalised"),
        (["Dublin", "Utrecht"], "Dublin", "different"),
        (["Dublin"], "Dublin, Utrecht", "different"),
        (["Linz"], "Linz", "exact"),
        (["Horn 3, Linz", "Graz"], "Graz / Horn 3, Linz", "normalised"),
        (["a", "b"], ["a", "b"], "exact"),
        ({"any_of": ["Ulm", "Ulm-Ost"]}, "ulm-ost", "normalised"),
        ({"any_of": [None, "Ulm"]}, None, "exact"),
        ({"any_of": ["Ulm", None]}, "Graz", "different"),
        ({"with": ["SQL"]}, [{"kind": "skill", "text": "sql"}], "normalised"),
        ({"with": ["SQL"], "without": ["Go"]}, [{"text": "SQL"}, {"text": "Go"}], "different"),
        ({"without": ["Go"]}, None, "normalised"),
    ],
)
def test_an_expectation_is_compared_by_its_form(expected: Any, got: Any, agreement: str) -> None:
    assert problem_with(expected) is None
    assert agree(expected, got) == agreement


@pytest.mark.parametrize(
    "expected", ["", " . ", [], [1], {}, {"any": ["a"]}, {"any_of": []}, {"with": "a"}]
)
def test_an_expectation_that_nothing_can_meet_is_refused(expected: Any) -> None:
    assert problem_with(expected) is not None


def result(case: str, language: str = "en", **more: Any) -> CaseResult:
    defaults: dict[str, Any] = {
        "fields": (),
        "valid": True,
        "outcome": "ACTIONS_PROPOSED",
        "notices": (),
        "calls": 1,
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "model_seconds": 2.0,
        "seconds": 2.5,
    }
    return CaseResult(id=case, language=language, **{**defaults, **more})


def read(expect: dict[str, Any], out: dict[str, Any], **evidence: Evidence) -> Any:
    return score_fields(expect, out, {f"/{name}": leaf for name, leaf in evidence.items()})


def test_scores_are_those_counted_by_hand() -> None:
    expect = {"company": "Alder Labs", "location": "Ulm"}
    results = [
        # both right, one of them only after normalisation
        result(
            "a",
            fields=read(
                expect,
                {"company": "Alder Labs", "location": "ULM."},
                company=GROUNDED,
                location=GROUNDED,
            ),
        ),
        # the company is wrong but stands in the source; the location is not answered
        result("b", fields=read(expect, {"company": "Birch"}, company=GROUNDED), calls=2),
        # the company is invented; the location, which is not stated, is rightly left out
        result(
            "c",
            fields=read({**expect, "location": None}, {"company": "Cedar"}, company=UNGROUNDED),
            valid=False,
        ),
        result("d", "zh", fields=read({"company": "青藤"}, {"company": "青藤"}, company=GROUNDED)),
    ]
    assert field_scores(results) == [
        FieldScore(
            language="en",
            field="company",
            cases=3,
            exact=1,
            right=1,
            stated=3,
            ungrounded=1,
            wrong_grounded=1,
        ),
        FieldScore(
            language="en",
            field="location",
            cases=3,
            exact=1,
            right=2,
            stated=1,
            ungrounded=0,
            wrong_grounded=0,
        ),
        FieldScore(
            language="zh",
            field="company",
            cases=1,
            exact=1,
            right=1,
            stated=1,
            ungrounded=0,
            wrong_grounded=0,
        ),
    ]
    english, chinese = language_scores(results)
    assert (english.cases, english.valid, english.calls) == (3, 2, 4)
    assert (chinese.cases, chinese.prompt_tokens, chinese.seconds) == (1, 100, 2.5)
    assert list(miss_lines(results[1])) == [
        "    company: expected 'Alder Labs', got 'Birch' (grounded)",
        "    location: expected 'Ulm', got nothing",
    ]


def test_one_ungrounded_part_makes_a_list_ungrounded() -> None:
    out = {"skills": [{"text": "Ulm"}, {"text": "Go"}]}
    evidence = {"/skills/0/text": GROUNDED, "/skills/1/text": UNGROUNDED}
    (field,) = score_fields({"skills": {"with": ["Ulm"]}}, out, evidence)
    assert (field.support, field.is_right) == ("ungrounded", True)


def write(folder: Path, *lines: dict[str, Any] | str) -> Path:
    path = folder / "cases.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts), encoding="utf-8")
    return path


CASE = {"id": "one", "lang": "en", "text": "Ulm", "expect": {"location": "Ulm"}}


def test_a_case_file_is_read_with_the_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<html><p>Ulm</p></html>", encoding="utf-8")
    page = {k: v for k, v in CASE.items() if k != "text"} | {"id": "two", "html_file": "page.html"}
    hidden = {**CASE, "id": "three", "gold_in_text": {"location": False}, "node": "other"}
    first, second, third = read_cases(write(tmp_path, CASE, "", page, hidden))
    assert (first.content, first.filename, first.expect) == (b"Ulm", "case.txt", CASE["expect"])
    assert (second.filename, second.content) == ("page.html", b"<html><p>Ulm</p></html>")
    assert (third.expect, third.node) == ({}, "other")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "is no JSON"),
        ("[1]", "is no JSON object"),
        ({**CASE, "titel": 1}, "unknown field 'titel'"),
        ({**CASE, "id": ""}, "id is missing"),
        ({**CASE, "html": "<p>"}, "exactly one of"),
        ({"id": "x", "lang": "en", "expect": {"a": "b"}}, "exactly one of"),
        ({"id": "x", "lang": "en", "expect": {"a": "b"}, "text_file": "no.txt"}, "cannot be read"),
        ({**CASE, "expect": {}}, "expect is missing"),
        ({**CASE, "expect": {"a": {"any": 1}}}, "expect.a has the keys any"),
        ({**CASE, "received_at": "2026-03-02T09:00:00"}, "no offset"),
        ({**CASE, "timezone": "Mars/Olympus"}, "no IANA name"),
        ({**CASE, "gold_in_text": {"location": 1}}, "gold_in_text"),
    ],
)
def test_a_mistake_in_a_case_file_is_named_with_its_line(
    tmp_path: Path, line: dict[str, Any] | str, said: str
) -> None:
    with pytest.raises(EvaluationRefused) as refused:
        read_cases(write(tmp_path, {**CASE, "id": "zero"}, line))
    assert refused.value.code == "eval.cases"
    assert "line 2" in refused.value.message
    assert said in refused.value.message


def test_files_without_cases_and_doubled_ids_are_refused(tmp_path: Path) -> None:
    for lines in ([], [CASE, CASE]):
        with pytest.raises(EvaluationRefused):
            read_cases(write(tmp_path, *lines))
    with pytest.raises(EvaluationRefused, match="cannot be read"):
        read_cases(tmp_path / "none.jsonl")


def test_the_digest_of_cases_follows_content_and_expectation(tmp_path: Path) -> None:
    def of(**changes: Any) -> str:
        return digest_of(read_cases(write(tmp_path, {**CASE, **changes})))

    assert of() == of(note="said otherwise")
    assert len({of(), of(text="Graz"), of(expect={"location": "Graz"}), of(id="two")}) == 4


def test_a_limit_takes_the_same_sample_however_the_file_is_ordered(tmp_path: Path) -> None:
    lines = [{**CASE, "id": f"case-{number}"} for number in range(20)]
    cases = read_cases(write(tmp_path, *lines))
    turned = read_cases(write(tmp_path, *reversed(lines)))
    sample = {c.id for c in choose_cases(cases, "extract_job", language=None, limit=5)}
    assert len(sample) == 5
    assert {c.id for c in choose_cases(turned, "extract_job", language="en", limit=5)} == sample
    with pytest.raises(EvaluationRefused, match="No case is about"):
        choose_cases(cases, "extract_job", language="zh", limit=None)


SUBJECT = Subject(node="extract_job", model="m", cases="c", manifest="d", code="e")
RUN = Run(
    name="20260302-090000-extract_job",
    subject=SUBJECT,
    source="cases.jsonl",
    planned=2,
    started_at=AT,
    version="1",
)


def test_a_stored_run_is_read_back_as_it_was(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    fields = read({"company": ["a", "b"]}, {"company": "a, b"}, company=GROUNDED)
    run = with_result(RUN, result("one", fields=fields, notices=("cut",)))
    folder.save(run)
    assert folder.load("2026") == run
    assert folder.names() == [RUN.name]
    assert folder.new_name("extract_job", AT) == f"{RUN.name}-2"


def test_only_an_interrupted_run_of_the_same_subject_goes_on(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.save(RUN)
    assert folder.unfinished(SUBJECT) == RUN
    for changed in ("model", "cases", "manifest", "code"):
        assert folder.unfinished(replace(SUBJECT, **{changed: "other"})) is None
    folder.save(replace(RUN, finished_at=AT))
    assert folder.unfinished(SUBJECT) is None


def test_an_unknown_or_damaged_run_is_named(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    with pytest.raises(EvaluationRefused, match="No run is"):
        folder.load("2026")
    folder.save(RUN)
    (tmp_path / "evals" / "20260303-x.json").write_text("{", encoding="utf-8")
    with pytest.raises(EvaluationRefused, match="no stored run"):
        folder.load("20260303")
    with pytest.raises(EvaluationRefused, match="2 runs"):
        folder.load("202603")
    assert folder.unfinished(SUBJECT) == RUN


def test_two_runs_are_compared_over_what_both_have() -> None:
    expect = {"company": "Alder"}
    right = read(expect, {"company": "Alder"}, company=GROUNDED)
    wrong = read(expect, {"company": "Birch"}, company=GROUNDED)
    silent = read(expect, {})
    before = [
        result("a", fields=wrong),
        result("b", fields=right),
        result("c", fields=wrong),
        result("only before", fields=wrong),
    ]
    after = [result("a", fields=right), result("b", fields=silent), result("c", fields=silent)]
    found = compare(before, after)
    assert (found.shared, found.only_before, found.only_after) == (3, 1, 0)
    assert [(change.case, change.kind) for change in found.changes] == [
        ("a", "mended"),
        ("b", "broken"),
        ("c", "still wrong"),
    ]
    (field,) = found.fields
    assert (field.before.right, field.after.right) == (1, 1)
    assert (field.before.wrong_grounded, field.after.wrong_grounded) == (2, 0)
    lines = list(difference_lines(RUN, RUN, found))
    assert "mended: a company: 'Birch' → 'Alder', expected 'Alder'" in lines


def test_a_report_lists_each_miss_with_what_was_expected_and_came() -> None:
    fields = read({"company": "Alder"}, {"company": "Birch"}, company=GROUNDED)
    run = with_result(RUN, result("a", fields=fields))
    document = run_document(run)
    (miss,) = document["misses"]
    assert (miss["case"], miss["expected"], miss["got"], miss["support"]) == (
        "a",
        "Alder",
        "Birch",
        "grounded",
    )
    assert (document["measured"], document["planned"], document["wrong_grounded"]) == (1, 2, 1)
    text = "\n".join(report_lines(run))
    assert "100.0 %" in text
    assert "(interrupted)" in text
