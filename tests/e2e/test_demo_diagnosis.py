"""The system that `make demo-diagnosis` starts, and the demonstration itself, really run."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from alfred.store.address import Address
from demo.diagnosis.history import FAULTS
from demo.diagnosis.prometheus import fetch_prometheus, find_prometheus
from demo.diagnosis.recorded import move_times
from demo.diagnosis.system import System, SystemFailed, running_system
from tests.conftest import Answer, Asked, LocalServer, Reply
from tests.shell import Shell, completion, url_of

ROOT = Path(__file__).parents[2]
DEMO = [sys.executable, "-m", "demo.diagnosis.run"]
HEALTHY_S = 12.0
WITHIN_S = 600.0
FIGURES = {
    "p99_s": "histogram_quantile(0.99, sum by (le) "
    "(rate(checkout_request_duration_seconds_bucket[5s])))",
    "query_s": "rate(checkout_query_duration_seconds_sum[5s])"
    " / rate(checkout_query_duration_seconds_count[5s])",
    "pool_size": "checkout_pool_size",
    "pool_in_use": "checkout_pool_connections_in_use",
    "waiters": "checkout_pool_waiters",
    "basket_bytes": "checkout_basket_bytes",
}


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What was observed of one system, before and after its fault."""

    healthy_alerts: list[str]
    healthy: Mapping[str, float | None]
    healthy_log: str
    commit: str
    moment: datetime
    alerts: list[str]
    broken: Mapping[str, float | None]
    log: str
    history: list[str]
    deploys: str
    ports: tuple[int, int]
    folder: Path


@pytest.fixture(scope="session")
def prometheus() -> Path:
    """Find Prometheus, or fetch Debian's package into a folder that later runs find again."""
    found = find_prometheus() or fetch_prometheus()
    assert found is not None, "Prometheus needs apt-get and Debian's packages here"
    return found


@pytest.fixture(scope="module")
def seen(prometheus: Path) -> Mapping[str, Seen]:
    """Run a system for each fault, all at once."""
    with ThreadPoolExecutor(len(FAULTS)) as threads:
        found = threads.map(lambda name: observe(prometheus, name), FAULTS)
        return dict(zip(FAULTS, found, strict=True))


def observe(prometheus: Path, name: str) -> Seen:
    fault = FAULTS[name]
    with running_system(prometheus) as system:
        log = system.folder / "checkout.log"
        time.sleep(HEALTHY_S)
        before = (system.firing(), figures(system), log.read_text())
        commit, moment = system.break_it(fault)
        system.wait_for_alerts(fault.alerts)
        git = ["git", "-C", str(system.repository), "log", "--format=%h %ct %s"]
        return Seen(
            healthy_alerts=before[0],
            healthy=before[1],
            healthy_log=before[2],
            commit=commit,
            moment=moment,
            alerts=system.firing(),
            broken=figures(system),
            log=log.read_text()[len(before[2]) :],
            history=subprocess.run(git, capture_output=True, text=True, check=True).stdout.split(
                "\n"
            )[:-1],
            deploys=(system.folder / "deploys.jsonl").read_text(),
            ports=(system.service_port, system.prometheus_port),
            folder=system.folder,
        )


def figures(system: System) -> dict[str, float | None]:
    return {name: system.value(query) for name, query in FIGURES.items()}


@pytest.mark.parametrize("name", FAULTS)
def test_nothing_fires_while_the_system_is_healthy(seen: Mapping[str, Seen], name: str) -> None:
    assert seen[name].healthy_alerts == []
    assert seen[name].healthy["pool_size"] == 20
    assert seen[name].healthy["waiters"] == 0
    assert seen[name].healthy["p99_s"] is not None
    assert seen[name].healthy["p99_s"] < 0.5
    assert "INFO checkout order 1 placed in" in seen[name].healthy_log
    assert "ERROR" not in seen[name].healthy_log


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fires_its_alerts_and_no_others(seen: Mapping[str, Seen], name: str) -> None:
    assert tuple(seen[name].alerts) == FAULTS[name].alerts


@pytest.mark.parametrize("name", FAULTS)
def test_the_guilty_change_is_one_commit_of_several_at_the_time_of_the_fault(
    seen: Mapping[str, Seen], name: str
) -> None:
    newest, *others = seen[name].history
    when = int(seen[name].moment.timestamp())
    assert newest == f"{seen[name].commit} {when} {FAULTS[name].commit.subject}"
    assert len(others) == 5
    assert seen[name].commit in seen[name].deploys


def test_a_pool_that_is_too_small_makes_requests_wait_and_fail(seen: Mapping[str, Seen]) -> None:
    broken = seen["pool"].broken
    assert (broken["pool_size"], broken["pool_in_use"]) == (2, 2)
    assert (broken["waiters"] or 0) > 10
    assert (broken["query_s"] or 9) < 0.3
    assert "configuration loaded: pool_size=2" in seen["pool"].log
    assert "failed: no database connection came free in 2" in seen["pool"].log


def test_a_dropped_index_makes_queries_slow_and_nobody_wait(seen: Mapping[str, Seen]) -> None:
    broken = seen["slow_query"].broken
    assert (broken["pool_size"], broken["waiters"]) == (20, 0)
    assert (broken["query_s"] or 0) > 0.5
    assert "WARNING checkout slow query for order" in seen["slow_query"].log


def test_a_cache_without_a_limit_grows(seen: Mapping[str, Seen]) -> None:
    assert (seen["leak"].broken["basket_bytes"] or 0) > 6e7
    assert "baskets, 60 MB, without a limit" in seen["leak"].log


def test_nothing_runs_or_stays_afterwards(seen: Mapping[str, Seen]) -> None:
    for system in seen.values():
        assert not system.folder.exists()
        assert [answers(port) for port in system.ports] == [False, False]


def test_a_part_that_does_not_start_is_named_and_nothing_stays(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "prometheus"
    folder = tmp_path / "system"
    with (
        pytest.raises(SystemFailed, match="prometheus ended by itself"),
        running_system(missing, folder),
    ):
        raise AssertionError("it must not start")
    scraped = re.findall(r"127\.0\.0\.1:(\d+)", (folder / "prometheus.yml").read_text())
    assert not any(answers(int(port)) for port in scraped)


@dataclass(frozen=True)
class Begun:
    """A demonstration whose system is up."""

    program: subprocess.Popen[str]
    output: str
    ports: list[int]
    folder: Path


@pytest.fixture
def begun(prometheus: Path, tmp_path: Path) -> Iterator[Begun]:
    """Begin the demonstration, with a model that is somewhere else and never asked."""
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("ALFRED_")},
        "ALFRED_HOME": str(tmp_path / "home"),
        "ALFRED_MODEL": "http://127.0.0.1:9/v1#nobody",
        "TMPDIR": str(tmp_path),
    }
    program = subprocess.Popen(
        [*DEMO, "--healthy", "300"],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with program:
        output = ""
        while "figures" not in output:
            assert program.stdout is not None
            line = program.stdout.readline()
            assert line, output
            output += line
        ports = [int(port) for port in re.findall(r"http://127\.0\.0\.1:(\d+)", output)]
        (folder,) = tmp_path.glob("alfred-checkout-*")
        yield Begun(program, output, ports, folder)
        program.kill()


@pytest.mark.parametrize(("told", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_demonstration_leaves_nothing(
    begun: Begun, told: signal.Signals, code: int
) -> None:
    assert [answers(port) for port in begun.ports] == [True, True]
    begun.program.send_signal(told)
    assert begun.program.wait(15) == code
    assert [answers(port) for port in begun.ports] == [False, False]
    assert not begun.folder.exists()


def test_the_system_ends_with_a_demonstration_that_is_killed(begun: Begun) -> None:
    begun.program.kill()
    end = time.monotonic() + 15
    while any(answers(port) for port in begun.ports):
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("firing since 23:50:10Z, 0.4", "firing since 00:20:10Z, 0.4"),
        ("2026-03-01T23:50:10Z c81f0aa", "2026-03-02T00:20:10Z c81f0aa"),
        ("at 2026-03-01T23:50:10.120Z INFO", "at 2026-03-02T00:20:10.120Z INFO"),
        ("2026-03-01T23:50:10.123456+00:00", "2026-03-02T00:20:10.123456+00:00"),
        ("127.0.0.1:10:20 in 20 ms, 10:20", "127.0.0.1:10:20 in 20 ms, 10:20"),
    ],
)
def test_the_times_of_a_recording_move_and_nothing_else(text: str, moved: str) -> None:
    assert move_times(text, timedelta(minutes=30)) == moved


def answers(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def answer(asked: Asked) -> Reply:
    """Answer as a good model would, from nothing but the prompt."""
    system, user = (message["content"] for message in asked.json()["messages"][:2])
    commit = re.search(r"commit ([0-9a-f]{12}) config/checkout.toml: pool_size: 20 -> 2", user)
    assert commit is not None, user
    facts = re.findall(r"\b(F\d+)\b(.*)", user.rpartition("Facts:")[2])
    cause = [fact for fact, said in facts if commit[0] in said]
    answers: dict[str, dict[str, Any]] = {
        "planner": {
            "steps": [
                {"tool": "metric", "arguments": {"name": name}, "expects": "what waits"}
                for name in ("pool_waiters", "query_seconds", "pool_used_share")
            ]
        },
        "executor": {
            "claims": [{"fact": commit[0], "role": "cause", "evidence": ["E2"]}],
            "more": None,
        },
        "verifier": {
            "facts": {
                fact: {
                    "verification": "direct_support",
                    "evidence": ["E2" if fact in cause else "E1"],
                }
                for fact, _ in facts
            },
            "verdict": "PASS",
        },
        "composer": {
            "sentences": [
                {"text": f"The cause is commit {commit[1]}: pool_size: 20 -> 2.", "facts": cause}
            ]
        },
    }
    node = system.splitlines()[0].removeprefix("Alfred · ")
    return Reply(kind="text/event-stream", body=completion(answers[node]))


@pytest.fixture
def environment(
    database: Address, tmp_path: Path, serve: Callable[[Answer], LocalServer]
) -> dict[str, str]:
    """Give a user of the demonstration, whose model is a server that answers well."""
    return {
        **{k: v for k, v in os.environ.items() if not k.startswith("ALFRED_")},
        "ALFRED_HOME": str(tmp_path / "home"),
        "ALFRED_DATABASE_URL": url_of(database),
        "ALFRED_MODEL": f"{serve(answer).url}/v1#scripted",
        "ALFRED_USER": f"user-{uuid4()}",
        "TMPDIR": str(tmp_path),
        "COLUMNS": "200",
    }


def demonstrate(environment: dict[str, str], *options: str) -> str:
    """Run the demonstration to its end; return what it printed."""
    program = subprocess.Popen(
        [*DEMO, *options],
        env=environment,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        printed, _ = program.communicate(timeout=WITHIN_S)
    except subprocess.TimeoutExpired:
        program.terminate()  # it then stops what it started
        printed, _ = program.communicate()
    assert program.returncode == 0, printed
    assert "Traceback" not in printed
    return printed


def test_a_good_model_finds_the_guilty_commit_and_the_note_is_written(
    environment: dict[str, str], prometheus: Path
) -> None:
    printed = demonstrate(environment, "--healthy", "8", "--yes")
    told = printed.partition("3. Alfred is asked")[2]
    said, _, truth = told.partition("4. What it was.")
    commit = re.findall(r"commit (\w+): Use fewer database connections during the move", truth)[0]
    assert f"The cause is commit {commit}" in said
    assert "CheckoutLatencyHigh" in said
    assert "Path:" in said
    notes = Shell(environment).json("pending")
    assert notes["proposals"] == []


def test_without_git_and_prometheus_a_recorded_run_is_replayed_and_says_so(
    environment: dict[str, str], tmp_path: Path
) -> None:
    printed = demonstrate({**environment, "PATH": str(tmp_path / "empty")})
    assert "a recorded run of the same system is replayed" in printed
    assert re.search(r"The cause is commit [0-9a-f]{12}: pool_size: 20 -> 2", printed)
    assert "waits for a decision" in printed
