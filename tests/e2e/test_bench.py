"""The benchmark runs from end to end and says what it measured; how much is no test's business."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench.measure import check_rows
from bench.posting import ROWS_PER_TURN, Posting, answer_to
from bench.variant import Variant

ROOT = Path(__file__).parents[2]
WAITS = 100
"""Far above what a turn needs, and far below what it needed when each row travelled alone."""


def test_the_whole_job_is_measured_for_each_variant(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    sizes = ("--turns", "2", "--rounds", "1", "--concurrency", "1,2")
    command = (sys.executable, "-m", "bench.whole_job", *sizes, "--json", str(out))
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(out.read_text(encoding="utf-8"))
    expected = {"floor", "alfred"} | ({"langgraph"} if find_spec("langchain_openai") else set())
    assert set(document["variants"]) == expected
    for name, found in document["variants"].items():
        assert name in done.stdout
        assert set(found["cost"]) == {"1", "2"}
        for cost in found["cost"].values():
            assert cost["python_ms"]["median"] > 0
            assert cost["wall_ms"]["median"] > 0
        assert found["statements"] > 0
    assert 0 < document["variants"]["alfred"]["network_waits"] < WAITS


async def do_nothing(_: Posting) -> None:
    return


def test_a_variant_that_wrote_something_else_stops_the_benchmark() -> None:
    variant = Variant(name="idle", turn=do_nothing, users=())
    before = dict.fromkeys(ROWS_PER_TURN, 0)
    check_rows(variant, before, {table: 2 * n for table, n in ROWS_PER_TURN.items()}, turns=2)
    with pytest.raises(SystemExit, match="idle wrote"):
        check_rows(variant, before, before, turns=1)


def test_the_model_of_the_benchmark_reads_the_posting_it_was_given() -> None:
    answer = json.loads(answer_to(Posting(7).text))
    assert answer["company"] == Posting(7).company
    assert all(each["text"] in Posting(7).text for each in answer["requirements"])
