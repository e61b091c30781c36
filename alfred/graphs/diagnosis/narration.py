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
    found = f"{len(call['lines'])} lines" if call["lines"] else call["error"]
    seconds = call["milliseconds"] / 1000
    outcome = f"{call['outcome']}{f', {found}' if found else ''}"
    return f"{call['id']} {_asked(call)}: {outcome} ({seconds:.1f} s)"


def _told(event: Mapping[str, Any], before: State, after: State) -> Iterator[str]:
    node, outcome = event["node"], event["outcome"]
    if outcome not in ("COMPLETED", "PARTIAL"):
        yield f"{node}: {outcome} ({event['reason_code']})"
        yield from (f"  {problem}" for problem in read_list(_output(node, after), "problems"))
        yield from _refused(before, after) if node == "gatekeeper" else ()
        return
    match node:
        case "planner":
            output = _output(node, after)
            steps = read_list(output, "steps")
            yield f"Plan ({len(steps)} steps):" if steps else "Plan: nothing beyond the first look."
            for number, step in enumerate(steps, 1):
                yield f"  {number}. {_asked(step)}"
            for step in read_list(output, "dropped"):
                yield f"  left out: {_asked(step)}: {step['why']}"
        case "executor":
            for call in read_list(after, "tool_trace")[len(read_list(before, "tool_trace")) :]:
                yield f"  {call_sentence(call)}"
            claims = read_list(_output(node, after), "claims")
            yield f"{len(claims)} claims stated."
        case "gatekeeper":
            output = _output(node, after)
            admitted, refused = read_list(output, "admitted"), read_list(output, "refused")
            yield (
                f"Evidence: {len(admitted)} admitted, {len(refused)} refused;"
                f" ceiling {after.get('verifier_verdict_ceiling')}."
            )
            yield from _refused(before, after)
        case "verifier":
            yield f"Verdict: {after.get('effective_verdict')}."
        case "evidence_retry":
            yield "Evidence is missing; looking once more."
        case _:
            return


def _refused(before: State, after: State) -> Iterator[str]:
    """Tell what is no evidence, and why; what an earlier round refused was told then."""
    told = read_list(_output("gatekeeper", before), "refused")
    for piece in read_list(_output("gatekeeper", after), "refused"):
        if piece not in told:
            yield f"  {piece['id']}: {REFUSALS.get(piece['reason'], piece['reason'])}"


def _output(node: str, state: State) -> dict[str, Any]:
    return read_object(state, f"{node}_output")


def _asked(call: Mapping[str, Any]) -> str:
    given = " ".join(f"{name}={value}" for name, value in call["arguments"].items())
    return f"{call['tool']} {given}".rstrip()


REFUSALS = {
    "NOT_CALLED": "cited, but no tool was asked this.",
    "CALL_FAILED": "no evidence, since the call did not succeed.",
    "DIGEST_MISMATCH": "no evidence, since it was changed after it was recorded.",
    "OUTSIDE_WINDOW": "no evidence, since it lies outside the time that was asked about.",
    "REPEATED": "no further evidence, since it repeats an earlier call.",
    "GUIDANCE_ONLY": "guidance, never evidence.",
}
"""What the gatekeeper's codes mean, by code."""
