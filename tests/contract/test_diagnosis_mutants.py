"""A damaged router, counter or state read is noticed: no claim of the proof is idle."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests import diagnosis_claims as claims
from tests.diagnosis_claims import (
    PURE,
    Subject,
    every_path_and_row_is_replayed_on_the_compiled_graph,
)
from tests.diagnosis_mutants import Mutant, by_hand, by_swapped_names, by_tool, loaded
from tests.diagnosis_world import UnexpectedCallError

NAMED: list[tuple[Mutant, Callable[[Subject], None]]] = [
    (
        by_hand(
            "topology",
            "two technical retries",
            "MAX_TECHNICAL_RETRIES: Final = 1",
            "MAX_TECHNICAL_RETRIES: Final = 2",
        ),
        claims.the_longest_path_is_one_of_18_and_the_shortest_of_2,
    ),
    (
        by_hand(
            "topology",
            "two evidence retries",
            "MAX_EVIDENCE_RETRIES: Final = 1",
            "MAX_EVIDENCE_RETRIES: Final = 2",
        ),
        claims.the_longest_path_is_one_of_18_and_the_shortest_of_2,
    ),
    (
        by_hand(
            "router",
            "a guard that ignores the ceiling",
            'if read_verdict(state, "verifier_verdict_ceiling") is not Verdict.PASS:',
            "if False:",
        ),
        claims.low_confidence_asks_again_only_with_ceiling_gap_and_budget,
    ),
    (
        by_hand(
            "router",
            "a missing ceiling taken for PASS",
            'if read_verdict(state, "verifier_verdict_ceiling") is not Verdict.PASS:',
            'if read_verdict(state, "verifier_verdict_ceiling") not in (Verdict.PASS, None):',
        ),
        claims.low_confidence_asks_again_only_with_ceiling_gap_and_budget,
    ),
    (
        by_hand("router", "a guard that ignores the gap", "if not has_gap_fact(state):", "if 0:"),
        claims.low_confidence_asks_again_only_with_ceiling_gap_and_budget,
    ),
    (
        by_hand(
            "factory",
            "a stale verdict",
            '        "effective_verdict": None,\n',
            "",
        ),
        claims.a_new_input_clears_what_the_verifier_said_before,
    ),
    (
        by_hand("factory", "a stale status", '        "verifier_status": None,\n', ""),
        claims.a_new_input_clears_what_the_verifier_said_before,
    ),
    (
        by_hand(
            "router",
            "an executor failure that falls open",
            "return Decision(t.FALLBACK, t.EXECUTOR_FAILED)",
            "return Decision(t.GATEKEEPER, t.EXECUTOR_FAILED)",
        ),
        claims.a_failure_leads_to_the_fallback,
    ),
    (
        by_hand(
            "factory",
            "a second round that does not reset the planner",
            '        "planner_retry_count": 0,\n',
            "",
        ),
        claims.the_evidence_round_is_counted_and_starts_the_planner_afresh,
    ),
    (
        by_hand(
            "factory",
            "an input that does not reset the verifier",
            '        "verifier_retry_count": 0,\n',
            "",
        ),
        claims.a_new_input_clears_what_the_verifier_said_before,
    ),
    (
        by_hand(
            "factory",
            "an evidence round nobody counts",
            'held + 1,\n        "planner',
            'held,\n        "planner',
        ),
        claims.the_evidence_round_is_counted_and_starts_the_planner_afresh,
    ),
]
"""The mistakes that are easily made, each with the claim that names it."""

EQUIVALENT = {
    "!= Verdict.PASS": "members of an enum are equal exactly where they are identical",
    "== PlannerMode.EVIDENCE_GAP_ONLY": "the same",
    "<= PlannerMode.EVIDENCE_GAP_ONLY": "the other mode's word sorts behind it",
    "len(targets) <= 1": "every node has a target",
}
"""Mutants that say the same, by what they were changed to, and why."""


@pytest.mark.parametrize(("mutant", "claim"), NAMED, ids=[mutant.name for mutant, _ in NAMED])
def test_a_mistake_easily_made_is_caught_by_the_claim_that_names_it(
    mutant: Mutant, claim: Callable[[Subject], None]
) -> None:
    with loaded(mutant) as subject, pytest.raises(AssertionError):
        claim(subject)


@pytest.mark.parametrize(
    ("name", "longest"), [("two technical retries", 23), ("two evidence retries", 26)]
)
def test_the_recursion_limit_would_not_notice_a_guard_that_lets_through(
    name: str, longest: int
) -> None:
    with loaded(mutant_named(name)) as subject:
        assert subject.explored.longest == longest < 32


@pytest.mark.parametrize(
    "name",
    [
        "a guard that ignores the ceiling",
        "a guard that ignores the gap",
        "a stale status",
        "an executor failure that falls open",
    ],
)
def test_the_figures_alone_would_not_notice_these_mistakes(name: str) -> None:
    with loaded(mutant_named(name)) as subject:
        assert (len(subject.explored.paths), subject.explored.longest) == (130, 18)


@pytest.mark.parametrize("module", ["router", "factory", "state"])
async def test_every_mutant_that_a_tool_makes_is_caught(module: str) -> None:
    survivors = [m.name for m in by_tool(module) if not await _is_caught(m)]
    assert [name for name in survivors if not _is_equivalent(name)] == []


@pytest.mark.parametrize("module", ["router", "factory"])
async def test_every_swapped_route_or_reason_is_caught(module: str) -> None:
    assert [m.name for m in by_swapped_names(module) if not await _is_caught(m)] == []


def mutant_named(name: str) -> Mutant:
    return next(mutant for mutant, _ in NAMED if mutant.name == name)


def _is_equivalent(name: str) -> bool:
    return any(same in name for same in EQUIVALENT)


async def _is_caught(mutant: Mutant) -> bool:
    """Say whether it does not load, or breaks a claim."""
    try:
        with loaded(mutant) as subject:
            for claim in PURE:
                claim(subject)
            await every_path_and_row_is_replayed_on_the_compiled_graph(subject)
    except (Exception, UnexpectedCallError):  # a mutant may break in any way; all of them count
        return True
    return False
