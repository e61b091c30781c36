"""`alfred diagnose`, `diagnosis` and `review` as people run them: processes, recorded tools."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from alfred.app import user_id_of
from alfred.store.address import Address
from tests.conftest import Answer, LocalServer
from tests.diagnosis_shell import DiagnosisShell, NodeServer, open_shell
from tests.diagnosis_turns import CASES
from tests.shell import PENDING, REFUSED_INPUT
from tests.world import look

QUESTION = "Why is basket-api slow since 14:00?"
FAILED, USAGE, INTERRUPTED = 1, 2, 130
REACHED_WITHIN_S = 100.0
Serve = Callable[[Answer], LocalServer]


@dataclass(frozen=True)
class Asked:
    """One question that was asked and answered on a terminal that is none."""

    shell: DiagnosisShell
    model: NodeServer
    out: str
    err: str


@pytest.fixture(scope="module")
def asked(database: Address, tmp_path_factory: pytest.TempPathFactory) -> Generator[Asked]:
    """Ask once; what is printed and stored is looked at by many."""
    servers: list[LocalServer] = []

    def serve(answer: Answer) -> LocalServer:
        servers.append(LocalServer(answer))
        return servers[-1]

    model = NodeServer()
    shell = open_shell(database, tmp_path_factory.mktemp("asked"), serve, model)
    done = shell.run("diagnose", QUESTION, code=PENDING)
    yield Asked(shell, model, done.stdout, done.stderr)
    for server in servers:
        server.stop()


@pytest.fixture
def model() -> NodeServer:
    """Answer as the author of the case would."""
    return NodeServer()


@pytest.fixture
def shell(database: Address, tmp_path: Path, serve: Serve, model: NodeServer) -> DiagnosisShell:
    """Make a user of whom nothing is known yet."""
    return open_shell(database, tmp_path, serve, model)


def notes_of(database: Address, shell: DiagnosisShell) -> list[dict[str, Any]]:
    query = "SELECT title, body FROM incident_note WHERE user_id = %s"
    return look(database, query, [user_id_of(shell.user)])


def run_id(shell: DiagnosisShell) -> str:
    return str(shell.json("diagnosis", "list")[0]["id"])


def test_a_diagnosis_is_told_in_order_from_the_first_look_to_the_note(asked: Asked) -> None:
    parts = [
        "E1 alerts ok",
        'BasketLatencyHigh{service="basket-api",severity="page"} firing since 14:06:30Z',
        "E2 changes ok",
        "E3 logs ok",
        "Plan (3 steps):",
        "1. metric name=basket_pool_in_use",
        "E4 metric name=basket_pool_in_use: ok, 2 lines",
        "Evidence: 6 admitted, 0 refused; ceiling PASS.",
        "Verdict: PASS.",
        "\nFacts",
        "Cause found: Commit c81f0aa",
        "which cut pool_size from 40 to 4.  [F4] [E4] [E6]",
        "[E6] changes  git show c81f0aa",
        "Path: executor (PLAN_READY) → ",
        "composer (VERDICT_PASS) → end (ANSWER_COMPOSED)",
        "alfred diagnosis show ",
        "record_incident_note",
    ]
    places = [asked.out.find(part) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert places == sorted(places)
    assert asked.out.startswith("E1 alerts"), "nothing stands before the first look"
    assert asked.out.count("Cause found:") >= 1
    assert "Cause: Cause" not in asked.out
    assert "Decide with: alfred review" in asked.err


def test_each_fact_stands_in_the_table_with_its_evidence_and_verdict(asked: Asked) -> None:
    rows = [line.split("│") for line in asked.out.splitlines() if line.startswith("F")]
    facts = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows if len(row) > 1}
    assert facts["F4"][0] == "cause"
    assert facts["F4"][2:] == ["E4 E6", "supported"]
    assert facts["F3"][0] == "ruled_out"


def test_a_diagnosis_can_be_listed_and_shown_again_with_everything_on_record(
    asked: Asked,
) -> None:
    before = asked.model.asked.total()
    (run,) = asked.shell.json("diagnosis", "list")
    assert (run["question"], run["finding"], run["verdict"]) == (QUESTION, "cause", "PASS")
    assert (run["scope"], run["terminal_reason"]) == ({"service": "basket-api"}, "ANSWER_COMPOSED")
    listed = asked.shell.run("diagnosis", "list").stdout
    assert listed.split() == [*listed.split()[:3], "cause", *QUESTION.split()]
    shown = asked.shell.run("diagnosis", "show", run["id"][:8]).stdout
    assert shown.splitlines()[0] == QUESTION
    assert shown.index("E1 alerts") < shown.index("Cause found:") < shown.index("Path: ")
    document = asked.shell.json("diagnosis", "show", run["id"])
    assert [call["id"] for call in document["calls"]] == ["E1", "E2", "E3", "E4", "E5", "E6"]
    assert document["trace"]["final_node"] == "composer"
    assert asked.model.asked.total() == before, "what is on record needs no model"


def test_with_json_a_diagnosis_is_one_document(shell: DiagnosisShell) -> None:
    document = shell.json("diagnose", QUESTION, "--since", "2h", code=PENDING)
    assert {call["outcome"] for call in document["calls"]} == {"ok"}
    assert document["answer"]["cause"]["fact"] == "F4"
    assert [fact["id"] for fact in document["facts"]][:4] == ["F1", "F2", "F3", "F4"]
    reasons = [step["reason_code"] for step in document["trace"]["transitions"]]
    assert reasons[0] == "PLAN_READY"
    assert document["trace"]["termination_reason"] == "ANSWER_COMPOSED"
    (action,) = document["proposal"]["actions"]
    assert action["kind"] == "record_incident_note"
    assert document["cost"]["calls"] == 6


def test_a_note_is_written_once_it_is_approved_and_only_once(
    database: Address, shell: DiagnosisShell
) -> None:
    shell.run("diagnose", QUESTION, code=PENDING)
    assert notes_of(database, shell) == []
    shell.run("review", "--yes")
    (note,) = notes_of(database, shell)
    assert note["title"].startswith("Cause found: Commit c81f0aa")
    assert QUESTION in note["body"]
    refused = shell.run("review", "--yes", code=7)
    assert "There is no proposal that waits" in refused.stderr
    assert len(notes_of(database, shell)) == 1


def test_a_notes_title_is_corrected_in_words_without_another_diagnosis(
    database: Address, shell: DiagnosisShell, model: NodeServer
) -> None:
    document = shell.json("diagnose", QUESTION, code=PENDING)
    title = "Orders pool cut to four"
    held = {"cause": document["answer"]["cause"]["text"], "services": ["basket-api"]}
    model.said["incident_note"] = [{"title": title, **held}]
    asked = model.asked.total()
    words = f"the title should be: {title}"
    corrected = shell.run("review", "--correct", words, code=PENDING).stdout
    assert f"title: {title}" in corrected
    assert model.asked.total() == asked + 1, "the note's node alone is asked"
    shell.run("review", "--yes")
    (note,) = notes_of(database, shell)
    assert note["title"] == title
    assert QUESTION in note["body"]


def test_questions_are_answered_at_once_where_a_review_is_wished(
    database: Address, shell: DiagnosisShell
) -> None:
    """Without a terminal to answer at, the review ends like one that nobody answers."""
    done = shell.run("diagnose", QUESTION, "--review", code=PENDING)
    assert "record_incident_note" in done.stdout
    assert notes_of(database, shell) == []


def test_a_question_may_come_from_standard_input(shell: DiagnosisShell) -> None:
    shell.run("diagnose", "-", words=f"{QUESTION}\n".encode(), code=PENDING)
    assert shell.json("diagnosis", "list")[0]["scope"] == {"service": "basket-api"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("hello", "Hello. Ask what is wrong with a running system"),
        ("What is a circuit breaker?", "This asks about a concept, not about a running system"),
        ("谢谢", "请直接问运行中的系统出了什么问题"),
    ],
)
def test_what_is_no_question_about_a_system_is_answered_in_words(
    shell: DiagnosisShell, model: NodeServer, words: str, said: str
) -> None:
    assert said in shell.run("diagnose", words).stdout
    assert shell.json("diagnosis", "list") == []
    assert model.asked.total() == 0


def test_a_question_without_context_is_asked_back(
    database: Address, tmp_path: Path, serve: Serve, model: NodeServer
) -> None:
    quiet = open_shell(database, tmp_path, serve, model, case=CASES / "en-quiet-morning")
    done = quiet.run("diagnose", "Can you have a look?")
    assert "does not say what to look at, and no alert is firing" in done.stdout
    (run,) = quiet.json("diagnosis", "list")
    assert (run["terminal_reason"], run["finding"]) == ("NO_CONTEXT", None)
    assert "does not say what to look at" in quiet.run("diagnosis", "show", run["id"]).stdout
    assert model.asked.total() == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([" \n"], REFUSED_INPUT, "The question has no words. Ask for example"),
        (["-"], REFUSED_INPUT, "The question has no words"),
        ([QUESTION, "--since", "the flood"], REFUSED_INPUT, "'the flood' is no time to look back"),
        ([QUESTION, "--since", "2099-01-01"], REFUSED_INPUT, "must lie in the last 31 days"),
        ([QUESTION, "--scope", "basket"], USAGE, "--scope 'basket' is not KEY=VALUE"),
        ([QUESTION, "--follow", "ffff"], USAGE, "no diagnosis begins with 'ffff'"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused_and_not_kept(
    shell: DiagnosisShell, model: NodeServer, words: list[str], code: int, said: str
) -> None:
    done = shell.run("diagnose", *words, code=code)
    assert said in done.stderr
    assert done.stdout == ""
    assert shell.json("diagnosis", "list") == []
    assert model.asked.total() == 0


def test_a_question_of_a_million_letters_is_refused(shell: DiagnosisShell) -> None:
    done = shell.run("diagnose", "-", words=b"slow " * 250_000, code=REFUSED_INPUT)
    assert done.stderr.startswith("alfred: input.too_large: ")
    assert done.stdout == ""


@pytest.mark.parametrize("command", ["show", "cancel", "resume"])
def test_a_run_that_nobody_knows_is_refused(shell: DiagnosisShell, command: str) -> None:
    done = shell.run("diagnosis", command, "0123", code=USAGE)
    assert "no diagnosis begins with '0123'; alfred diagnosis list shows them." in done.stderr


def test_a_run_that_has_ended_is_neither_cancelled_nor_answered_again(asked: Asked) -> None:
    before, run = asked.model.asked.total(), run_id(asked.shell)
    assert "It has ended already." in asked.shell.run("diagnosis", "cancel", run, code=1).stderr
    again = asked.shell.run("diagnosis", "resume", run, code=PENDING)
    assert "Cause found: Commit c81f0aa" in again.stdout
    assert asked.model.asked.total() == before


def test_a_killed_diagnosis_goes_on_behind_its_last_step(
    shell: DiagnosisShell, model: NodeServer
) -> None:
    model.hangs_at = "verifier"
    with shell.started("diagnose", QUESTION) as process:
        assert model.reached.wait(REACHED_WITHIN_S)
        process.kill()
    model.hangs_at = ""
    model.released.set()
    (run,) = shell.json("diagnosis", "list")
    assert (run["terminal_reason"], run["finding"]) == (None, None)
    assert "It has not ended yet." in shell.run("diagnosis", "show", run["id"]).stdout
    asked = dict(model.asked)
    document = shell.json("diagnosis", "resume", run["id"], code=PENDING)
    assert document["answer"]["finding"] == "cause"
    assert model.asked["planner"] == asked["planner"] == 1
    assert model.asked["executor"] == asked["executor"] == 1
    assert [event["outcome"] for event in document["events"]].count("RESUMED") == 1


def test_an_interrupted_diagnosis_is_cancelled_and_does_not_go_on(
    shell: DiagnosisShell, model: NodeServer
) -> None:
    model.hangs_at = "executor"
    with shell.started("diagnose", QUESTION) as process:
        assert model.reached.wait(REACHED_WITHIN_S)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
        assert process.returncode == INTERRUPTED
    model.released.set()
    assert "has ended with CANCELLED." in err
    assert "Traceback" not in err
    asked = model.asked.total()
    shell.run("pending")
    shell.run("review", "--yes", code=7)
    (run,) = shell.json("diagnosis", "list")
    assert (run["terminal_reason"], run["is_cancelled"]) == ("CANCELLED", True)
    said = shell.run("diagnosis", "show", run["id"]).stdout
    assert "The diagnosis was cancelled. Nothing is established." in said
    assert model.asked.total() == asked


def test_a_cancel_ends_a_diagnosis_that_was_killed(
    shell: DiagnosisShell, model: NodeServer
) -> None:
    model.hangs_at = "planner"
    with shell.started("diagnose", QUESTION) as process:
        assert model.reached.wait(REACHED_WITHIN_S)
        process.kill()
    model.released.set()
    said = shell.run("diagnosis", "cancel", run_id(shell)).stderr
    assert said.endswith("has ended with CANCELLED.\n")
    (run,) = shell.json("diagnosis", "list")
    assert run["terminal_reason"] == "CANCELLED"


def test_a_cancel_stops_a_diagnosis_that_goes_on_in_another_process(
    shell: DiagnosisShell, model: NodeServer
) -> None:
    model.hangs_at = "planner"
    with shell.started("diagnose", QUESTION, "--json") as process:
        assert model.reached.wait(REACHED_WITHIN_S)
        said = shell.run("diagnosis", "cancel", run_id(shell)).stderr
        assert said.endswith(("is asked to stop.\n", "has ended with CANCELLED.\n"))
        out, _ = process.communicate()
        model.released.set()
        assert process.returncode == 0
    document = json.loads(out)
    assert (document["answer"]["reason"], document["proposal"]) == ("CANCELLED", None)
    (run,) = shell.json("diagnosis", "list")
    assert run["terminal_reason"] == "CANCELLED"


def test_no_tool_says_where_to_list_them_and_keeps_nothing(shell: DiagnosisShell) -> None:
    shell.write_tools("")
    done = shell.run("diagnose", QUESTION, code=FAILED)
    assert done.stderr.startswith("alfred: probe.settings: No tool is configured")
    assert "docs/probes.md" in done.stderr
    shell.write_tools("replay: recorded\nlogz: {}\n")
    wrong = shell.run("diagnose", QUESTION, code=FAILED)
    assert "logz" in wrong.stderr
    assert "Did you mean 'logs'?" in wrong.stderr
    assert shell.json("diagnosis", "list") == []


def test_a_terminals_orders_in_a_log_line_reach_no_terminal(
    database: Address, tmp_path: Path, serve: Serve, model: NodeServer
) -> None:
    order = "\x1b]0;owned\x07\x1b[2J\x1b[31mpool\x9b1m gone\u202e"

    def inject(call: dict[str, Any]) -> None:
        if call["tool"] == "log_patterns":
            call["lines"] = [f"412x {order}", *call["lines"]]
            call["asked"] = f"log lines {order}"

    shell = open_shell(database, tmp_path, serve, model, change=inject)
    said = shell.run("diagnose", QUESTION, code=PENDING)
    shown = shell.run("diagnosis", "show", run_id(shell)).stdout
    document = shell.run("diagnosis", "show", run_id(shell), "--json").stdout
    for text in (said.stdout, said.stderr, shown, document):
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)
    assert "gone" in said.stdout
    assert "gone" in shown


def test_a_chinese_question_is_answered_in_chinese(
    database: Address, tmp_path: Path, serve: Serve
) -> None:
    case = CASES / "zh-dropped-index"
    shell = open_shell(database, tmp_path, serve, NodeServer(case), case=case)
    said = shell.run("diagnose", "ledger-query 为什么从 07:00 起变慢？", code=PENDING).stdout
    assert "原因已找到：提交 4d17be2 于 07:02:10Z 删除了索引 entry_by_account" in said
    assert "  此后按 account_id 查 ledger_entry 平均要 8720 ms。  [F3] [E4] [E6]" in said
    assert "正在核对" in said or "正在逐条核对事实与证据" in said
