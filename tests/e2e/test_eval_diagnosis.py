"""`alfred eval diagnosis` as people run it: recorded answers, a real HTTP model, bad input."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Answer, Asked, LocalServer, Reply
from tests.diagnosis_cases import write_case
from tests.shell import MODEL_FAILED, Shell, completion

CASES = Path(__file__).parents[2] / "evals" / "cases" / "diagnosis"
USAGE, REFUSED = 2, 1


@pytest.fixture
def shell(shell_with: Callable[..., Shell]) -> Shell:
    """A shell without a database: measuring a diagnosis needs none."""
    made = shell_with({})
    gone = "postgresql://nobody@127.0.0.1:1/none"
    return replace(made, environment={**made.environment, "ALFRED_DATABASE_URL": gone})


def test_recorded_answers_give_the_tables(shell: Shell, tmp_path: Path) -> None:
    for name in ("en-connection-pool", "en-quiet-morning"):
        shutil.copytree(CASES / name, tmp_path / name)
    given = ("eval", "diagnosis", "--cases", str(tmp_path), "--answers", "recorded")
    found = shell.json(*given, "--perturb", "none")
    assert found["model"] == "recorded answers"
    assert [(run["case"], run["finding"], run["is_right"]) for run in found["runs"]] == [
        ("en-connection-pool", "cause", True),
        ("en-quiet-morning", "no_fault", True),
    ]
    every = found["conditions"][-1]
    assert every["unsupported"]["part"] == 0
    assert every["unsupported"]["whole"] > 5
    shown = shell.run(*given, "--perturb", "none", "--markdown").stdout
    assert "| faulty | 1 | 100.0 % (1 of 1) | 100.0 % (1 of 1) |" in shown


def test_a_recording_that_no_longer_fits_ends_the_run_and_is_no_result(
    shell: Shell, tmp_path: Path
) -> None:
    copied = tmp_path / "en-quiet-morning"
    shutil.copytree(CASES / "en-quiet-morning", copied)
    lines = (copied / "recording.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (copied / "recording.jsonl").write_text("".join(lines[:3]), encoding="utf-8")
    asked = ("eval", "diagnosis", "--cases", str(tmp_path), "--answers", "recorded")
    assert "has no answer" in shell.run(*asked, code=MODEL_FAILED).stderr


def test_a_case_without_recorded_answers_ends_the_run_with_a_sentence(
    shell: Shell, tmp_path: Path
) -> None:
    write_case(tmp_path / "mill")
    asked = ("eval", "diagnosis", "--cases", str(tmp_path), "--answers", "recorded")
    assert "mill has no recording.jsonl" in shell.run(*asked, code=REFUSED).stderr


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ((), USAGE, "either --cases DIR or --opensre DIR"),
        (("--cases", "a", "--opensre", "b"), USAGE, "either --cases DIR or --opensre DIR"),
        (("--cases", "a", "--answers", "recorded", "--fresh"), USAGE, "asks no model"),
        (("--cases", "no/where"), REFUSED, "no/where is no folder"),
        (("--opensre", "no/where"), REFUSED, "holds no scenario"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(
    shell: Shell, arguments: tuple[str, ...], code: int, told: str
) -> None:
    assert told in shell.run("eval", "diagnosis", *arguments, code=code).stderr


def test_an_unknown_perturbation_is_refused_with_the_known_ones(shell: Shell) -> None:
    asked = ("eval", "diagnosis", "--cases", str(CASES), "--perturb", "swaped")
    assert "swapped, deleted, failing, edited" in shell.run(*asked, code=REFUSED).stderr


ANSWERS: dict[str, dict[str, Any]] = {
    "planner": {"steps": [{"tool": "metric", "arguments": {"name": "pool"}, "expects": "limit"}]},
    "executor": {
        "claims": [
            {"fact": "pool_limit of mill is 4.", "role": "cause", "evidence": ["E2"]},
        ]
    },
    "verifier": {
        "facts": {"F1": {"verification": "direct_support", "evidence": ["E2"]}},
        "verdict": "PASS",
    },
    "composer": {"sentences": [{"text": "The pool_limit of mill is 4.", "facts": ["F1"]}]},
}


def answer_by_node(asked: Asked) -> Reply:
    """Answer as the node expects that the request's first line names."""
    named = asked.json()["messages"][0]["content"].split("\n", 1)[0]
    answer = ANSWERS[named.removeprefix("Alfred · ").strip()]
    return Reply(kind="text/event-stream", body=completion(answer))


def test_answers_of_a_model_are_paid_once_and_an_interrupted_run_goes_on(
    shell: Shell, serve: Callable[[Answer], LocalServer], tmp_path: Path
) -> None:
    def fail_at_first(asked: Asked) -> Reply:
        if "Alfred · verifier" in asked.body.decode() and not healed:
            return Reply(status=401, body=b"{}")
        return answer_by_node(asked)

    healed: list[bool] = []
    server = serve(fail_at_first)
    with_model = replace(
        shell, environment={**shell.environment, "ALFRED_MODEL": f"{server.url}/v1#scripted"}
    )
    write_case(tmp_path / "mill")
    asked = ("eval", "diagnosis", "--cases", str(tmp_path), "--perturb", "none")
    with_model.run(*asked, code=MODEL_FAILED)
    healed.append(True)
    server.asked.clear()
    (run,) = with_model.json(*asked)["runs"]
    assert (run["finding"], run["is_right"], run["cost"]["model_calls"]) == ("cause", True, 4)
    named = [each.json()["messages"][0]["content"].split("\n")[0] for each in server.asked]
    assert named == ["Alfred · verifier", "Alfred · composer"]
    server.asked.clear()
    assert with_model.json(*asked)["runs"][0]["finding"] == "cause"
    assert server.asked == []


def write_scenario(folder: Path, **answer: Any) -> None:
    """Write a tiny scenario in the format of OpenSRE, of a kettle that boils over."""
    folder.mkdir(parents=True)
    alert = {
        "title": "[made-up] Kettle hot",
        "state": "alerting",
        "commonLabels": {"alertname": "KettleHot", "severity": "critical"},
        "commonAnnotations": {"summary": "kettle-1 is hot.", "db_instance_identifier": "kettle-1"},
    }
    event = {"date": "2026-05-04T09:50:00Z", "message": "kettle-1: limit changed from 90 to 120"}
    (folder / "alert.json").write_text(json.dumps(alert), encoding="utf-8")
    (folder / "aws_rds_events.json").write_text(json.dumps({"events": [event]}), encoding="utf-8")
    scenario = "available_evidence:\n  - aws_rds_events\n  - tea_leaves\n"
    (folder / "scenario.yml").write_text(scenario, encoding="utf-8")
    words = {"root_cause_category": "change", "required_keywords": ["limit", "120"], **answer}
    (folder / "answer.yml").write_text(json.dumps(words), encoding="utf-8")


def test_scenarios_are_read_and_what_cannot_be_is_told(
    shell: Shell, serve: Callable[[Answer], LocalServer], tmp_path: Path
) -> None:
    write_scenario(tmp_path / "kettle")
    write_scenario(tmp_path / "broken")
    (tmp_path / "broken" / "alert.json").write_text("{", encoding="utf-8")
    server = serve(lambda _: Reply(kind="text/event-stream", body=completion({"steps": []})))
    with_model = replace(
        shell, environment={**shell.environment, "ALFRED_MODEL": f"{server.url}/v1#scripted"}
    )
    asked = ("eval", "diagnosis", "--opensre", str(tmp_path), "--perturb", "none")
    found = with_model.json(*asked)
    assert found["cases"] == 1
    assert [run["condition"] for run in found["runs"]] == ["faulty"]
    told = "\n".join(found["left_out"])
    assert "broken: alert.json is no JSON" in told
    assert "kettle: evidence of the kind tea_leaves is not understood" in told
    prompts = "\n".join(message["content"] for message in server.asked[0].json()["messages"])
    assert "kettle-1 is hot" in prompts
    assert "limit changed from 90 to 120" in prompts
    assert "root_cause_category" not in prompts
