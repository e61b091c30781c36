"""Scenarios in the format of OpenSRE become cases; all of them are made up here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alfred.errors import EvaluationRefused
from alfred.evaluation.diagnosis_case import Cases, DiagnosisCase
from alfred.evaluation.diagnosis_opensre import read_scenarios

ALERT: dict[str, Any] = {
    "title": "[made-up] Kettle hot",
    "state": "alerting",
    "alert_source": "thermometer",
    "commonLabels": {"alertname": "KettleHot", "severity": "critical", "namespace": "kitchen"},
    "commonAnnotations": {
        "summary": "kettle-1 is above 90 degrees.",
        "kube_deployment": "kettle",
        "kube_pod": "kettle-1",
        "k8s_failure_mode": "boiled_over",
    },
}
PODS = {
    "pods": [
        {
            "name": "kettle-1",
            "phase": "Running",
            "node_name": "stove-a",
            "containers": [
                {
                    "name": "water",
                    "ready": False,
                    "restart_count": 3,
                    "state": {"waiting": True, "reason": "CrashLoopBackOff"},
                    "last_state": {"terminated": {"exit_code": 137}},
                }
            ],
            "conditions": [
                {"type": "Ready", "status": "False", "reason": "NotReady", "message": "no water"},
                {"type": "PodScheduled", "status": "True"},
            ],
        }
    ]
}
SERIES = {
    "metric_name": "Heat",
    "dimensions": [{"Name": "Kettle", "Value": "kettle-1"}],
    "stat": "Maximum",
    "unit": "Degrees",
    "timestamps": ["2026-05-04T09:00:00Z", "2026-05-04T09:01:00Z", "2026-05-04T09:02:00Z"],
    "values": [80.5, 99.2, 91.0],
}


def write(folder: Path, **files: Any) -> Path:
    """Write a scenario; `files` are documents by name, beside an alert and an answer."""
    folder.mkdir(parents=True)
    whole = {
        "alert": ALERT,
        "answer": {"root_cause_category": "resource", "required_keywords": ["137", "water"]},
        **files,
    }
    for name, document in whole.items():
        # JSON is YAML too.
        ending = "yml" if name in ("answer", "scenario") else "json"
        (folder / f"{name}.{ending}").write_text(json.dumps(document), encoding="utf-8")
    return folder


def listed(*kinds: str, **fields: Any) -> dict[str, Any]:
    return {"available_evidence": list(kinds), **fields}


EVENT = {
    "involved_object": "Pod/kettle-1",
    "message": "no water",
    "last_time": "2026-05-04T09:30:00Z",
}
EVENTS = {"warning_events": [{**EVENT, "reason": "Dry", "count": 4}]}


@pytest.fixture
def read(tmp_path: Path) -> Cases:
    base = listed("eks_pods", "eks_events")
    write(tmp_path / "000-healthy", scenario=base, eks_pods=PODS, eks_events={"warning_events": []})
    write(tmp_path / "001-dry", scenario={"base": "000-healthy"}, eks_events=EVENTS)
    return read_scenarios(tmp_path)


def dry(read: Cases) -> DiagnosisCase:
    return next(case for case in read.cases if case.id == "001-dry")


def lines(case: DiagnosisCase, tool: str) -> list[str]:
    return [line for call in case.recording.calls if call.tool == tool for line in call.lines]


def test_the_question_and_the_truth_come_from_alert_and_answer(read: Cases) -> None:
    case = dry(read)
    assert case.question.startswith("Kettle hot. kettle-1 is above 90 degrees.")
    assert "boiled_over" not in case.question
    assert (case.condition, case.language) == ("faulty", "en")
    assert case.truth.object == (("kettle-1", "kettle"),)
    assert case.truth.cause == (("137",), ("water",))
    assert case.window.end.isoformat() == "2026-05-04T09:30:00+00:00"


def test_what_the_tools_say_holds_nothing_of_the_answer(read: Cases) -> None:
    told = json.dumps([call.model_dump() for call in dry(read).recording.calls])
    assert "boiled_over" not in told
    assert "root_cause" not in told


def test_evidence_becomes_lines(read: Cases) -> None:
    case = dry(read)
    assert lines(case, "warnings") == ["2026-05-04T09:30:00Z Dry Pod/kettle-1 4x: no water"]
    (pod,) = lines(case, "pods")
    assert pod == (
        "kettle-1; Running; node stove-a; container water ready False restarts 3"
        " state waiting True, reason CrashLoopBackOff; last state terminated exit_code 137;"
        " not Ready: NotReady no water"
    )
    (alert,) = lines(case, "alerts")
    assert alert == "KettleHot firing: severity critical; kettle-1 is above 90 degrees."


async def test_the_first_look_asks_alerts_and_events(read: Cases) -> None:
    case = dry(read)
    first = await case.recording.toolbox().first_look(case.window, case.scope)
    assert [call["tool"] for call in first] == ["alerts", "warnings"]
    assert all(call["outcome"] == "ok" for call in first)


def test_an_alert_that_does_not_fire_is_told_as_none(tmp_path: Path) -> None:
    calm = {**ALERT, "state": "normal"}
    answer = {"root_cause_category": "healthy", "required_keywords": ["normal"]}
    write(
        tmp_path / "calm",
        alert=calm,
        answer=answer,
        scenario=listed("eks_pods"),
        eks_pods=PODS,
        eks_events=EVENTS,
    )
    (case,) = read_scenarios(tmp_path).cases
    assert case.condition == "healthy"
    assert lines(case, "alerts") == []
    assert case.recording.calls[0].outcome == "empty"


@pytest.mark.parametrize("is_divided", [True, False])
def test_metrics_are_summarised_whole_or_divided_into_files(
    tmp_path: Path, is_divided: bool
) -> None:
    envelope = {"start_time": "2026-05-04T09:00:00Z", "end_time": "2026-05-04T09:03:00Z"}
    name = "aws_cloudwatch_metrics"
    whole = {name: {**envelope, "metric_data_results": [SERIES]}}
    divided = {f"{name}_envelope": envelope, f"{name}_Heat": SERIES}
    write(tmp_path / "hot", scenario=listed(name), **(divided if is_divided else whole))
    (case,) = read_scenarios(tmp_path).cases
    assert lines(case, "metric") == [
        'Heat{Kettle="kettle-1"} Maximum first 80.5, min 80.5 at 2026-05-04T09:00:00Z,'
        " max 99.2 at 2026-05-04T09:01:00Z, last 91.0, 3 samples, Degrees"
    ]
    call = next(call for call in case.recording.calls if call.tool == "metric")
    assert (call.arguments, call.start) == ({"name": "Heat"}, "2026-05-04T09:00:00Z")


def test_evidence_of_the_base_has_no_times_of_its_own(tmp_path: Path) -> None:
    envelope = {"start_time": "2026-01-01T09:00:00Z", "end_time": "2026-01-01T09:03:00Z"}
    metrics = {**envelope, "metric_data_results": [SERIES]}
    kinds = listed("aws_cloudwatch_metrics")
    write(tmp_path / "base", scenario=kinds, aws_cloudwatch_metrics=metrics)
    write(tmp_path / "own", scenario={"base": "base"}, eks_events=EVENTS)
    base, own = (
        next(call for call in case.recording.calls if call.tool == "metric")
        for case in read_scenarios(tmp_path).cases
    )
    assert (base.start, own.start) == ("2026-01-01T09:00:00Z", None)
    assert base.lines == own.lines


def test_sources_that_an_answer_needs_are_decisive(tmp_path: Path) -> None:
    answer = {"root_cause_category": "x", "required_evidence_sources": ["eks_pods", "tea"]}
    answer = {**answer, "required_keywords": ["a"], "forbidden_keywords": ["steam"]}
    write(
        tmp_path / "hot",
        scenario=listed("eks_pods"),
        answer=answer,
        eks_pods=PODS,
        eks_events=EVENTS,
    )
    (case,) = read_scenarios(tmp_path).cases
    assert [source.tool for source in case.decisive] == ["pods"]
    assert case.truth.forbidden == ("steam",)


def test_what_cannot_be_read_is_told_and_the_rest_is_kept(tmp_path: Path) -> None:
    kinds = listed("eks_pods", "eks_deployments", "tea_leaves")
    write(tmp_path / "a", scenario=kinds, eks_pods=PODS, eks_events=EVENTS)
    write(tmp_path / "b", scenario=listed("eks_pods"), eks_pods={"pods": 3}, eks_events=EVENTS)
    write(tmp_path / "c", scenario={"base": "gone"})
    write(tmp_path / "d", scenario=listed("eks_pods"), eks_pods=PODS)
    write(tmp_path / "e", scenario=listed("eks_pods"), eks_pods=PODS, eks_events=EVENTS)
    (tmp_path / "e" / "answer.yml").unlink()
    read = read_scenarios(tmp_path)
    assert [case.id for case in read.cases] == ["a"]
    told = "\n".join(read.left_out)
    for sentence in (
        "a: eks_deployments.json is missing, also in its base.",
        "a: evidence of the kind tea_leaves is not understood.",
        "b: eks_pods.json is not as expected",
        "b: none of its evidence can be read.",
        "c: its base gone is not there.",
        "d: its files hold no time.",
        "e: answer.yml cannot be read",
    ):
        assert sentence in told


def test_categories_are_told_as_not_scored(tmp_path: Path) -> None:
    answer = {"root_cause_category": "x", "forbidden_categories": ["y"], "required_keywords": ["a"]}
    write(
        tmp_path / "a", scenario=listed("eks_pods"), answer=answer, eks_pods=PODS, eks_events=EVENTS
    )
    assert read_scenarios(tmp_path).left_out == [
        "forbidden_categories of 1 scenarios: not scored, since an answer names no category."
    ]


def test_a_folder_without_scenarios_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvaluationRefused, match="holds no scenario"):
        read_scenarios(tmp_path)
