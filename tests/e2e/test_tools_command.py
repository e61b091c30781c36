"""`alfred tools` lists and tries the tools of a file, and makes one call, without a database."""

from __future__ import annotations

import json
import os
import shlex
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from alfred.probes.tool_call import is_sealed
from tests.shell import Shell
from tests.unit.test_probe_changes import commit, git

SHOP = [sys.executable, str(Path(__file__).parents[1] / "mcp_shop.py")]
TOOLS = """\
changes:
  repositories: {basket: basket}
logs:
  sources: {basket: basket.log}
runbooks: {folder: books}
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Make a user with a log, a repository and a runbook, and neither database nor model."""
    now = datetime.now(UTC)
    at = (now - timedelta(minutes=10)).strftime("%Y-%m-%dT%H:%M:%SZ")
    (tmp_path / "basket").mkdir()
    git(tmp_path / "basket", "init", "--quiet", "--initial-branch=main")
    commit(tmp_path / "basket", "lower the pool", {"app.yaml": "size: 5\n"}, at)
    (tmp_path / "basket.log").write_text(f"{at} ERROR pool exhausted password=tulip9x\n")
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "basket.md").write_text("# Pool\n\nOn an error, look at the size.\n")
    (tmp_path / "tools.yaml").write_text(TOOLS)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("ALFRED_")}
    return Shell(
        {
            **kept,
            "ALFRED_HOME": str(tmp_path),
            "ALFRED_TOOLS": str(tmp_path / "tools.yaml"),
            "ALFRED_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none",
            "ALFRED_TIMEZONE": "UTC",
            "ALFRED_LANGUAGE": "en",
        }
    )


def write_tools(shell: Shell, text: str) -> None:
    Path(shell.environment["ALFRED_TOOLS"]).write_text(text)


@pytest.mark.parametrize("words", [["tools"], ["tools", "list"]])
def test_each_tool_is_listed_with_a_sign_of_life(shell: Shell, words: list[str]) -> None:
    lines = shell.run(*words).stdout.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["changes", "changes", "answers:"],
        ["log_patterns", "logs", "answers:"],
        ["logs", "logs", "answers:"],
        ["runbooks", "guidance", "answers:"],
    ]


def test_the_list_is_one_document_with_json(shell: Shell) -> None:
    listed = shell.json("tools", "list")
    assert listed["file"] == shell.environment["ALFRED_TOOLS"]
    assert [tool["name"] for tool in listed["tools"]] == [
        *("changes", "log_patterns", "logs", "runbooks"),
    ]
    assert all(tool["outcome"] == "ok" for tool in listed["tools"])
    assert listed["tools"][0]["parameters"]["additionalProperties"] is False
    assert (listed["servers"], listed["notices"]) == ([], [])


def test_one_call_prints_the_lines_that_a_diagnosis_would_see(shell: Shell) -> None:
    said = shell.run("tools", "call", "logs", "source=basket", "contains=pool").stdout
    assert "ERROR pool exhausted password=[secret]" in said
    assert "tulip9x" not in said
    call = shell.json("tools", "call", "changes", "--since", "2h")
    assert (call["outcome"], call["round"]) == ("ok", 0)
    assert "lower the pool" in call["lines"][0]
    assert is_sealed(call)


def test_a_call_that_finds_nothing_says_what_was_searched(shell: Shell) -> None:
    said = shell.run("tools", "call", "runbooks", "words=zebra").stdout
    assert said.startswith("runbook sections about 'zebra'")
    assert "nothing found" in said


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["log"], 1, "refused: There is no tool 'log'. Did you mean 'logs'?"),
        (["logs"], 1, "refused: logs does not take these arguments"),
        (["logs", "source=cart"], 1, "refused: logs does not take these arguments: source"),
        (["changes", "commit=HEAD"], 1, "refused: changes does not take"),
    ],
)
def test_a_call_that_is_refused_says_why_and_ends_with_1(
    shell: Shell, words: list[str], code: int, said: str
) -> None:
    assert said in shell.run("tools", "call", *words, code=code).stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["logs", "basket"], 2, "'basket' is no argument; write KEY=VALUE."),
        (["logs", "source=a", "source=b"], 2, "source is given twice."),
        (["changes", "--since", "never"], 4, "is no time to look back to"),
    ],
)
def test_wrong_usage_is_told(shell: Shell, words: list[str], code: int, said: str) -> None:
    assert said in shell.run("tools", "call", *words, code=code).stderr


def test_a_value_is_read_as_the_schema_wants_it(shell: Shell, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "kubectl"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "2020-01-01T00:00:00Z args $*" >&2; exit 1\n')
    program.chmod(0o755)
    write_tools(shell, "kubernetes: {namespaces: [shop]}\n")
    shell.environment["PATH"] = f"{program.parent}:{shell.environment['PATH']}"
    words = ["kubernetes", "verb=logs", "name=basket-1", "previous=true"]
    assert "--previous" in shell.run("tools", "call", *words, code=1).stdout
    wrong = shell.run("tools", "call", *words[:-1], "previous=maybe", code=1).stdout
    assert "refused: kubernetes does not take these arguments: previous" in wrong


def test_a_tool_that_does_not_answer_is_told_and_ends_with_1(shell: Shell) -> None:
    write_tools(shell, "runbooks: {folder: gone}\nprometheus: {url: 'http://127.0.0.1:9'}\n")
    lines = shell.run("tools", code=1).stdout.splitlines()
    assert lines[0].startswith("alerts           alerts    FAILED: probe.unreachable: ")
    assert lines[1] == "metrics_range    metrics   not asked: it needs query"
    assert "FAILED: probe.unreachable: The runbooks' folder" in lines[-1]


def test_nothing_configured_says_where_to_list_tools(shell: Shell) -> None:
    Path(shell.environment["ALFRED_TOOLS"]).unlink()
    assert "which does not exist" in shell.run("tools", code=1).stderr
    del shell.environment["ALFRED_TOOLS"]
    said = shell.run("tools").stdout
    assert said.startswith("No tools are configured. List them in ")
    assert "There is no tool 'logs'." in shell.run("tools", "call", "logs", code=1).stdout


def test_a_mistake_in_the_file_is_one_sentence(shell: Shell) -> None:
    write_tools(shell, "prometeus: {}\n")
    error = shell.run("tools", code=1).stderr
    assert error == (
        "alfred: probe.settings: tools.yaml, line 1, prometeus: unknown field."
        " Did you mean 'prometheus'?\n"
    )


def shop_file(tools: list[dict[str, Any]], *more: str) -> str:
    return yaml.safe_dump({"mcp": {"shop": {"command": [*SHOP, *more], "tools": tools}}})


def test_tools_of_an_mcp_server_are_printed_ready_to_be_pasted(shell: Shell) -> None:
    write_tools(shell, shop_file([]))
    said = shell.run("tools").stdout
    assert "MCP server shop: 9 tools" in said
    assert "  # not allowed" in said
    pasted: list[dict[str, Any]] = yaml.safe_load(said.partition(" tools\n")[2])
    chosen = next(tool for tool in pasted if tool["name"] == "slow_orders")
    chosen["description"] = "Slow orders of a service."
    write_tools(shell, shop_file([chosen]))
    call = shell.json("tools", "call", "mcp_shop_slow_orders", "service=basket")
    assert call["lines"][0] == "basket: 17 orders took longer than 5 s"
    listed = shell.json("tools", "list")
    assert listed["tools"][0]["error"] == "its server is asked below"
    standing = {tool["name"]: tool["standing"] for tool in listed["servers"][0]["tools"]}
    assert standing["slow_orders"] == "allowed"
    assert standing["dying"] == "not allowed"


def test_an_mcp_tool_that_has_changed_or_gone_is_told_and_ends_with_1(shell: Shell) -> None:
    tool = {"name": "slow_orders", "schema_sha256": "ab" * 32, "description": "Slow orders."}
    gone = {**tool, "name": "gone"}
    write_tools(shell, shop_file([tool, gone]))
    (server,) = shell.json("tools", "list", code=1)["servers"]
    assert server["gone"] == ["gone"]
    assert "changed" in {offer["standing"] for offer in server["tools"]}
    said = shell.run("tools", code=1).stdout
    assert "  # changed" in said
    assert "  # gone: gone" in said
    write_tools(shell, yaml.safe_dump({"mcp": {"shop": {"command": ["no-such-server"]}}}))
    assert "MCP server shop: FAILED: probe.unreachable" in shell.run("tools", code=1).stdout


def test_a_secret_that_others_can_read_is_noticed(shell: Shell) -> None:
    write_tools(shell, "prometheus: {url: 'http://ops:tulip9x@127.0.0.1:9'}\n")
    path = Path(shell.environment["ALFRED_TOOLS"])
    path.chmod(0o644)
    done = shell.run("tools", code=1)
    assert f"chmod 600 {shlex.quote(str(path))}" in done.stderr
    assert "tulip9x" not in done.stdout + done.stderr
    assert json.loads(shell.run("tools", "list", "--json", code=1).stdout)["notices"]


def test_a_recording_is_asked_like_any_tool(shell: Shell, tmp_path: Path) -> None:
    recorded = tmp_path / "case"
    recorded.mkdir()
    (recorded / "specs.yaml").write_text(
        "tools: [{name: disk, kind: state, description: Disks.}]\n"
    )
    (recorded / "calls.jsonl").write_text('{"tool": "disk", "asked": "disks", "lines": ["full"]}\n')
    write_tools(shell, "replay: case\n")
    assert shell.json("tools", "call", "disk")["lines"] == ["full"]


def doctors_word(shell: Shell) -> dict[str, Any]:
    """Ask `alfred doctor` for what it says of the tools; there is neither database nor model."""
    findings = shell.json("doctor", code=1)["findings"]
    (found,) = [one for one in findings if one["part"] == "tools"]
    return found


def test_the_doctor_says_how_many_tools_there_are(shell: Shell) -> None:
    found = doctors_word(shell)
    file = shell.environment["ALFRED_TOOLS"]
    assert found["ok"]
    assert found["text"] == f"4 configured in {file}: changes, log_patterns, logs, runbooks"


def test_the_doctor_says_what_is_wrong_with_the_tools_file(shell: Shell) -> None:
    write_tools(shell, "prometeus: {}\n")
    found = doctors_word(shell)
    assert not found["ok"]
    assert "tools.yaml, line 1, prometeus: unknown field." in found["text"]


def test_no_tools_are_no_failure_to_the_doctor(shell: Shell) -> None:
    write_tools(shell, shop_file([]))
    found = doctors_word(shell)
    assert found["ok"]
    assert found["text"].startswith("none configured, so a diagnosis cannot look at anything;")
    assert found["text"].endswith("no tool is allowed of MCP server shop")


def test_what_would_steer_a_terminal_reaches_none(shell: Shell, tmp_path: Path) -> None:
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    (tmp_path / "basket.log").write_text(f"{at} \x1b]0;owned\x07 \x9b2J\u202e paid\n")
    for words in (["logs", "source=basket"], ["logs", "source=basket", "--json"]):
        told = shell.run("tools", "call", *words).stdout
        assert "owned" in told
        assert not [char for char in told if not char.isprintable() and char != "\n"]


@pytest.mark.parametrize("value", ["[" * 50_000, "NaN", "1e999", "9" * 5_000])
def test_a_value_that_nobody_could_mean_is_refused(
    shell: Shell, tmp_path: Path, value: str
) -> None:
    (tmp_path / "recorded").mkdir()
    schema = "{type: object, properties: {n: {type: number}}}"
    (tmp_path / "recorded" / "specs.yaml").write_text(
        f"tools:\n  - {{name: count, kind: other, description: Counts., parameters: {schema}}}\n"
    )
    (tmp_path / "recorded" / "calls.jsonl").write_text("")
    write_tools(shell, "replay: recorded\n")
    said = shell.run("tools", "call", "count", f"n={value}", code=1).stdout
    assert said.startswith("refused: count does not take these arguments: ")
