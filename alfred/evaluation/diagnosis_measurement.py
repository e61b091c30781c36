"""Runs the real machine over a recorded case: real nodes, replayed tools, no database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from alfred.engine.action import ActionKind
from alfred.engine.approvals import Approvals
from alfred.engine.canonical import derive_id
from alfred.engine.context import RunContext, unheard
from alfred.engine.executor import ActionExecutor
from alfred.engine.language_model import LanguageModel
from alfred.engine.registry import Registry
from alfred.evaluation.diagnosis_case import DiagnosisCase
from alfred.evaluation.diagnosis_edited_model import EditedModel
from alfred.evaluation.diagnosis_outcome import Cost, DiagnosisOutcome, read_path
from alfred.evaluation.diagnosis_perturbation import EDITED, PlannedRun
from alfred.evaluation.metered_model import Meter, MeteredModel
from alfred.evaluation.unstored import NoDatabase, NoJournal
from alfred.graphs.diagnosis.answer import answer_of, read_object
from alfred.graphs.diagnosis.state import DiagnosisState, State, read_list
from alfred.graphs.diagnosis.unstored_run import run_unstored
from alfred.nodes.diagnosis_context import DiagnosisContext
from alfred.probes.tool_call import ToolCall

SUBJECT = "The diagnosis"
_OF_THE_CASE = ("model.invalid_output", "model.truncated", "model.timeout")
"""Failures that belong to one case; any other would meet the next case too and ends the run."""
_PROMPT_REFUSED = (400, 413, 422)
"""Statuses by which a server refuses what it was asked; by others, such as 401, who asks."""


@dataclass(frozen=True, kw_only=True)
class DiagnosisBench:
    """What a diagnosis is measured with: the nodes' manifests, the kinds, the longest call."""

    registry: Registry
    kinds: Mapping[str, ActionKind]
    model_timeout_s: float


async def measure_diagnosis(
    planned: PlannedRun, model: LanguageModel, bench: DiagnosisBench
) -> DiagnosisOutcome:
    """Run the machine once over a case as it is planned.

    Errors: `ModelFailed` where the model is missing or out of reach, which is no finding about the
    case; a model that answers badly is one.
    """
    case = planned.case
    metered = MeteredModel(model)
    edited = EditedModel(metered)
    asked = edited if planned.perturbation == EDITED else metered
    toolbox = case.recording.toolbox()
    first = await toolbox.first_look(case.window, case.scope)
    context = DiagnosisContext(run=_run_context(case, asked, bench), toolbox=toolbox)
    final = await run_unstored(initial_state(case, first), context)
    _check_model(metered.meter)
    return DiagnosisOutcome(
        answer=answer_of(final),
        path=read_path(final),
        cost=_cost(metered.meter, final),
        dropped=_dropped(final),
        wrong_number=edited.wrong,
    )


def initial_state(case: DiagnosisCase, first: list[ToolCall]) -> DiagnosisState:
    """Begin as a question does: with its words, its window and what the first look saw.

    Neither the case's name nor its truth is in it.
    """
    run_id = str(derive_id("evaluation", case.question, case.window.end.isoformat()))
    calls: list[dict[str, Any]] = [{**call, "milliseconds": 0} for call in first]
    return {
        "run_id": run_id,
        "session_id": run_id,
        "user_query": case.question,
        "incident_context": {
            "language": case.language,
            "scope": dict(case.scope),
            "window": {
                "start": case.window.start.isoformat(),
                "end": case.window.end.isoformat(),
            },
            "as_of": case.window.end.isoformat(),
            "alerts": [
                line for call in first if call["kind"] == "alerts" for line in call["lines"]
            ],
            "guidance": [],
            "previous": None,
        },
        "tool_trace": calls,
    }


def _cost(meter: Meter, final: State) -> Cost:
    return Cost(
        tool_calls=len(final.get("tool_trace") or ()),
        model_calls=meter.calls,
        prompt_tokens=meter.prompt_tokens,
        completion_tokens=meter.completion_tokens,
        seconds=round(meter.seconds, 3),
    )


def _dropped(final: State) -> tuple[str, ...]:
    composed = read_object(final, "composer_output")
    return tuple(str(each["text"]) for each in read_list(composed, "dropped"))


def _check_model(meter: Meter) -> None:
    for code, failure in meter.failures.items():
        is_of_prompt = failure.details.get("status") in _PROMPT_REFUSED
        if code not in _OF_THE_CASE and not (code == "model.refused" and is_of_prompt):
            raise failure


def _run_context(case: DiagnosisCase, model: LanguageModel, bench: DiagnosisBench) -> RunContext:
    database = NoDatabase(SUBJECT)
    moment = case.window.end
    executor = ActionExecutor(database, bench.kinds)
    return RunContext(
        turn_id=derive_id("evaluation", case.question),
        user_id=derive_id("user", "evaluation"),
        message_id=derive_id("message", case.question),
        received_at=moment,
        timezone="UTC",
        language=case.language,
        database=database,
        open_model=lambda: model,
        journal=NoJournal(),
        registry=bench.registry,
        kinds=bench.kinds,
        approvals=Approvals(database, executor, clock=lambda: moment),
        on_progress=unheard,
        model_timeout_s=bench.model_timeout_s,
    )
