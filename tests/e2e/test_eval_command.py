"""`alfred eval` as people run it: a real HTTP model, interruptions, stored runs, own decisions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Answer, Asked, LocalServer, Reply
from tests.shell import MODEL_FAILED, PENDING, Shell, completion, posting

COMPANIES = ("Alder Labs", "Birch Data", "Cedar Systems")


def case_of(company: str, **expect: Any) -> dict[str, Any]:
    text, _ = posting(company)
    return {
        "id": company.split(maxsplit=1)[0].lower(),
        "lang": "en",
        "text": text,
        "expect": {"company": company, "title": "Data Engineer", "location": "Leeds", **expect},
    }


def write_cases(folder: Path, *cases: dict[str, Any]) -> str:
    path = folder / "cases.jsonl"
    path.write_text("".join(f"{json.dumps(case)}\n" for case in cases), encoding="utf-8")
    return str(path)


def alone(shell: Shell) -> Shell:
    """Take the database away: measuring a node needs none."""
    gone = "postgresql://nobody@127.0.0.1:1/none"
    return replace(shell, environment={**shell.environment, "ALFRED_DATABASE_URL": gone})


def answer_by_text(asked: Asked) -> Reply:
    """Read the company out of the question, as a model would."""
    words = asked.json()["messages"][-1]["content"]
    company = next(name for name in COMPANIES if name in words)
    return Reply(kind="text/event-stream", body=completion(posting(company)[1]))


def with_model(shell: Shell, server: LocalServer) -> Shell:
    model = f"{server.url}/v1#scripted"
    return alone(replace(shell, environment={**shell.environment, "ALFRED_MODEL": model}))


@pytest.fixture
def cases(tmp_path: Path) -> str:
    return write_cases(tmp_path, *map(case_of, COMPANIES))


def test_a_run_reports_scores_and_misses_and_is_stored(
    shell_with: Callable[..., Shell], tmp_path: Path
) -> None:
    shell = alone(shell_with({**posting("Alder Labs")[1], "location": "Leeds. You know SQL"}))
    wrong, right = case_of("Alder Labs"), {**case_of("Alder Labs"), "id": "second", "lang": "zh"}
    right["expect"] = {"company": "ALDER LABS"}
    found = shell.json("eval", "extract_job", "--cases", write_cases(tmp_path, wrong, right))
    assert [(f["language"], f["field"], f["exact"], f["right"]) for f in found["fields"]] == [
        ("en", "company", 1, 1),
        ("en", "title", 1, 1),
        ("en", "location", 0, 0),
        ("zh", "company", 0, 1),
    ]
    (miss,) = found["misses"]
    assert (miss["case"], miss["field"], miss["expected"], miss["got"], miss["support"]) == (
        "alder",
        "location",
        "Leeds",
        "Leeds. You know SQL",
        "grounded",
    )
    english, chinese = found["languages"]
    assert (english["calls"], english["valid"], chinese["cases"]) == (1, 1, 1)
    shown = shell.run("eval", "runs").stdout
    assert found["name"] in shown
    assert "wrong but grounded 25.0 %" in shown


def test_a_run_that_the_model_stopped_goes_on_with_what_is_left(
    shell_with: Callable[..., Shell], serve: Callable[[Answer], LocalServer], cases: str
) -> None:
    def refuse_the_second(asked: Asked) -> Reply:
        if COMPANIES[1] in asked.body.decode() and not healed:
            return Reply(status=503, body=b"{}")
        return answer_by_text(asked)

    healed: list[bool] = []
    server = serve(refuse_the_second)
    shell = with_model(shell_with({}), server)
    stopped = shell.run("eval", "extract_job", "--cases", cases, code=MODEL_FAILED)
    assert "model.overloaded" in stopped.stderr
    (summary,) = shell.json("eval", "runs")["runs"]
    assert (summary["measured"], summary["planned"], summary["finished_at"]) == (1, 3, None)
    healed.append(True)
    server.asked.clear()
    done = shell.run("eval", "extract_job", "--cases", cases)
    assert "1 of them measured before" in done.stderr
    assert len(server.asked) == 2
    (summary,) = shell.json("eval", "runs")["runs"]
    assert (summary["measured"], summary["right"], summary["scored"]) == (3, 9, 9)
    assert summary["finished_at"] is not None


def test_an_interrupted_run_keeps_its_finished_cases(
    shell_with: Callable[..., Shell], serve: Callable[[Answer], LocalServer], cases: str
) -> None:
    def hang_at_the_second(asked: Asked) -> Reply:
        if COMPANIES[1] in asked.body.decode():
            return Reply(kind="text/event-stream", pieces=iter(lambda: time.sleep(0.05) or b" ", 1))
        return answer_by_text(asked)

    server = serve(hang_at_the_second)
    shell = with_model(shell_with({}), server)
    process = subprocess.Popen(
        [sys.executable, "-m", "alfred", "eval", "extract_job", "--cases", cases],
        env=shell.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while len(server.asked) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert b"the same command goes on" in told
    assert b"Traceback" not in told
    (summary,) = shell.json("eval", "runs")["runs"]
    assert (summary["measured"], summary["finished_at"]) == (1, None)


def test_two_runs_are_compared_field_by_field(
    shell_with: Callable[..., Shell], serve: Callable[[Answer], LocalServer], cases: str
) -> None:
    shell = with_model(shell_with({}), serve(answer_by_text))
    first = shell.json("eval", "run", "extract_job", "--cases", cases)
    wrong = Reply(kind="text/event-stream", body=completion({**posting("Leeds")[1], "title": None}))
    worse = f"{serve(lambda _: wrong).url}/v1#worse"
    second = shell.json("eval", "extract_job", "--cases", cases, "--model", worse)
    assert first["name"] != second["name"]
    found = shell.json("eval", "compare", first["name"], second["name"])
    assert {(change["field"], change["kind"]) for change in found["changes"]} == {
        ("company", "broken"),
        ("title", "broken"),
    }
    (company,) = [f for f in found["fields"] if f["before"]["field"] == "company"]
    assert (company["before"]["right"], company["after"]["right"]) == (3, 0)
    assert company["after"]["wrong_grounded"] == 3
    shown = shell.run("eval", "compare", first["name"], second["name"]).stdout
    assert "en   title          right 100.0 % → 0.0 %" in shown


def test_limit_and_language_choose_cases(
    shell_with: Callable[..., Shell], serve: Callable[[Answer], LocalServer], cases: str
) -> None:
    server = serve(answer_by_text)
    shell = with_model(shell_with({}), server)
    found = shell.json("eval", "extract_job", "--cases", cases, "--limit", "2", "--only", "en")
    assert (found["measured"], len(server.asked)) == (2, 2)
    refused = shell.run("eval", "extract_job", "--cases", cases, "--only", "zh", code=1)
    assert "Languages of this node's cases: en" in refused.stderr


def test_what_cannot_be_measured_is_said_in_a_sentence(
    shell_with: Callable[..., Shell], tmp_path: Path
) -> None:
    shell = alone(shell_with({}))
    cases = write_cases(tmp_path, case_of("Alder Labs"))
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id": "a"}\n', encoding="utf-8")
    run = ("eval", "extract_job", "--cases")
    assert "broken.jsonl, line 1" in shell.run(*run, str(broken), code=1).stderr
    model = shell.run(*run, cases, "--model", "embeded:x", code=MODEL_FAILED)
    assert "Did you mean embedded" in model.stderr
    node = shell.run("eval", "extract_jbo", "--cases", cases, code=1)
    assert "extract_job" in node.stderr
    rows = shell.run("eval", "generate_resume", "--cases", cases, code=1)
    assert "eval.database" in rows.stderr
    assert "No run is" in shell.run("eval", "compare", "a", "b", code=1).stderr
    empty = write_cases(tmp_path, {**case_of("Alder Labs"), "text": "👍🎉"})
    assert "'alder' can't be captured" in shell.run(*run, empty, code=1).stderr
    assert shell.json("eval", "runs") == {"runs": []}


def test_edits_and_rejections_become_cases_that_measure_the_node(
    shell_with: Callable[..., Shell], tmp_path: Path
) -> None:
    text, answer = posting("Birch Data")
    second = {"kind": "skill", "text": "Data Engineer", "importance": "must"}
    answer["requirements"].append(second)
    shell = shell_with({**answer, "location": "Data"})
    shell.run("capture", text, code=PENDING)
    told = shell.run("eval", "cases", "--from-decisions")
    assert told.stdout == ""
    shell.run("review", "--set", "2.location=Leeds", "--reject", "4", "--yes")
    target = tmp_path / "mine.jsonl"
    told = shell.run("eval", "cases", "--from-decisions", "--to", str(target))
    assert "1 cases from 1 edited and 1 rejected actions" in told.stderr
    assert target.stat().st_mode & 0o077 == 0
    (case,) = map(json.loads, target.read_text(encoding="utf-8").splitlines())
    assert (case["node"], case["lang"], case["text"]) == ("extract_job", "en", text)
    assert case["expect"] == {
        "company": "Birch Data",
        "title": "Data Engineer",
        "location": "Leeds",
        "requirements": {"without": ["Data Engineer"]},
    }
    assert case["answered"] == {"location": "Data", "requirements": ["Data Engineer"]}
    found = alone(shell).json("eval", "extract_job", "--cases", str(target))
    assert {miss["field"] for miss in found["misses"]} == {"location", "requirements"}
    shell.run("eval", "cases", "--from-decisions", "--to", str(target), code=2)


def test_decisions_of_another_user_are_not_exported(shell_with: Callable[..., Shell]) -> None:
    text, answer = posting("Cedar Systems")
    shell = shell_with(answer)
    shell.run("capture", text, code=PENDING)
    shell.run("review", "--reject", "1", "--discard-rest")
    assert shell.run("eval", "cases", "--from-decisions").stdout.count("\n") == 1
    stranger = replace(shell, environment={**shell.environment, "ALFRED_USER": "stranger"})
    assert stranger.run("eval", "cases", "--from-decisions").stdout == ""
