"""The project's own cases of a diagnosis, and the machine over their recorded answers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from alfred.engine.yaml_text import read_yaml
from alfred.errors import ModelFailed
from alfred.evaluation.diagnosis_answers import recorded_of
from alfred.evaluation.diagnosis_case import DiagnosisCase, read_diagnosis_cases
from alfred.evaluation.diagnosis_evaluate import evaluate_diagnosis, make_diagnosis_bench
from alfred.evaluation.diagnosis_figures import check_figures
from alfred.evaluation.diagnosis_measurement import initial_state
from alfred.evaluation.diagnosis_perturbation import PERTURBATIONS, plan_runs
from alfred.evaluation.diagnosis_score import CAUSE, FELL_BACK, RunScore
from alfred.installed import load_domains

REPOSITORY = Path(__file__).parents[2]
FOLDER = REPOSITORY / "evals" / "cases" / "diagnosis"
OUTDATED = (
    "The recorded answers no longer fit the prompts. If a prompt, a schema or a tool was changed on"
    " purpose, record them anew: make eval-recordings."
)
INVENTED = re.compile(r"https?://[\w.-]+?\.(?!example\b)[a-z]{2,}(?=[:/ ]|$)")


@cache
def cases() -> Sequence[DiagnosisCase]:
    return read_diagnosis_cases(FOLDER)


def conditions(language: str | None = None) -> list[str]:
    return [case.condition for case in cases() if language in (None, case.language)]


@pytest.fixture(scope="module")
async def scores() -> Sequence[RunScore]:
    """Replay every case under every perturbation; nothing but the recordings answers."""
    runs = plan_runs(cases(), cases(), "all")
    bench = make_diagnosis_bench(load_domains(), model_timeout_s=60.0)
    try:
        return await evaluate_diagnosis(runs, recorded_of, bench, lambda *_: None)
    except ModelFailed as failure:
        pytest.fail(f"{OUTDATED}\n{failure}")


def test_there_are_cases_of_every_condition_and_in_both_languages() -> None:
    assert conditions().count("faulty") >= 6
    assert conditions().count("healthy") >= 3
    assert conditions().count("failing tools") >= 3
    assert len(conditions("zh")) >= 5
    assert len(conditions("en")) >= 5


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_a_case_has_a_first_look_and_more_calls_of_life_size(case: DiagnosisCase) -> None:
    calls = case.recording.calls
    assert 4 <= len(calls) <= 8
    assert any(call.first_look for call in calls)
    assert all(len(call.lines) <= 12 for call in calls)
    shown = json.dumps([call.model_dump() for call in calls], ensure_ascii=False)
    assert not INVENTED.search(shown), "hosts of cases end in .example"


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
async def test_neither_the_name_nor_the_truth_of_a_case_is_in_what_the_machine_starts_from(
    case: DiagnosisCase,
) -> None:
    first = await case.recording.toolbox().first_look(case.window, case.scope)
    begun = json.dumps(initial_state(case, first), ensure_ascii=False)
    assert case.id not in begun
    assert not {"truth", "forbidden", "healthy", "decisive"} & set(re.findall(r'"(\w+)":', begun))


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_the_words_of_a_cause_stand_in_its_evidence(case: DiagnosisCase) -> None:
    said = "\n".join(line for call in case.recording.calls for line in call.lines).casefold()
    for group in (*case.truth.object, *case.truth.cause):
        assert any(word.casefold() in said for word in group), group
    if case.condition == "faulty":
        assert case.decisive


def test_one_case_holds_an_instruction_for_the_model() -> None:
    lines = [line for case in cases() for call in case.recording.calls for line in call.lines]
    assert any("ignore all previous instructions" in line for line in lines)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_written_answers_are_complete(case: DiagnosisCase) -> None:
    read = read_yaml((FOLDER / case.id / "answers.yaml").read_text(encoding="utf-8"))
    assert not read.mistakes
    assert {"plans", "claims", "sentences"} <= set(read.value)
    for sentence in read.value["sentences"]:
        assert all(1 <= number <= len(read.value["claims"]) for number in sentence["claims"])


async def test_nothing_unsupported_is_said_in_any_run(scores: Sequence[RunScore]) -> None:
    assert {f"{s.case}/{s.perturbation}": s.unsupported for s in scores if s.unsupported} == {}
    assert sum(score.said for score in scores) > 100
    assert all(score.valid_citations == score.citations for score in scores)


async def test_at_least_seven_of_the_nine_cases_with_tools_are_right(
    scores: Sequence[RunScore],
) -> None:
    judged = [s for s in scores if s.is_right is not None and s.condition != "failing tools"]
    wrong = [f"{s.case}: {s.finding}, {s.reason}, {s.headline}" for s in judged if not s.is_right]
    assert len(judged) == 9
    assert len(judged) - len(wrong) >= 7, wrong


async def test_no_cause_is_invented_where_nothing_is_wrong_or_nothing_can_be_seen(
    scores: Sequence[RunScore],
) -> None:
    plain = [s for s in scores if s.is_right is not None and s.condition != "faulty"]
    assert {s.case: s.finding for s in plain if not s.is_right} == {}
    assert all(s.finding != CAUSE for s in plain)


async def test_healthy_cases_are_answered_and_not_merely_given_up(
    scores: Sequence[RunScore],
) -> None:
    found = {
        s.case: s.finding for s in scores if s.is_right is not None and s.condition == "healthy"
    }
    assert set(found.values()) == {"no_fault"}, found


@pytest.mark.parametrize("perturbation", PERTURBATIONS)
async def test_every_perturbation_leads_to_what_it_must(
    scores: Sequence[RunScore], perturbation: str
) -> None:
    figures = [each for each in check_figures(scores) if each.perturbation == perturbation]
    assert figures
    assert all(each.passed.whole >= 6 for each in figures)
    assert {each.check: each.not_met for each in figures if each.not_met} == {}


async def test_a_swapped_case_is_never_answered_with_a_verdict_that_passes_a_cause(
    scores: Sequence[RunScore],
) -> None:
    swapped = [s for s in scores if s.perturbation == "swapped" and s.condition == "faulty"]
    assert len(swapped) >= 6
    assert all(s.verdict != "PASS" for s in swapped)
    assert not all(s.finding == FELL_BACK for s in swapped), "the guards behind the gatekeeper act"
