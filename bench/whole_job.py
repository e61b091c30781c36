"""`python -m bench.whole_job`: what a turn costs, beside LangGraph as documented and the floor."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from alfred.cli.session import run
from alfred.installed import load_domains
from alfred.preparation import prepare_database
from alfred.settings import Settings
from alfred.store.address import Address
from alfred.store.embedded import EmbeddedServer
from bench.floor import open_floor
from bench.machine import machine
from bench.measure import Cost, counted, run_round
from bench.model_server import model_server
from bench.reviewed import open_reviewed
from bench.sampling import sampled
from bench.table import print_tables
from bench.variant import Surroundings, Variant

VARIANTS = ("floor", "alfred", "langgraph")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much is measured."""

    turns: int
    rounds: int
    concurrency: Sequence[int]
    variants: Sequence[str]


@click.command()
@click.option("--turns", default=100, show_default=True, help="Turns a round.")
@click.option("--rounds", default=7, show_default=True, help="Rounds; their median counts.")
@click.option("--concurrency", default="1,50", show_default=True, help="Turns at a time.")
@click.option("--only", default=",".join(VARIANTS), show_default=True, help="Which to measure.")
@click.option("--json", "out", type=click.Path(path_type=Path), help="Write the figures there.")
def command(turns: int, rounds: int, concurrency: str, only: str, out: Path | None) -> None:
    """Measure CPU and wall time of a turn: capture, preview, approve, commit.

    Alfred, the same job as LangGraph's documentation has it and the floor take turns, round by
    round, on one PostgreSQL of their own that is removed afterwards. LangGraph's needs the extra
    `bench`: pip install -e ".[bench]".
    """
    plan = Plan(
        turns=turns,
        rounds=rounds,
        concurrency=[int(number) for number in concurrency.split(",")],
        variants=_chosen(only.split(",")),
    )
    with own_database() as (address, home), model_server() as url:
        around = Surroundings(address=address, model_url=url)
        document = run(measure(plan, around, home))
    print_tables(document)
    if out is not None:
        out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _chosen(names: Sequence[str]) -> list[str]:
    if unknown := sorted(set(names) - set(VARIANTS)):
        raise click.UsageError(f"--only {unknown[0]}: choose from {', '.join(VARIANTS)}.")
    if "langgraph" in names and find_spec("langchain_openai") is None:
        click.echo('Without langgraph: pip install -e ".[bench]" installs what it needs.', err=True)
        return [name for name in names if name != "langgraph"]
    return list(names)


@contextmanager
def own_database() -> Generator[tuple[Address, Path]]:
    """Start a durable PostgreSQL in a folder of its own, which goes with it."""
    home = Path(tempfile.mkdtemp(prefix="alfred-bench-", dir="/tmp"))
    home.chmod(0o711)  # run by root, the server is another user's
    try:
        settings = Settings(home=home, user="bench")
        yield prepare_database(settings, load_domains(), lambda _: None), home
    finally:
        EmbeddedServer(home).stop()
        shutil.rmtree(home, ignore_errors=True)


@asynccontextmanager
async def opened(plan: Plan, around: Surroundings, home: Path) -> AsyncGenerator[list[Variant]]:
    """Open the variants to measure."""
    async with AsyncExitStack() as stack:
        variants: list[Variant] = []
        for name in plan.variants:
            if name == "floor":
                variants.append(await stack.enter_async_context(open_floor(around)))
            elif name == "alfred":
                variants.append(await stack.enter_async_context(open_reviewed(around, home)))
            else:
                from bench.documented import open_documented  # noqa: PLC0415 - only where installed

                variants.append(await stack.enter_async_context(open_documented(around)))
        yield variants


async def measure(plan: Plan, around: Surroundings, home: Path) -> dict[str, Any]:
    """Warm up, measure the rounds in turn, then count and profile; return plain JSON."""
    # A cost by variant and concurrency, for each round.
    costs: dict[str, dict[str, list[Cost]]] = {
        name: {str(n): [] for n in plan.concurrency} for name in plan.variants
    }
    async with opened(plan, around, home) as variants:
        for number in range(plan.rounds + 1):
            for variant in variants:
                for concurrency in plan.concurrency:
                    cost = await run_round(
                        variant, around.address, turns=plan.turns, concurrency=concurrency
                    )
                    if number:  # the first round warms up
                        costs[variant.name][str(concurrency)].append(cost)
            click.echo(f"round {number} of {plan.rounds}", err=True)
        found = {
            variant.name: await _look_into(variant, around, plan.turns) for variant in variants
        }
    for name, by_concurrency in costs.items():
        found[name]["cost"] = {n: _summary(rounds) for n, rounds in by_concurrency.items()}
    return {
        "machine": machine(around.address),
        "turns": plan.turns,
        "rounds": plan.rounds,
        "variants": found,
    }


async def _look_into(variant: Variant, around: Surroundings, turns: int) -> dict[str, Any]:
    """Count network waits and statements, and profile: beside the measured rounds, not in them."""
    with counted() as found:
        await run_round(variant, around.address, turns=turns, concurrency=1)
    with sampled() as samples:
        await run_round(variant, around.address, turns=turns, concurrency=1)
    return {
        "network_waits": round(found["waits"] / turns, 1),
        "statements": round(found["statements"] / turns, 1),
        "profile": samples.document(),
    }


def _summary(rounds: Sequence[Cost]) -> dict[str, dict[str, float]]:
    """Give median, lowest and highest of each figure, in milliseconds."""
    summary: dict[str, dict[str, float]] = {}
    for figure in ("python_ms", "postgres_ms", "wall_ms"):
        values = [getattr(cost, figure) for cost in rounds]
        summary[figure] = {
            "median": round(statistics.median(values), 2),
            "low": round(min(values), 2),
            "high": round(max(values), 2),
        }
    return summary


if __name__ == "__main__":
    sys.exit(command())
