"""Cases, perturbations and scores of a diagnosis, without any run of the machine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from alfred.engine.language_model import Message, ModelRequest
from alfred.errors import EvaluationRefused
from alfred.evaluation.diagnosis_answers import recorded_of, remembered_path, remembering
from alfred.evaluation.diagnosis_case import DiagnosisCase, read_diagnosis_cases
from alfred.evaluation.diagnosis_citation import checkables, unsupported
from alfred.evaluation.diagnosis_edited_model import EditedModel, edit_number
from alfred.evaluation.diagnosis_figures import check_figures, condition_figures, confusion
from alfred.evaluation.diagnosis_outcome import Cost, DiagnosisOutcome, PathStep
from alfred.evaluation.diagnosis_perturbation import (
    PlannedRun,
    choose_diagnosis_cases,
    plan_runs,
)
from alfred.evaluation.diagnosis_report import DiagnosisReport, markdown_lines
from alfred.evaluation.diagnosis_score import RunScore, score_run
from alfred.graphs.diagnosis.answer import Answer
from alfred.models.scripted import ScriptedModel
from alfred.probes.tool_call import seal
from tests.diagnosis_cases import CALLS, FIELDS, metric_call, write_case


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_case(tmp_path / "mill-slow")
    write_case(tmp_path / "quiet", healthy=True, decisive=[])
    write_case(tmp_path / "weir-full", question="Why is the weir full?")
    return tmp_path


def by_id(folder: Path) -> dict[str, DiagnosisCase]:
    return {case.id: case for case in read_diagnosis_cases(folder)}


def test_a_case_is_read_with_its_window_and_its_truth(folder: Path) -> None:
    case = by_id(folder)["mill-slow"]
    assert (case.condition, case.language, case.scope) == ("faulty", "en", {"service": "mill"})
    assert (case.window.end - case.window.start).total_seconds() == 3600
    assert [source.tool for source in case.decisive] == ["metric"]
    assert case.truth.cause == (("pool",), ("4", "four"))
    assert case.answers is None


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"asked_at": "yesterday"}, "no time with a zone"),
        ({"since": "soon"}, "no time to look back to"),
        ({"helthy": True}, "Did you mean 'healthy'"),
        ({"healthy": True, "failing_tools": True}, "can't be both"),
        ({"truth": {"object": [["mill"]]}}, "truth needs object and cause"),
        ({"decisive": [{"tool": "metrik"}]}, "none of its recorded calls"),
        ({"language": "fr"}, "language"),
    ],
)
def test_a_mistake_in_a_case_is_told_and_nothing_is_read(
    tmp_path: Path, fields: dict[str, Any], told: str
) -> None:
    write_case(tmp_path / "good")
    write_case(tmp_path / "wrong", **fields)
    with pytest.raises(EvaluationRefused, match="wrong") as caught:
        read_diagnosis_cases(tmp_path)
    assert caught.value.code == "eval.cases"
    assert told in str(caught.value)


def test_a_folder_without_cases_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvaluationRefused, match="has no case"):
        read_diagnosis_cases(tmp_path)
    with pytest.raises(EvaluationRefused, match="is no folder"):
        read_diagnosis_cases(tmp_path / "missing")


def test_one_case_can_be_named_by_its_own_folder(folder: Path) -> None:
    assert [case.id for case in read_diagnosis_cases(folder / "quiet")] == ["quiet"]


def test_a_case_without_recorded_answers_says_how_to_get_them(folder: Path) -> None:
    with pytest.raises(EvaluationRefused, match=r"has no recording\.jsonl"):
        recorded_of(by_id(folder)["quiet"])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("412 requests failed [E3].", ["412"]),
        ("F1 says that basket-api is slow (E2)", ["basket-api"]),
        ('The pool "orders" is full', ["orders"]),
        ("从14:02:00Z起有871次报价失败", ["14:02:00Z", "871"]),
        ("TariffTable.java:88 is read-only and/or slow", ["TariffTable.java:88"]),
        ("/var/log is full, 1,200 MB", ["/var/log", "1200"]),
        ("Everything is fine.", []),
        ("A write-heavy, out-of-memory, long-running scale-u of till-gateway", ["till-gateway"]),
        ("４１２ requests", ["412"]),
    ],
)
def test_numbers_identifiers_and_quotes_can_be_looked_up(text: str, found: list[str]) -> None:
    assert checkables(text) == found


@pytest.mark.parametrize(
    ("text", "evidence", "lacking"),
    [
        ("412 requests failed", "412x ERROR timed out", []),
        ("12 requests failed", "412x ERROR timed out", ["12"]),
        ("the pool is 4", "limit 40", ["4"]),
        ("the pool is 4", "limit 4.5", ["4"]),
        ("memory is 512", "memory limit 512Mi", []),
        ("it takes 250 ms", "took 250ms", []),
        ("35 % of users are affected", "0.35 of the requests", ["35"]),
        ("35% of users", "ratio 35", ["35%"]),
        ("since 14:02", "14:02:11Z", []),
        ("2 restarts", "at 14:02:11Z on node-2", ["2"]),
        ("commit c81f0aa", "C81F0AA tidy", []),
        ("basket-api fails", "basket-api-2 fails", []),
        ("basket-api fails", "the basket fails", ["basket-api"]),
        ("1,200 rows", "1200 rows", []),
        ("1.0 s", "1 s", []),
    ],
)
def test_what_stands_in_the_evidence_is_decided_by_value_and_by_whole_words(
    text: str, evidence: str, lacking: list[str]
) -> None:
    assert unsupported(text, [evidence]) == lacking


def test_perturbations_are_planned_where_they_mean_something(folder: Path) -> None:
    write_case(folder / "blind", failing_tools=True, decisive=[])
    cases = read_diagnosis_cases(folder)
    keys = [run.key for run in plan_runs(cases, cases, "all")]
    assert keys[:4] == ["blind/none", "mill-slow/none", "quiet/none", "weir-full/none"]
    assert [key for key in keys if key.endswith("/deleted")] == [
        "mill-slow/deleted",
        "weir-full/deleted",
    ]
    assert "blind/swapped" not in keys
    assert "blind/failing" not in keys
    assert "blind/edited" in keys
    assert len(plan_runs(cases, cases, "none")) == 4
    with pytest.raises(EvaluationRefused, match="no perturbation 'swaped'"):
        plan_runs(cases, cases, "swaped")


def test_swapped_evidence_is_anothers_at_the_cases_own_times(tmp_path: Path) -> None:
    write_case(tmp_path / "mill")
    other = metric_call(lines=["weir_level last 97"], start="2026-05-05T01:00:00Z")
    write_case(tmp_path / "weir", calls=[CALLS[0], other])
    cases = read_diagnosis_cases(tmp_path)
    swapped = plan_runs(cases[:1], cases, "swapped")[1].case
    call = next(call for call in swapped.recording.calls if call.tool == "metric")
    assert call.lines == ("weir_level last 97",)
    assert call.start == CALLS[1]["start"]
    assert swapped.truth == cases[0].truth


def test_deleting_takes_away_the_decisive_source_alone(folder: Path) -> None:
    case = by_id(folder)["mill-slow"]
    deleted = plan_runs([case], [case], "deleted")[1].case
    assert [call.tool for call in deleted.recording.calls] == ["alerts"]
    assert deleted.recording.specs == case.recording.specs


def test_a_limit_takes_the_same_cases_each_time(folder: Path) -> None:
    cases = read_diagnosis_cases(folder)
    assert choose_diagnosis_cases(cases, limit=None) == cases
    chosen = choose_diagnosis_cases(cases, limit=2)
    assert chosen == choose_diagnosis_cases(cases[::-1], limit=2)[::-1]
    assert len(chosen) == 2


ANSWERED = json.dumps({"sentences": [{"text": "pool-4 holds 31 of 40", "facts": ["F1"]}]})


def composer_request(user: str) -> ModelRequest:
    system = Message(role="system", content="Alfred · composer\nWrite.")
    return ModelRequest(messages=(system, Message(role="user", content=user)))


async def test_the_first_answer_of_the_composer_gets_one_number_wrong() -> None:
    model = EditedModel(ScriptedModel([ANSWERED, ANSWERED, ANSWERED]))
    planner = replace(composer_request("x"), messages=(Message(role="system", content="Alfred"),))
    assert (await model.complete(planner)).text == ANSWERED
    assert model.wrong == ""
    first = json.loads((await model.complete(composer_request("31 of 40, not 731"))).text)
    assert first["sentences"][0]["text"] == "pool-4 holds 7731 of 40"
    assert first["sentences"][0]["facts"] == ["F1"]
    assert model.wrong == "7731"
    assert (await model.complete(composer_request("again"))).text == ANSWERED


@pytest.mark.parametrize("answer", ["no json", "[]", '{"sentences": [{"text": "all well"}]}'])
def test_an_answer_without_a_number_is_left_as_it_is(answer: str) -> None:
    assert edit_number(answer, "") is None


async def test_what_a_model_answered_is_asked_once(tmp_path: Path) -> None:
    model = ScriptedModel(["{}"])
    for _ in range(2):
        kept = remembering(tmp_path, model)
        assert (await kept.complete(composer_request("the same"))).text == "{}"
    assert model.calls == 1
    with remembered_path(tmp_path, model.name).open("a", encoding="utf-8") as file:
        file.write('{"request": "half a li')
    kept = remembering(tmp_path, model)
    assert (await kept.complete(composer_request("the same"))).text == "{}"
    forgotten = remembering(tmp_path, ScriptedModel(["[]"]), fresh=True)
    assert (await forgotten.complete(composer_request("the same"))).text == "[]"


def outcome(answer: Answer, *nodes: str, **changed: Any) -> DiagnosisOutcome:
    path = tuple(PathStep(node=node, outcome="COMPLETED", reason="X") for node in nodes)
    return DiagnosisOutcome(answer=answer, path=path, cost=Cost(model_calls=3), **changed)


def sealed(fields: dict[str, Any]) -> dict[str, Any]:
    call = {"error": "", "truncated": False, "round": 1, "milliseconds": 3, **fields}
    return {**call, "digest": seal(call)}


def answer(**changed: Any) -> Answer:
    """Make an answer that is right for the case `mill-slow`."""
    call = sealed(
        {
            "id": "E2",
            "tool": "metric",
            "kind": "metrics",
            "arguments": {"name": "pool"},
            "asked": "pool_limit",
            "where": "prometheus",
            "start": None,
            "end": None,
            "outcome": "ok",
            "lines": ["pool_limit of mill last 4"],
        }
    )
    fact = {
        "id": "F1",
        "fact": "pool_limit of mill is 4",
        "role": "cause",
        "by": "model",
        "verification": "direct_support",
        "evidence": ["E2"],
        "reason": "SUPPORTED",
        "unsupported": [],
    }
    whole: dict[str, Any] = {
        "language": "en",
        "finding": "cause",
        "verdict": "PASS",
        "headline": "Cause found",
        "sentences": [
            {"text": "pool_limit of mill is 4", "facts": ["F1"], "evidence": ["E2"], "by": "model"}
        ],
        "cause": {"fact": "F1", "text": "pool_limit of mill is 4"},
        "hypotheses": [],
        "coincidences": [],
        "missing": [],
        "next_checks": [],
        "facts": [fact],
        "evidence": [{"id": "E2"}],
        "calls": [call],
        "tried": [],
        "failed": [],
        "next_steps": [],
        "reason": "ANSWER_COMPOSED",
        **changed,
    }
    return Answer(**whole)


def score(case: DiagnosisCase, given: Answer, perturbation: str = "none", *nodes: str) -> RunScore:
    planned = PlannedRun(case=case, perturbation=perturbation)
    return score_run(planned, outcome(given, *(nodes or ("composer",))))


def test_a_right_answer_is_right_and_wholly_supported(folder: Path) -> None:
    found = score(by_id(folder)["mill-slow"], answer())
    assert (found.is_right, found.has_object, found.has_cause) == (True, True, True)
    assert (found.said, found.unsupported) == (3, ())
    assert (found.citations, found.valid_citations) == (2, 2)


def test_a_figure_in_no_cited_call_is_unsupported(folder: Path) -> None:
    said = {"text": "35 % of users are affected", "facts": ["F1"], "evidence": ["E2"]}
    found = score(by_id(folder)["mill-slow"], answer(sentences=[{**said, "by": "model"}]))
    assert found.unsupported == ("35 % of users are affected [35]",)


def test_words_without_anything_to_check_are_unsupported_unless_code_wrote_them(
    folder: Path,
) -> None:
    said = {"text": "The service is degraded.", "facts": ["F1"], "evidence": ["E2"]}
    case = by_id(folder)["mill-slow"]
    assert score(case, answer(sentences=[{**said, "by": "model"}])).unsupported
    assert not score(case, answer(sentences=[{**said, "by": "code"}])).unsupported


def test_a_call_that_was_changed_after_it_was_made_carries_nothing(folder: Path) -> None:
    good = answer()
    forged = {**good["calls"][0], "lines": ["pool_limit of mill last 5", "4"]}
    found = score(by_id(folder)["mill-slow"], answer(calls=[forged]))
    assert len(found.unsupported) == found.said == 3
    assert (found.citations, found.valid_citations) == (2, 0)


def test_a_citation_of_a_call_that_was_not_admitted_is_not_valid(folder: Path) -> None:
    found = score(by_id(folder)["mill-slow"], answer(evidence=[]))
    assert (found.citations, found.valid_citations) == (2, 0)


def test_an_answer_about_a_healthy_system_is_right_while_it_states_no_cause(folder: Path) -> None:
    case = by_id(folder)["quiet"]
    assert score(case, answer(finding="no_fault", cause=None)).is_right
    assert not score(case, answer()).is_right
    hypothesis = {"fact": "F1", "text": "pool_limit of mill is 4", "missing": ""}
    assert not score(
        case, answer(finding="hypotheses", cause=None, hypotheses=[hypothesis])
    ).is_right


def test_only_the_first_hypothesis_counts(folder: Path) -> None:
    case = by_id(folder)["mill-slow"]
    good = {"fact": "F1", "text": "the pool of mill is 4", "missing": ""}
    bad = {"fact": "F2", "text": "the disk of mill is full", "missing": ""}
    ranked = answer(finding="hypotheses", verdict="LOW_CONFID", cause=None, hypotheses=[good, bad])
    assert score(case, ranked).is_right
    found = score(case, answer(finding="hypotheses", cause=None, hypotheses=[bad, good]))
    assert not found.is_right
    assert (found.open_claims, found.open_unproved) == (2, 0)


def test_a_forbidden_word_makes_an_answer_wrong(folder: Path) -> None:
    case = by_id(folder)["mill-slow"]
    assert not score(case, answer(headline="Cause found: The FLOOD did it")).is_right


def test_where_tools_fail_every_failure_must_be_told(tmp_path: Path) -> None:
    write_case(tmp_path / "blind", failing_tools=True, decisive=[])
    case = by_id(tmp_path)["blind"]
    failed = sealed({**answer()["calls"][0], "id": "E3", "outcome": "failed", "lines": []})
    silent = answer(finding="not_established", cause=None, calls=[failed])
    assert not score(case, silent).is_right
    silent["missing"] = ["metric gave no answer: connection refused"]
    assert score(case, silent).is_right


def test_perturbations_have_expectations_of_their_own(folder: Path) -> None:
    case = by_id(folder)["mill-slow"]

    def checks(given: Answer, perturbation: str, *nodes: str) -> dict[str, bool]:
        return {c.name: c.passed for c in score(case, given, perturbation, *nodes).checks}

    assert checks(answer(), "swapped") == {"no cause is stated": False}
    again = {**answer()["calls"][0], "arguments": {"name": "load"}, "round": 2}
    open_ = answer(finding="not_established", cause=None, calls=[*answer()["calls"], again])
    assert checks(open_, "deleted", "evidence_retry", "composer") == {
        "no cause is stated": True,
        "another source is asked": True,
    }
    assert not checks(open_, "deleted", "composer")["another source is asked"]
    fallen = answer(finding=None, verdict=None, cause=None, reason="EXECUTOR_FAILED")
    assert checks(fallen, "failing", "executor", "fallback")["falls back with a reason"]
    assert not checks(answer(), "failing", "composer")["falls back with a reason"]
    assert score(case, answer(), "swapped").is_right is None


@pytest.mark.parametrize(
    ("first", "dropped", "said", "met"),
    [
        ("INVALID_OUTPUT", (), "pool_limit of mill is 4", [True, True]),
        ("COMPLETED", ("pool_limit is 74",), "pool_limit of mill is 4", [True, True]),
        ("COMPLETED", (), "pool_limit of mill is 74", [False, False]),
        ("INVALID_OUTPUT", (), "pool_limit of mill is 74", [True, False]),
    ],
)
def test_a_wrong_number_must_be_refused_and_must_not_come_out(
    folder: Path, first: str, dropped: tuple[str, ...], said: str, met: list[bool]
) -> None:
    given = answer(sentences=[{**answer()["sentences"][0], "text": said}])
    step = PathStep(node="composer", outcome=first, reason="X")
    edited = replace(outcome(given), path=(step,), dropped=dropped, wrong_number="74")
    planned = PlannedRun(case=by_id(folder)["mill-slow"], perturbation="edited")
    assert [check.passed for check in score_run(planned, edited).checks] == met
    assert not score_run(planned, replace(edited, wrong_number="")).checks


def test_figures_name_what_they_are_a_share_of(folder: Path) -> None:
    cases = by_id(folder)
    fallen = answer(finding=None, verdict=None, cause=None, sentences=[], facts=[])
    scores = [
        score(cases["mill-slow"], answer()),
        score(cases["weir-full"], fallen),
        score(cases["quiet"], answer(finding="no_fault", cause=None)),
        score(cases["mill-slow"], answer(), "swapped"),
    ]
    faulty, healthy, every = condition_figures(scores)
    assert (faulty.name, str(faulty.right)) == ("faulty", "50.0 % (1 of 2)")
    assert (str(faulty.composed), str(faulty.has_cause)) == ("50.0 % (1 of 2)", "50.0 % (1 of 2)")
    assert (healthy.runs, str(healthy.has_object)) == (1, "–")
    assert (every.runs, str(every.unsupported)) == (3, "0.0 % (0 of 5)")
    assert confusion(scores)["faulty"] == {"right cause": 1, "fallback": 1}
    (check,) = check_figures(scores)
    assert (check.passed.part, check.passed.whole, check.not_met) == (0, 1, ("mill-slow",))
    report = DiagnosisReport(model="m", source="s", cases=3, scores=scores)
    lines = list(markdown_lines(report))
    assert "| swapped | no cause is stated | 0.0 % (0 of 1) | mill-slow |" in lines
    assert any(line.startswith("| faulty | 2 | 50.0 % (1 of 2) |") for line in lines)


def test_the_truth_of_a_case_is_in_no_field_but_its_own(folder: Path) -> None:
    case = by_id(folder)["mill-slow"]
    shown = json.dumps(
        [FIELDS["question"], dict(case.scope), *(c.model_dump() for c in case.recording.calls)]
    )
    assert case.id not in shown
    assert "FLOOD" not in shown.upper()
