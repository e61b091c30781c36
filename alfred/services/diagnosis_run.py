"""What a diagnosis records as it goes, without a review: rows are added and never changed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from alfred.engine.action import ActionKind, Arguments, RowId, bounded_json, text, verbatim
from alfred.engine.database import Row
from alfred.engine.writer import Writer
from alfred.services.moment import Moment
from alfred.store.tables.diagnosis import (
    DIAGNOSIS_CALL,
    DIAGNOSIS_CANCEL,
    DIAGNOSIS_END,
    DIAGNOSIS_EVENT,
    DIAGNOSIS_FACT,
    DIAGNOSIS_RUN,
)

_Code = Annotated[str, text(100)]
_EvidenceId = Annotated[str, text(20)]
_Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
_Round = Annotated[int, Field(ge=0, le=10)]


class BeginDiagnosis(Arguments):
    """What is asked and within which time; `run` is the id of the turn that asks."""

    run: RowId
    question: Annotated[str, text(8_000)]
    language: Literal["en", "zh"]
    origin: Literal["ask", "follow_up", "alert"]
    scope: Annotated[dict[str, str], bounded_json(4_000)]
    window_start: Moment
    window_end: Moment
    as_of: Moment
    previous: RowId | None = None


class RecordToolCall(Arguments):
    """A tool's call as its digest covers it; texts are kept untrimmed."""

    run: RowId
    evidence_id: _EvidenceId
    tool: Annotated[str, text(100)]
    kind: Annotated[str, text(40)]
    arguments: Annotated[dict[str, Any], bounded_json(8_000)]
    asked: Annotated[str, verbatim(8_000)]
    where: Annotated[str, verbatim(2_000)]
    start: Annotated[str, text(60)] | None = None
    end: Annotated[str, text(60)] | None = None
    outcome: Literal["ok", "empty", "failed", "timeout", "refused"]
    error: Annotated[str, verbatim(4_000)]
    lines: Annotated[list[str], bounded_json(100_000)]
    truncated: bool
    round: _Round
    milliseconds: _Count
    digest: Annotated[str, text(64)]


class RecordFact(Arguments):
    """A fact as the verifier of one round left it; `evidence` names calls of the run."""

    run: RowId
    round: _Round
    fact_id: _EvidenceId
    fact: Annotated[str, text(4_000)]
    role: Literal["cause", "symptom", "ruled_out", "normal"]
    verification: Literal["direct_support", "indirect_support", "no_evidence", "contradicted"]
    reason: _Code
    evidence: Annotated[list[_EvidenceId], Field(max_length=100)]
    unsupported: Annotated[list[str], bounded_json(8_000)] = Field(default_factory=list[str])


class RecordDiagnosisEvent(Arguments):
    """One execution of a step of the machine; `ordinal` counts the run's events from 1."""

    run: RowId
    ordinal: Annotated[int, Field(ge=1, le=1_000)]
    node: _Code
    outcome: _Code
    reason: _Code
    attempt: Annotated[int, Field(ge=1, le=100)]


class EndDiagnosis(Arguments):
    """How a run ended and what it told; without an answer where it was cut off."""

    run: RowId
    terminal_reason: _Code
    finding: Annotated[str, text(40)] | None = None
    verdict: Annotated[str, text(40)] | None = None
    answer: Annotated[dict[str, Any], bounded_json(1_000_000)]
    trace: Annotated[dict[str, Any], bounded_json(100_000)]
    calls: _Count
    prompt_tokens: _Count
    completion_tokens: _Count
    milliseconds: _Count


class RequestCancel(Arguments):
    """A run that a person wants to stop."""

    run: RowId


async def begin_diagnosis(writer: Writer, args: BeginDiagnosis) -> Row:
    """Record that a turn begins a diagnosis; its row has the turn's id.

    Errors: `action.conflict` without such a turn, `action.reference` without the previous run.
    """
    if args.previous is not None:
        await writer.get(DIAGNOSIS_RUN, args.previous)
    values = {
        **args.model_dump(exclude={"run", "previous"}),
        "id": args.run,
        "previous_id": args.previous,
        "began_at": writer.now,
    }
    return await writer.append(DIAGNOSIS_RUN, values, name=str(args.run))


async def record_tool_call(writer: Writer, args: RecordToolCall) -> Row:
    """Record a call of a tool, once for its evidence id; errors: `action.reference`."""
    values = await _of_run(writer, args.run, args)
    return await writer.append(DIAGNOSIS_CALL, values, name=f"{args.run}/{args.evidence_id}")


async def record_fact(writer: Writer, args: RecordFact) -> Row:
    """Record a verified fact, once in a round; errors: `action.reference`."""
    values = await _of_run(writer, args.run, args)
    return await writer.append(
        DIAGNOSIS_FACT, values, name=f"{args.run}/{args.round}/{args.fact_id}"
    )


async def record_diagnosis_event(writer: Writer, args: RecordDiagnosisEvent) -> Row:
    """Record what one step came to, once for its place in the run; errors: `action.reference`."""
    values = await _of_run(writer, args.run, args)
    return await writer.append(DIAGNOSIS_EVENT, values, name=f"{args.run}/{args.ordinal}")


async def end_diagnosis(writer: Writer, args: EndDiagnosis) -> Row:
    """Record a run's end; the first one stays. Errors: `action.reference`."""
    values = {**await _of_run(writer, args.run, args), "ended_at": writer.now}
    return await writer.append(DIAGNOSIS_END, values, name=str(args.run))


async def request_cancel(writer: Writer, args: RequestCancel) -> Row:
    """Record that a run is to stop; errors: `action.reference`."""
    values = {**await _of_run(writer, args.run, args), "requested_at": writer.now}
    return await writer.append(DIAGNOSIS_CANCEL, values, name=str(args.run))


async def _of_run(writer: Writer, run: RowId, args: Arguments) -> dict[str, Any]:
    """Give the columns of a row of a run that exists."""
    await writer.get(DIAGNOSIS_RUN, run)
    return {**args.model_dump(exclude={"run"}), "run_id": run}


def _lock_run(args: Any) -> list[str]:
    return [f"diagnosis/{args.run}"]


DIAGNOSIS_KINDS = (
    ActionKind(
        arguments=BeginDiagnosis,
        handler=begin_diagnosis,
        locks=_lock_run,
        appends=(DIAGNOSIS_RUN,),
    ),
    ActionKind(
        arguments=RecordToolCall,
        handler=record_tool_call,
        locks=_lock_run,
        appends=(DIAGNOSIS_CALL,),
    ),
    ActionKind(
        arguments=RecordFact, handler=record_fact, locks=_lock_run, appends=(DIAGNOSIS_FACT,)
    ),
    ActionKind(
        arguments=RecordDiagnosisEvent,
        handler=record_diagnosis_event,
        locks=_lock_run,
        appends=(DIAGNOSIS_EVENT,),
    ),
    ActionKind(
        arguments=EndDiagnosis, handler=end_diagnosis, locks=_lock_run, appends=(DIAGNOSIS_END,)
    ),
    ActionKind(
        arguments=RequestCancel,
        handler=request_cancel,
        locks=_lock_run,
        appends=(DIAGNOSIS_CANCEL,),
    ),
)
