"""What is claimed of the diagnosis machine, each claim a function over router and counters.

The proof calls them with the installed code, the mutation test with damaged copies of it.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.graph import END

from alfred.engine.attempt import Decide, Step, settle
from alfred.engine.enumeration import Exploration, Row, take
from alfred.graphs.diagnosis import topology as t
from alfred.graphs.diagnosis.proof import diagnosis_machine, explore_diagnosis
from alfred.graphs.diagnosis.state import EVENTS
from tests.diagnosis_world import ScriptedPorts


@dataclass
class Subject:
    """A router and its counters, as installed or damaged; explored once."""

    decide: Decide
    steps: Mapping[str, Step]
    compile: Callable[..., Any]
    _explored: Exploration | None = None

    @property
    def explored(self) -> Exploration:
        if self._explored is None:
            self._explored = explore_diagnosis(
                diagnosis_machine(steps=self.steps, decide=self.decide)
            )
        return self._explored

    def settle(self, node: str, before: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
        return settle(self.steps[node], before, given, self.decide, events=EVENTS)


NOT_STATUSES: tuple[Any, ...] = (None, "", "completed", "SOMETHING", 1, True, ["COMPLETED"], {})
EXPECTED_ROWS = frozenset(
    Row(*line.split())
    for line in f"""
    planner executor executor PLAN_READY
    planner executor executor GAP_PLAN_READY
    planner retry_planner planner PLANNER_INVALID_OUTPUT
    planner retry_planner planner PLANNER_RETRYABLE_FAILED
    planner fallback fallback PLANNER_RETRY_EXHAUSTED
    planner fallback fallback PLANNER_FAILED
    planner fallback fallback PLANNER_STATUS_UNKNOWN
    executor gatekeeper gatekeeper EVIDENCE_COLLECTED
    executor gatekeeper gatekeeper EVIDENCE_PARTIAL
    executor fallback fallback EXECUTOR_FAILED
    executor fallback fallback EXECUTOR_STATUS_UNKNOWN
    gatekeeper verified_input verified_input EVIDENCE_ADMITTED
    gatekeeper fallback fallback GATEKEEPER_REJECTED
    gatekeeper fallback fallback GATEKEEPER_FAILED
    gatekeeper fallback fallback GATEKEEPER_STATUS_UNKNOWN
    verified_input verifier verifier VERIFIED_INPUT_BUILT
    verifier retry_verifier verifier VERIFIER_INVALID_OUTPUT
    verifier retry_verifier verifier VERIFIER_RETRYABLE_FAILED
    verifier fallback fallback VERIFIER_RETRY_EXHAUSTED
    verifier fallback fallback VERIFIER_FAILED
    verifier fallback fallback VERIFIER_STATUS_UNKNOWN
    verifier fallback fallback VERDICT_MISSING
    verifier composer composer VERDICT_PASS
    verifier composer composer VERDICT_REJECT
    verifier evidence_retry evidence_retry LOW_CONFID_EVIDENCE_GAP
    verifier composer composer LOW_CONFID_CEILING
    verifier composer composer LOW_CONFID_NO_GAP
    verifier composer composer LOW_CONFID_RETRY_EXHAUSTED
    evidence_retry planner planner EVIDENCE_GAP_PLANNED
    composer end {END} ANSWER_COMPOSED
    composer retry_composer composer COMPOSER_INVALID_OUTPUT
    composer retry_composer composer COMPOSER_RETRYABLE_FAILED
    composer fallback fallback COMPOSER_RETRY_EXHAUSTED
    composer fallback fallback COMPOSER_FAILED
    composer fallback fallback COMPOSER_STATUS_UNKNOWN
    fallback end {END} *
    """.strip().splitlines()
)
"""The routing table of the design, written out; what is explored must equal it."""


def the_rows_are_the_36_of_the_design(subject: Subject) -> None:
    assert len(EXPECTED_ROWS) == 36
    assert frozenset(subject.explored.rows) == EXPECTED_ROWS


def paths_are_130_and_end_40_composed_and_90_fallen_back(subject: Subject) -> None:
    found = subject.explored
    assert (len(found.paths), found.ends) == (130, {t.COMPOSER: 40, t.FALLBACK: 90})


def the_longest_path_is_one_of_18_and_the_shortest_of_2(subject: Subject) -> None:
    lengths = Counter(map(len, subject.explored.paths))
    assert (max(lengths), lengths[18], min(lengths)) == (18, 1, 2)


def the_normal_path_has_six_nodes(subject: Subject) -> None:
    normal = (t.PLANNER, t.EXECUTOR, t.GATEKEEPER, t.VERIFIED_INPUT, t.VERIFIER, t.COMPOSER)
    assert normal in subject.explored.paths


def each_node_runs_at_most_as_often_as_declared(subject: Subject) -> None:
    assert subject.explored.maxima == dict(t.ENTRIES)
    assert {node: step.entries for node, step in subject.steps.items()} == dict(t.ENTRIES)


def the_measure_falls_on_every_transition(subject: Subject) -> None:
    assert not subject.explored.rising


def every_route_is_mapped(subject: Subject) -> None:
    assert not subject.explored.unmapped


def low_confidence_asks_again_only_with_ceiling_gap_and_budget(subject: Subject) -> None:
    ceilings = ("PASS", "LOW_CONFID", "REJECT", "else", None, 1)
    facts = (
        [{"fact": "a", "verification": "no_evidence"}],
        [{"fact": "a", "verification": "indirect_support"}],
        [
            {"fact": "a", "verification": "direct_support"},
            {"fact": "b", "verification": "no_evidence"},
        ],
        [{"fact": " ", "verification": "no_evidence"}],
        [{"fact": 7, "verification": "no_evidence"}],
        [{"verification": "no_evidence"}],
        [{"fact": "a", "verification": "direct_support"}],
        [{"fact": "a", "verification": "contradicted"}],
        [{"fact": "a", "verification": "else"}],
        [{"fact": "a", "verification": ["no_evidence"]}],
        ["a"],
        [],
        None,
        "no_evidence",
    )
    counts = (0, None, 1, 2, 5, -1, "0", 0.0, False)
    for ceiling, (place, checked), count in itertools.product(ceilings, enumerate(facts), counts):
        state = {
            "verifier_status": "COMPLETED",
            "effective_verdict": "LOW_CONFID",
            "verifier_verdict_ceiling": ceiling,
            "verifier_output": {"facts_checked": checked},
            "evidence_retry_count": count,
        }
        if ceiling != "PASS":
            expected = (t.COMPOSER, t.LOW_CONFID_CEILING)
        elif place > 2:
            expected = (t.COMPOSER, t.LOW_CONFID_NO_GAP)
        elif count is None or (count == 0 and type(count) is int):
            expected = (t.EVIDENCE_RETRY, t.LOW_CONFID_EVIDENCE_GAP)
        else:
            expected = (t.COMPOSER, t.LOW_CONFID_RETRY_EXHAUSTED)
        assert tuple(subject.decide(t.VERIFIER, state)) == expected, state


def an_output_that_is_no_mapping_has_no_gap(subject: Subject) -> None:
    for output in (None, "facts_checked", [1], 3):
        state = {
            "verifier_status": "COMPLETED",
            "effective_verdict": "LOW_CONFID",
            "verifier_verdict_ceiling": "PASS",
            "verifier_output": output,
        }
        assert subject.decide(t.VERIFIER, state).reason == t.LOW_CONFID_NO_GAP


def only_pass_reject_and_low_confidence_lead_to_the_composer(subject: Subject) -> None:
    for word in ("PASS", "REJECT"):
        state = {"verifier_status": "COMPLETED", "effective_verdict": word}
        assert tuple(subject.decide(t.VERIFIER, state)) == (t.COMPOSER, f"VERDICT_{word}")
    for word in NOT_STATUSES:
        state = {"verifier_status": "COMPLETED", "effective_verdict": word}
        assert tuple(subject.decide(t.VERIFIER, state)) == (t.FALLBACK, t.VERDICT_MISSING)


def an_unknown_status_leads_to_the_fallback(subject: Subject) -> None:
    for node in (t.PLANNER, t.EXECUTOR, t.GATEKEEPER, t.VERIFIER, t.COMPOSER):
        reason = f"{node.upper()}_STATUS_UNKNOWN"
        assert tuple(subject.decide(node, {})) == (t.FALLBACK, reason)
        for word in NOT_STATUSES:
            decision = subject.decide(node, {f"{node}_status": word})
            assert tuple(decision) == (t.FALLBACK, reason)


def a_failure_leads_to_the_fallback(subject: Subject) -> None:
    for node in (t.PLANNER, t.EXECUTOR, t.GATEKEEPER, t.VERIFIER, t.COMPOSER):
        decision = subject.decide(node, {f"{node}_status": "FAILED"})
        assert tuple(decision) == (t.FALLBACK, f"{node.upper()}_FAILED")


def a_step_that_has_done_its_work_goes_on(subject: Subject) -> None:
    for node, status, expected in (
        (t.EXECUTOR, "COMPLETED", (t.GATEKEEPER, t.EVIDENCE_COLLECTED)),
        (t.EXECUTOR, "PARTIAL", (t.GATEKEEPER, t.EVIDENCE_PARTIAL)),
        (t.GATEKEEPER, "COMPLETED", (t.VERIFIED_INPUT, t.EVIDENCE_ADMITTED)),
        (t.GATEKEEPER, "REJECTED", (t.FALLBACK, t.GATEKEEPER_REJECTED)),
        (t.VERIFIED_INPUT, "", (t.VERIFIER, t.VERIFIED_INPUT_BUILT)),
        (t.EVIDENCE_RETRY, "", (t.PLANNER, t.EVIDENCE_GAP_PLANNED)),
        (t.COMPOSER, "COMPLETED", (t.END, t.ANSWER_COMPOSED)),
    ):
        assert tuple(subject.decide(node, {f"{node}_status": status})) == expected


def a_technical_failure_is_tried_once_more(subject: Subject) -> None:
    counts = (0, None, 1, 2, 5, -1, "0", 0.0, False)
    for node, status, count in itertools.product(
        (t.PLANNER, t.VERIFIER, t.COMPOSER), ("INVALID_OUTPUT", "RETRYABLE_FAILED"), counts
    ):
        state = {f"{node}_status": status, f"{node}_retry_count": count}
        if count is None or (count == 0 and type(count) is int):
            expected = (f"retry_{node}", f"{node.upper()}_{status}")
        else:
            expected = (t.FALLBACK, f"{node.upper()}_RETRY_EXHAUSTED")
        assert tuple(subject.decide(node, state)) == expected, state


def a_plan_for_gaps_is_named_so(subject: Subject) -> None:
    done = {"planner_status": "COMPLETED"}
    gap = {**done, "planner_mode": "EVIDENCE_GAP_ONLY"}
    assert tuple(subject.decide(t.PLANNER, gap)) == (t.EXECUTOR, t.GAP_PLAN_READY)
    for mode in ("FULL", *NOT_STATUSES):
        state = {**done, "planner_mode": mode}
        assert tuple(subject.decide(t.PLANNER, state)) == (t.EXECUTOR, t.PLAN_READY)


def a_retry_is_counted_when_the_step_is_entered_again(subject: Subject) -> None:
    for node in (t.PLANNER, t.VERIFIER, t.COMPOSER):
        status, counter = f"{node}_status", f"{node}_retry_count"
        for before, expected in (
            ({}, 0),
            ({status: None, counter: 0}, 0),
            ({status: "COMPLETED", counter: 0}, 0),
            ({status: "FAILED", counter: 1}, 1),
            ({status: ["INVALID_OUTPUT"], counter: 0}, 0),
            ({status: "INVALID_OUTPUT"}, 1),
            ({status: "RETRYABLE_FAILED", counter: 0}, 1),
            ({status: "RETRYABLE_FAILED", counter: 1}, 2),
            ({status: "RETRYABLE_FAILED", counter: 3}, 4),
            ({status: "INVALID_OUTPUT", counter: "many"}, 2),
        ):
            update = subject.settle(node, before, {status: "COMPLETED"})
            assert update[counter] == expected, (node, before)


def the_evidence_round_is_counted_and_starts_the_planner_afresh(subject: Subject) -> None:
    for held, expected in ((None, 1), (0, 1), (1, 2), ("x", 2)):
        before = {"evidence_retry_count": held, "planner_retry_count": 1, "planner_mode": "FULL"}
        update = subject.settle(t.EVIDENCE_RETRY, before, {"retry_context": {"a": 1}})
        del update[EVENTS]
        assert update == {
            "retry_context": {"a": 1},
            "evidence_retry_count": expected,
            "planner_retry_count": 0,
            "planner_mode": "EVIDENCE_GAP_ONLY",
        }


def a_technical_retry_leaves_the_evidence_count_alone(subject: Subject) -> None:
    for node in (t.PLANNER, t.VERIFIER, t.COMPOSER):
        update = subject.settle(node, {f"{node}_status": "INVALID_OUTPUT"}, {})
        assert "evidence_retry_count" not in update


def a_new_input_clears_what_the_verifier_said_before(subject: Subject) -> None:
    before = {
        "verifier_status": "RETRYABLE_FAILED",
        "verifier_output": {"facts_checked": [{"fact": "a", "verification": "no_evidence"}]},
        "effective_verdict": "PASS",
        "verifier_retry_count": 1,
    }
    update = subject.settle(t.VERIFIED_INPUT, before, {"verified_input": {"facts": 1}})
    del update[EVENTS]
    assert update == {
        "verified_input": {"facts": 1},
        "verifier_status": None,
        "verifier_output": None,
        "effective_verdict": None,
        "verifier_retry_count": 0,
    }


def what_a_step_does_not_write_is_cleared(subject: Subject) -> None:
    stale = {
        "planner_status": "COMPLETED",
        "planner_output": {"old": 1},
        "executor_status": "COMPLETED",
        "executor_output": {"old": 1},
        "gatekeeper_status": "COMPLETED",
        "gatekeeper_output": {"old": 1},
        "verifier_verdict_ceiling": "PASS",
        "verified_input": {"old": 1},
        "verifier_status": "COMPLETED",
        "verifier_output": {"old": 1},
        "effective_verdict": "PASS",
        "retry_context": {"old": 1},
        "composer_status": "COMPLETED",
        "composer_output": {"old": 1},
        "fallback_output": {"old": 1},
    }
    written: set[str] = set()
    for node, step in subject.steps.items():
        update = subject.settle(node, stale, {})
        assert all(update[key] is None for key in step.writes if key != "tool_trace"), node
        written |= step.writes
        if step.status is not None:
            (event,) = update[EVENTS]
            assert event["outcome"] == "UNKNOWN"
            assert event["reason_code"] == f"{node.upper()}_STATUS_UNKNOWN"
    assert written == {*stale, "tool_trace"}


def calls_of_both_rounds_are_kept_once(subject: Subject) -> None:
    for held, added, expected in (
        (None, [{"id": 1}], [{"id": 1}]),
        ([{"id": 1}], [{"id": 2}], [{"id": 1}, {"id": 2}]),
        ([{"id": 1}], [{"id": 1}, {"id": 2}], [{"id": 1}, {"id": 2}]),
        ([{"id": 1}], None, [{"id": 1}]),
        ("x", "y", []),
    ):
        update = subject.settle(t.EXECUTOR, {"tool_trace": held}, {"tool_trace": added})
        assert update["tool_trace"] == expected


def each_step_reads_and_writes_what_the_design_gives_it(subject: Subject) -> None:
    question = {"run_id", "session_id", "user_query", "incident_context"}
    reads = {node: set(step.reads) for node, step in subject.steps.items()}
    assert reads == {
        t.PLANNER: question | {"planner_mode", "planner_output", "retry_context", "tool_trace"},
        t.EXECUTOR: question | {"planner_mode", "planner_output", "tool_trace"},
        t.GATEKEEPER: {"incident_context", "planner_output", "executor_output", "tool_trace"},
        t.VERIFIED_INPUT: {
            *("user_query", "incident_context", "executor_output", "gatekeeper_output"),
        },
        t.VERIFIER: {"verified_input", "verifier_verdict_ceiling", "verifier_output"},
        t.EVIDENCE_RETRY: {"planner_output", "tool_trace", "verifier_output"},
        t.COMPOSER: question
        | {"verified_input", "verifier_output", "effective_verdict", "tool_trace"}
        | {"composer_output"},
        t.FALLBACK: question
        | {f"{node}_status" for node in (t.PLANNER, t.EXECUTOR, t.GATEKEEPER, t.VERIFIER)}
        | {"composer_status", "gatekeeper_output", "verifier_output", "tool_trace", EVENTS},
    }


def statuses_are_those_of_the_design(subject: Subject) -> None:
    technical = {"COMPLETED", "INVALID_OUTPUT", "RETRYABLE_FAILED", "FAILED"}
    found = {node: (step.status, set(step.statuses)) for node, step in subject.steps.items()}
    assert found == {
        t.PLANNER: ("planner_status", technical),
        t.EXECUTOR: ("executor_status", {"COMPLETED", "PARTIAL", "FAILED"}),
        t.GATEKEEPER: ("gatekeeper_status", {"COMPLETED", "REJECTED", "FAILED"}),
        t.VERIFIED_INPUT: (None, set()),
        t.VERIFIER: ("verifier_status", technical),
        t.EVIDENCE_RETRY: (None, set()),
        t.COMPOSER: ("composer_status", technical),
        t.FALLBACK: (None, set()),
    }


def the_fallback_says_why_it_was_reached(subject: Subject) -> None:
    event = {"node": t.PLANNER, "outcome": "FAILED", "reason_code": "X", "attempt": 1}
    later = {**event, "reason_code": t.PLANNER_FAILED}
    decision = subject.decide(t.FALLBACK, {EVENTS: [event, later]})
    assert tuple(decision) == (t.END, t.PLANNER_FAILED)
    assert subject.decide(t.FALLBACK, {EVENTS: ["x", later]}).reason == t.PLANNER_FAILED
    for events in (None, [later, "x"], [], ["x"], [{}], [{"reason_code": 3}], "x"):
        assert tuple(subject.decide(t.FALLBACK, {EVENTS: events})) == (t.END, t.REASON_LOST)


PURE: tuple[Callable[[Subject], None], ...] = (
    low_confidence_asks_again_only_with_ceiling_gap_and_budget,
    an_output_that_is_no_mapping_has_no_gap,
    only_pass_reject_and_low_confidence_lead_to_the_composer,
    an_unknown_status_leads_to_the_fallback,
    a_failure_leads_to_the_fallback,
    a_step_that_has_done_its_work_goes_on,
    a_technical_failure_is_tried_once_more,
    a_plan_for_gaps_is_named_so,
    a_retry_is_counted_when_the_step_is_entered_again,
    the_evidence_round_is_counted_and_starts_the_planner_afresh,
    a_technical_retry_leaves_the_evidence_count_alone,
    a_new_input_clears_what_the_verifier_said_before,
    what_a_step_does_not_write_is_cleared,
    calls_of_both_rounds_are_kept_once,
    each_step_reads_and_writes_what_the_design_gives_it,
    statuses_are_those_of_the_design,
    the_fallback_says_why_it_was_reached,
    the_rows_are_the_36_of_the_design,
    paths_are_130_and_end_40_composed_and_90_fallen_back,
    the_longest_path_is_one_of_18_and_the_shortest_of_2,
    the_normal_path_has_six_nodes,
    each_node_runs_at_most_as_often_as_declared,
    the_measure_falls_on_every_transition,
    every_route_is_mapped,
)
"""From the cheap ones to those that explore."""


async def every_path_and_row_is_replayed_on_the_compiled_graph(subject: Subject) -> None:
    """Sequence, call counts, final state and events equal those of the pure machine."""
    machine = diagnosis_machine(steps=subject.steps, decide=subject.decide)
    ports = ScriptedPorts(lambda actions: subject.compile(actions, decide=subject.decide))
    deciding = {t.PLANNER, t.EXECUTOR, t.GATEKEEPER, t.VERIFIER, t.COMPOSER}
    assert set(ports.graph.builder.branches) == deciding
    assert ports.graph.config["recursion_limit"] == 32
    complete = dict(subject.explored.paths)
    taken: set[Row] = set()
    for path, script in complete.items():
        state: dict[str, Any] = {"run_id": "r", EVENTS: []}
        for node, outcome in script:
            row, state = take(machine, node, state, outcome)
            taken.add(row)
        final = await ports.replay(script, {"run_id": "r"})
        assert tuple(ports.sequence) == path
        assert ports.calls == Counter(path)
        assert final == state
        assert [event["node"] for event in final[EVENTS]] == list(path)
    for row, script in subject.explored.rows.items():
        if row not in taken:
            await _replay_row(ports, subject, row, script)


async def _replay_row(ports: ScriptedPorts, subject: Subject, row: Row, script: Any) -> None:
    """Reach a row that no path's script happened to take; then let the run end plainly."""
    taken = subject.explored.paths
    done = tuple(node for node, _ in script)
    path, rest = next(
        (path, tail)
        for path, tail in taken.items()
        if path[: len(done)] == done and len(path) > len(done) and path[len(done)] == row.target
    )
    final = await ports.replay((*script, *rest[len(done) :]), {"run_id": "r"})
    event = final[EVENTS][len(done) - 1]
    assert tuple(ports.sequence) == path
    assert (event["node"], event["reason_code"]) == (row.node, row.reason)
