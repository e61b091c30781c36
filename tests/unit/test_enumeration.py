"""What the exploration of a machine finds wrong, shown on damaged descriptions of a real one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from alfred.engine.attempt import Decision
from alfred.engine.enumeration import Exploration, Machine, explore, figures
from alfred.errors import GraphInvalid
from alfred.graphs.diagnosis import proof
from alfred.graphs.diagnosis import topology as t
from alfred.graphs.diagnosis.router import decide

State = Mapping[str, Any]
MACHINE = proof.diagnosis_machine()


@pytest.fixture(scope="module")
def found() -> Exploration:
    return explore(MACHINE, {})


def problems(machine: Machine) -> list[str]:
    return list(figures(machine, explore(machine, {}), recursion_limit=32).problems)


def test_the_longest_path_needs_a_recursion_limit_above_its_length(found: Exploration) -> None:
    assert figures(MACHINE, found, recursion_limit=19).problems == []
    assert figures(MACHINE, found, recursion_limit=18).problems == [
        "the longest path has 18 node executions; the recursion limit is 18"
    ]


def test_a_node_that_runs_more_often_than_declared_is_named(found: Exploration) -> None:
    planner = replace(MACHINE.steps[t.PLANNER], entries=3)
    lower = replace(MACHINE, steps={**MACHINE.steps, t.PLANNER: planner})
    assert figures(lower, found, recursion_limit=32).problems == [
        "planner runs 4 times on a path; 3 are declared"
    ]


def test_a_measure_that_stands_still_on_a_transition_is_named() -> None:
    def without_retries(node: str, state: State) -> tuple[int, ...]:
        return proof.measure(node, state)[:2]

    found = problems(replace(MACHINE, measure=without_retries))
    assert "the measure does not fall: planner → planner: (1, 7) to (1, 7)" in found
    assert {text.split(": ")[1] for text in found} == {
        f"{node} → {node}" for node in (t.PLANNER, t.VERIFIER, t.COMPOSER)
    }


def test_a_route_that_leads_nowhere_is_named() -> None:
    targets = {**MACHINE.targets, t.FALLBACK: {}}
    found = problems(replace(MACHINE, targets=targets))
    assert "a route leads nowhere: fallback: end" in found


def test_a_machine_of_which_no_path_ends_has_problems_and_no_lengths() -> None:
    found = explore(replace(MACHINE, targets={node: {} for node in MACHINE.targets}), {})
    assert (found.paths, found.longest, found.shortest) == ({}, 0, 0)


def test_a_node_that_no_path_passes_is_named() -> None:
    def never_again(node: str, state: State) -> Decision:
        found = decide(node, state)
        return found._replace(route=t.COMPOSER) if found.route == t.EVIDENCE_RETRY else found

    assert "no path leads through evidence_retry" in problems(replace(MACHINE, decide=never_again))


def test_a_machine_that_never_ends_is_refused_and_not_explored_for_ever() -> None:
    def forever(node: str, state: State) -> Decision:
        found = decide(node, state)
        return Decision(t.RETRY_PLANNER, found.reason) if node == t.PLANNER else found

    with pytest.raises(GraphInvalid, match="more than 100 node executions at 'planner'"):
        explore(replace(MACHINE, decide=forever), {})


def test_what_the_exploration_finds_wrong_is_in_the_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(t, "RECURSION_LIMIT", 18)
    assert len(proof.prove_diagnosis().problems) == 2  # of the declared edges and of the explored
