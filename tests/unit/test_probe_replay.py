"""Replayed tools answer what was recorded, say so where nothing was, and connect to nothing."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import alfred
from alfred.errors import ProbeFailed
from alfred.probes.probe import Window
from alfred.probes.replay import (
    NOT_RECORDED,
    RecordedCall,
    Recording,
    ToolSpec,
    nearest,
    read_recording,
    save_recording,
    specs_of,
)
from alfred.probes.tool_call import is_sealed

WINDOW = Window(
    start=datetime(2026, 3, 2, 13, 0, tzinfo=UTC), end=datetime(2026, 3, 2, 15, 0, tzinfo=UTC)
)
SPECS = """\
tools:
  - name: firing_alerts
    kind: alerts
    description: Alerts that fire now.
    is_primary: false
  - name: log_search
    kind: logs
    description: Lines of a service's log.
    parameters:
      type: object
      additionalProperties: false
      required: [source]
      properties:
        source: {type: string, maxLength: 40}
        contains: {type: string, maxLength: 80}
  - name: orders_database
    kind: database
    description: What the database is doing.
"""
CALLS: list[dict[str, Any]] = [
    {
        "tool": "firing_alerts",
        "asked": "alerts that fire",
        "lines": ["HighLatency service=basket since 14:02"],
        "first_look": True,
    },
    {
        "tool": "log_search",
        "arguments": {"source": "basket", "contains": "pool"},
        "asked": "basket, lines with 'pool'",
        "where": "basket.log",
        "lines": ["2026-03-02T14:01:09Z ERROR pool exhausted (5 of 5)"],
        "start": "2026-03-02T13:00:00Z",
        "end": "2026-03-02T15:00:00+00:00",
        "truncated": True,
    },
    {
        "tool": "log_search",
        "arguments": {"source": "ledger"},
        "asked": "ledger, all lines",
    },
    {
        "tool": "orders_database",
        "asked": "activity",
        "outcome": "failed",
        "error": "probe.unreachable: orders-db refuses connections.",
    },
]


def recorded(folder: Path, calls: list[dict[str, Any]] = CALLS, specs: str = SPECS) -> Path:
    (folder / "specs.yaml").write_text(specs, encoding="utf-8")
    lines = "".join(json.dumps(call) + "\n" for call in calls)
    (folder / "calls.jsonl").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return read_recording(recorded(tmp_path))


async def ask(recording: Recording, tool: str, **arguments: Any) -> Any:
    return await recording.toolbox().call(tool, arguments, WINDOW, [], round_=1)


async def test_the_same_question_gets_the_recorded_answer(recording: Recording) -> None:
    call = await ask(recording, "log_search", source="basket", contains="pool")
    assert call["outcome"] == "ok"
    assert call["lines"] == ["2026-03-02T14:01:09Z ERROR pool exhausted (5 of 5)"]
    assert (call["asked"], call["where"]) == ("basket, lines with 'pool'", "basket.log")
    assert call["start"] == "2026-03-02T13:00:00+00:00"
    assert call["truncated"]
    assert is_sealed(call)


@pytest.mark.parametrize(
    "arguments",
    [
        {"source": "Basket", "contains": " POOL "},
        {"source": "basket"},
        {"source": "basket", "contains": ""},
    ],
)
async def test_a_question_that_asks_nothing_different_gets_the_nearest_answer(
    recording: Recording, arguments: dict[str, str]
) -> None:
    call = await ask(recording, "log_search", **arguments)
    assert call["asked"] == "basket, lines with 'pool'"


async def test_a_narrower_question_gets_the_wider_answer_and_what_was_asked_for_it(
    recording: Recording,
) -> None:
    call = await ask(recording, "log_search", source="ledger", contains="pool")
    assert (call["outcome"], call["asked"]) == ("empty", "ledger, all lines")


async def test_a_question_that_was_not_recorded_fails_and_is_no_negative_evidence(
    recording: Recording,
) -> None:
    for arguments in ({"source": "basket", "contains": "disk"}, {"source": "mailer"}):
        call = await ask(recording, "log_search", **arguments)
        assert call["outcome"] == "failed"
        assert NOT_RECORDED in call["error"]


async def test_a_recorded_failure_fails_with_its_own_sentence(recording: Recording) -> None:
    call = await ask(recording, "orders_database")
    assert call["outcome"] == "failed"
    assert call["error"] == "probe.unreachable: orders-db refuses connections."


async def test_a_recorded_time_out_is_one_again(tmp_path: Path) -> None:
    slow = {"tool": "firing_alerts", "asked": "alerts", "outcome": "timeout"}
    call = await ask(read_recording(recorded(tmp_path, [slow])), "firing_alerts")
    assert call["outcome"] == "timeout"


async def test_the_first_look_makes_the_marked_calls_alone(recording: Recording) -> None:
    calls = await recording.toolbox().first_look(WINDOW, {})
    assert [(call["id"], call["tool"], call["round"]) for call in calls] == [
        ("E1", "firing_alerts", 0)
    ]


def test_the_nearest_call_shares_most_arguments_then_leaves_fewest_alone_then_came_first() -> None:
    def call(asked: str, **arguments: Any) -> RecordedCall:
        return RecordedCall(tool="t", arguments=arguments, asked=asked, lines=("x",))

    wide, one, two = call("wide"), call("one", a=1), call("two", a=1, b=2)
    again = call("again", a=1)
    assert nearest([wide, one, two], {"a": 1, "b": 2, "c": 3}) is two
    assert nearest([wide, two, one, again], {"a": 1}) is one
    assert nearest([two, wide], {"c": 1}) is wide
    assert nearest([two], {"a": 1, "c": 1}) is None
    assert nearest([two], {"c": 1}) is None
    assert nearest([], {}) is None


async def test_a_dropped_tool_is_unknown_and_the_others_still_answer(recording: Recording) -> None:
    left = recording.without("log_search")
    assert (await ask(left, "log_search", source="basket"))["outcome"] == "refused"
    assert (await ask(left, "firing_alerts"))["outcome"] == "ok"


async def test_every_call_can_be_made_to_fail_or_those_of_one_tool(recording: Recording) -> None:
    for call in await recording.failing().toolbox().first_look(WINDOW, {}):
        assert call["outcome"] == "failed"
    some = recording.failing("firing_alerts", error="probe.unreachable: It is down.")
    assert (await ask(some, "firing_alerts"))["error"] == "probe.unreachable: It is down."
    assert (await ask(some, "log_search", source="basket"))["outcome"] == "ok"


async def test_swapped_evidence_answers_the_same_questions_with_another_cases_lines(
    recording: Recording,
) -> None:
    other = Recording(
        specs=[
            ToolSpec(name="firing_alerts", kind="alerts", description="Alerts."),
            ToolSpec(name="journal", kind="logs", description="The journal."),
        ],
        calls=[
            RecordedCall(tool="firing_alerts", asked="theirs", lines=("DiskFull",)),
            RecordedCall(tool="journal", asked="journal", lines=("No space left on device",)),
        ],
    )
    swapped = recording.swapped(other)
    (first,) = await swapped.toolbox().first_look(WINDOW, {})
    assert first["lines"] == ["DiskFull"]
    logs = await ask(swapped, "log_search", source="basket", contains="pool")
    assert logs["lines"] == ["No space left on device"]
    assert (await ask(swapped, "orders_database"))["outcome"] == "failed"


async def test_a_saved_run_replays_with_the_same_digests(
    recording: Recording, tmp_path: Path
) -> None:
    toolbox = recording.toolbox()
    trace = await toolbox.first_look(WINDOW, {})
    for tool, arguments in (
        ("log_search", {"source": "basket", "contains": "pool"}),
        ("log_search", {"source": "ledger"}),
        ("log_search", {"wrong": 1}),
        ("orders_database", {}),
    ):
        trace.append(await toolbox.call(tool, arguments, WINDOW, trace, round_=1))
    save_recording(tmp_path / "saved", specs_of(toolbox), trace)
    saved = read_recording(tmp_path / "saved")
    assert [call.first_look for call in saved.calls] == [True, False, False, False]
    again = await saved.toolbox().first_look(WINDOW, {})
    for call in trace[1:]:
        if call["outcome"] != "refused":
            again.append(
                await saved.toolbox().call(call["tool"], call["arguments"], WINDOW, again, round_=1)
            )
    assert [c["digest"] for c in again] == [c["digest"] for c in trace if c["outcome"] != "refused"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"tool": "log_serch", "asked": "x"}, "Did you mean 'log_search'?"),
        ({"tool": "log_search"}, "line 1, asked: is missing."),
        ({"tool": "log_search", "asked": "x", "line": []}, "Did you mean 'lines'?"),
        ({"tool": "log_search", "asked": "x", "lines": "a"}, "expected a list, found text."),
        ({"tool": "log_search", "asked": "x", "start": "14:00"}, "no time with a zone"),
        ({"tool": "log_search", "asked": "x", "outcome": "ok"}, "there are 0 lines"),
        ({"tool": "log_search", "asked": "x", "outcome": "failed"}, "error says nothing"),
        ({"tool": "log_search", "asked": "x", "outcome": "fine"}, "found 'fine'"),
    ],
)
def test_a_wrong_call_is_refused_with_its_line_and_a_remedy(
    tmp_path: Path, call: dict[str, Any], said: str
) -> None:
    with pytest.raises(ProbeFailed) as caught:
        read_recording(recorded(tmp_path, [call]))
    assert caught.value.code == "probe.recording"
    assert "calls.jsonl, line 1" in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        ("", "the file is empty"),
        ("tools: [", "not YAML, line 2"),
        ("tools: []", "at least 1 item"),
        (SPECS + "more: 1\n", "more: unknown field. Known: tools."),
        (SPECS.replace("kind: logs", "kind: log"), "line 7, tools[1].kind: expected 'alerts'"),
        (SPECS.replace("type: object", "type: objekt"), "no JSON Schema of an object"),
        (SPECS.replace("orders_database", "log_search"), "'log_search' is listed twice"),
    ],
)
def test_wrong_specs_are_refused_with_their_line_and_a_remedy(
    tmp_path: Path, specs: str, said: str
) -> None:
    with pytest.raises(ProbeFailed) as caught:
        read_recording(recorded(tmp_path, specs=specs))
    assert caught.value.code == "probe.recording"
    assert said in str(caught.value)


def test_a_missing_file_or_one_that_is_no_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProbeFailed, match=r"specs\.yaml, there is no such file"):
        read_recording(tmp_path)
    recorded(tmp_path)
    (tmp_path / "calls.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(ProbeFailed, match="not UTF-8"):
        read_recording(tmp_path)
    (tmp_path / "calls.jsonl").write_text("{]\n")
    with pytest.raises(ProbeFailed, match="line 1, not JSON"):
        read_recording(tmp_path)


def test_two_first_looks_of_one_tool_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProbeFailed, match="already has one"):
        read_recording(recorded(tmp_path, [CALLS[0], CALLS[0]]))


NETWORK = {"httpx", "httpcore", "socket", "subprocess", "http", "urllib", "psycopg", "mcp"}


def test_no_module_that_replay_needs_imports_a_client_of_any_kind() -> None:
    package = Path(alfred.__file__).parent
    waiting, seen = ["alfred.probes.replay"], set[str]()
    while waiting:
        module = waiting.pop()
        path = package.joinpath(*module.split(".")[1:]).with_suffix(".py")
        if module in seen or not path.is_file():
            continue
        seen.add(module)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
            assert not {name.split(".")[0] for name in names} & NETWORK, module
            waiting += [name for name in names if name.startswith("alfred.")]
    assert "alfred.probes.toolbox" in seen


def test_importing_replay_loads_no_client() -> None:
    code = (
        "import sys, alfred.probes.replay; "
        "print([m for m in ('httpx', 'httpcore', 'psycopg', 'mcp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
