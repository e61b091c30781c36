"""What a person is told while a diagnosis goes on: one sentence for each thing that happened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from alfred.engine.context import NodeStep
from alfred.graphs.diagnosis.answer import read_object
from alfred.graphs.diagnosis.state import EVENTS, State, read_list


def told_of(before: State, after: State) -> list[str]:
    """Tell what the step between two states did."""
    events = read_list(after, EVENTS)[len(read_list(before, EVENTS)) :]
    return [sentence for event in events for sentence in _told(event, before, after)]


def steps_between(before: State, after: State) -> list[NodeStep]:
    """Name the nodes that ended between two states, each with its reason."""
    events = read_list(after, EVENTS)[len(read_list(before, EVENTS)) :]
    return [
        NodeStep(node=event["node"], state="finished", reason=event["reason_code"])
        for event in events
    ]


def call_sentence(call: Mapping[str, Any]) -> str:
    """Tell one call of a tool and what came of it."""
    given = " ".join(f"{name}={value}" for name, value in call["arguments"].items())
    found = f"{len(call['lines'])} lines" if call["lines"] else call["error"]
    seconds = call["milliseconds"] / 1000
    told = f"{call['id']} {call['tool']} {given}".strip()
    return f"{told}: {call['outcome']}{f', {found}' if found else ''} ({seconds:.1f} s)"


def _told(event: Mapping[str, Any], before: State, after: State) -> Iterator[str]:
    node, outcome = event["node"], event["outcome"]
    if outcome not in ("COMPLETED", "PARTIAL"):
        yield f"{node}: {outcome} ({event['reason_code']})"
        return
    match node:
        case "planner":
            steps = read_list(read_object(after, "planner_output"), "steps")
            yield f"Plan ({len(steps)} steps):" if steps else "Plan: nothing beyond the first look."
            for number, step in enumerate(steps, 1):
                given = " ".join(f"{name}={value}" for name, value in step["arguments"].items())
                yield f"  {number}. {step['tool']} {given}".rstrip()
        case "executor":
            for call in read_list(after, "tool_trace")[len(read_list(before, "tool_trace")) :]:
                yield f"  {call_sentence(call)}"
            claims = read_list(read_object(after, "executor_output"), "claims")
            yield f"{len(claims)} claims stated."
        case "gatekeeper":
            output = read_object(after, "gatekeeper_output")
            admitted, refused = read_list(output, "admitted"), read_list(output, "refused")
            yield (
                f"Evidence: {len(admitted)} admitted, {len(refused)} refused;"
                f" ceiling {after.get('verifier_verdict_ceiling')}."
            )
        case "verifier":
            yield f"Verdict: {after.get('effective_verdict')}."
        case "evidence_retry":
            yield "Evidence is missing; looking once more."
        case _:
            return
