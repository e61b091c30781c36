"""`python -m bench.first_look`: how long a person waits for the first look of a diagnosis."""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

RECORDED = Path("evals/cases/diagnosis/en-connection-pool")
QUESTION = "Why is basket-api slow since 14:00?"
GOAL_S = 2.0
ALFRED = (sys.executable, "-m", "alfred")


@dataclass(frozen=True, kw_only=True)
class Wait:
    """From the start of a process to the end of its first look; both in seconds."""

    wall_s: float
    cpu_s: float


@click.command()
@click.option("--rounds", default=5, show_default=True, help="Rounds; their median counts.")
def command(rounds: int) -> None:
    """Measure wall and CPU time from the start of `alfred diagnose` to its printed first look.

    Once with a recorded case for tools, once with a Prometheus that nothing answers for, both
    without a database and a model, which the first look does without; beside `alfred --help`.
    """
    with tempfile.TemporaryDirectory(prefix="alfred-") as home:
        measured = measure(Path(home), rounds)
    load, python = os.getloadavg()[0], platform.python_version()
    print(f"{os.cpu_count()} cores, load {load:.1f}, Python {python}; median of {rounds} rounds")
    base = statistics.median(wait.cpu_s for wait in measured["alfred --help"])
    for name, waits in measured.items():
        cpu = statistics.median(wait.cpu_s for wait in waits)
        wall = _spread([wait.wall_s for wait in waits])
        told = _spread([wait.cpu_s for wait in waits])
        print(f"{name}: wall {wall} s, CPU {told} s, {cpu / base:.1f} times alfred --help")
    slowest = max(statistics.median(w.wall_s for w in waits) for waits in measured.values())
    print(f"goal of {GOAL_S:g} s: {'reached' if slowest < GOAL_S else 'NOT reached'}")


def measure(home: Path, rounds: int) -> dict[str, list[Wait]]:
    """Let the variants take turns, so that what else the machine does meets all of them."""
    recorded, down = home / "recorded.yaml", home / "down.yaml"
    recorded.write_text(f"replay: {RECORDED.absolute()}\n", encoding="utf-8")
    down.write_text("prometheus: {url: 'http://127.0.0.1:9'}\n", encoding="utf-8")
    asking = (*ALFRED, "diagnose", QUESTION)
    variants = {
        "alfred --help": ((*ALFRED, "--help"), recorded),
        "recorded tools": (asking, recorded),
        "Prometheus down": (asking, down),
    }
    waits: dict[str, list[Wait]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, (command_, tools) in variants.items():
            waits[name].append(wait_for(command_, _environment(home, tools)))
    return waits


def wait_for(command_: Sequence[str], environment: Mapping[str, str]) -> Wait:
    """Run until the output's first empty line, which ends the first look, or its end."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        command_,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    is_help = command_[-1] == "--help"
    printed = 0
    for line in process.stdout:
        if not line.strip() and not is_help:
            break
        printed += 1
    wall_s = time.monotonic() - began
    process.kill()
    process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not printed:
        raise SystemExit(f"{' '.join(command_[2:])} printed nothing")
    spent = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return Wait(wall_s=wall_s, cpu_s=spent)


def _environment(home: Path, tools: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ALFRED_")}
    own = {
        "ALFRED_HOME": str(home),
        "ALFRED_TOOLS": str(tools),
        "ALFRED_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none",
        "ALFRED_TIMEZONE": "UTC",
        "PYTHONUNBUFFERED": "1",
    }
    return {**kept, **own}


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


if __name__ == "__main__":
    command()
