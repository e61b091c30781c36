"""Runs a node over one case exactly as a capture would, except that nothing is stored."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alfred.dispatch.prefilter import Prefilter
from alfred.dispatch.route import choose_domain
from alfred.engine.action import ActionKind
from alfred.engine.approvals import Approvals
from alfred.engine.canonical import derive_id
from alfred.engine.context import ProgressSink, RunContext
from alfred.engine.executor import ActionExecutor
from alfred.engine.grounding import SourceText, ground
from alfred.engine.registry import Registry
from alfred.engine.skill_input import SkillInput
from alfred.engine.state import AlfredState, read_errors, read_events, read_extracted
from alfred.errors import EvaluationRefused, InputRefused
from alfred.evaluation.case_file import Case
from alfred.evaluation.metered_model import Meter, MeteredModel
from alfred.evaluation.score import CaseResult, score_fields
from alfred.evaluation.unstored import NoDatabase, NoJournal
from alfred.inputs.reader import read_input

if TYPE_CHECKING:
    from alfred.graphs.single_node import SingleNode

_OF_THE_ANSWER = ("model.invalid_output", "model.truncated")
"""Failures that say something about the model's answers; they count as not valid."""
_OF_THE_CASE = (*_OF_THE_ANSWER, "model.timeout", "model.refused")
"""Failures that belong to one case; any other would meet the next case too and ends the run."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What a node is measured with: its step, its domain's registry and kinds, the model."""

    node: str
    domain: str
    step: SingleNode
    registry: Registry
    prefilter: Prefilter
    kinds: Mapping[str, ActionKind]
    model: MeteredModel
    on_progress: ProgressSink
    model_timeout_s: float


async def measure(case: Case, bench: Bench) -> CaseResult:
    """Read a case and compare the answer with what is expected.

    Errors: `eval.database` for a node that reads stored rows; `eval.cases` for an input that no
    capture would take; `ModelFailed` where the model itself is missing or out of reach.
    """
    given = _read(case)
    choice = choose_domain(given, bench.prefilter, [bench.domain])
    meter = bench.model.meter = Meter()
    began = time.monotonic()
    state = await bench.step.run(given, list(choice.matched), _context(case, given, bench))
    seconds = time.monotonic() - began
    told = " ".join(read_errors(state))
    for code, failure in meter.failures.items():
        if code not in _OF_THE_CASE and code in told:
            raise failure
    return _result(case, given, state, bench, seconds)


def _read(case: Case) -> SkillInput:
    try:
        return read_input(
            case.content,
            filename=case.filename,
            received_at=case.received_at,
            timezone=case.timezone,
        )
    except InputRefused as refused:
        raise EvaluationRefused(
            "eval.cases",
            f"The case {case.id!r} can't be captured: {refused}",
            hint="Mend or remove it; what is measured so far is kept.",
        ) from refused


def _result(
    case: Case, given: SkillInput, state: AlfredState, bench: Bench, seconds: float
) -> CaseResult:
    out = read_extracted(state, bench.node)
    schema = bench.registry.get(bench.node).output_schema
    evidence = ground(out, schema, SourceText(given["text"]))
    notices = tuple(read_errors(state))
    meter = bench.model.meter
    return CaseResult(
        id=case.id,
        language=case.language,
        fields=score_fields(case.expect, out, evidence),
        valid=not any(code in notice for notice in notices for code in _OF_THE_ANSWER),
        outcome=next((str(event["reason"]) for event in read_events(state)), ""),
        notices=notices,
        calls=meter.calls,
        prompt_tokens=meter.prompt_tokens,
        completion_tokens=meter.completion_tokens,
        model_seconds=round(meter.seconds, 3),
        seconds=round(seconds, 3),
    )


def _context(case: Case, given: SkillInput, bench: Bench) -> RunContext:
    database = NoDatabase(bench.node)
    user_id = derive_id("user", "evaluation")
    return RunContext(
        turn_id=derive_id("evaluation", case.digest),
        user_id=user_id,
        message_id=derive_id("message", case.digest),
        received_at=case.received_at,
        timezone=case.timezone,
        language=given["language"],
        database=database,
        open_model=lambda: bench.model,
        journal=NoJournal(),
        registry=bench.registry,
        kinds=bench.kinds,
        approvals=Approvals(
            database, ActionExecutor(database, bench.kinds), clock=lambda: case.received_at
        ),
        on_progress=bench.on_progress,
        model_timeout_s=bench.model_timeout_s,
    )
