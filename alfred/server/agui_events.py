"""What a run tells, in the words of the AG-UI protocol, each as the row that is stored of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast
from uuid import uuid4

from ag_ui.core import (
    PROTOCOL_VERSION,
    BaseEvent,
    CustomEvent,
    Interrupt,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)

from alfred.engine.context import FieldRead
from alfred.engine.proposal import Proposal
from alfred.engine.turn import Turn
from alfred.server.agui_answer import answer_schema

Row = tuple[str, dict[str, Any]]
"""An event's type, and the event as JSON."""
ENDS = frozenset({"RUN_FINISHED", "RUN_ERROR"})


def row_of(event: BaseEvent) -> Row:
    """Write an event down, its text such that PostgreSQL can hold it."""
    body = event.model_dump(mode="json", by_alias=True)
    return str(body["type"]), _storable(body)


def run_started(turn: Turn, run_id: str) -> Row:
    return row_of(
        RunStartedEvent(
            thread_id=str(turn.thread_id), run_id=run_id, protocol_version=PROTOCOL_VERSION
        )
    )


def step_started(node: str) -> Row:
    return row_of(StepStartedEvent(step_name=node))


def step_finished(node: str, reason: str | None) -> Row:
    metadata = {"reason": reason} if reason else None
    return row_of(StepFinishedEvent(step_name=node, metadata=metadata))


def told(text: str) -> Row:
    """Pass on a sentence about work that takes long."""
    return row_of(CustomEvent(name="progress", value={"text": text}))


def state_snapshot(turn: Turn, proposal: Proposal | None) -> Row:
    """Begin with a state that holds no field yet."""
    state = {
        "turn": str(turn.id),
        "state": "running",
        "fields": {},
        "proposal": _brief(proposal) if proposal else None,
    }
    return row_of(StateSnapshotEvent(snapshot=state))


def field_read(read: FieldRead, *, is_first: bool) -> Row:
    """Add a value with its evidence under node and pointer; the first makes the node's place."""
    place = f"/fields/{_token(read.node)}"
    value = {"value": read.value, "evidence": dict(read.evidence)}
    added: dict[str, Any] = {place: {}} if is_first else {}
    return _state_delta({**added, f"{place}/{_token(read.pointer)}": value})


def ended(
    turn: Turn, run_id: str, *, proposal: Proposal | None, reply: str | None
) -> Iterator[Row]:
    """Tell how a run came to rest: at a review, at its end, or at what stopped it."""
    brief = _brief(proposal) if proposal else None
    yield _state_delta({"/state": turn.state, "/proposal": brief})
    if turn.state == "failed":
        yield row_of(RunErrorEvent(message=turn.problem or "The run failed.", code=turn.outcome))
        return
    if reply:
        message_id = str(uuid4())
        yield row_of(TextMessageStartEvent(message_id=message_id, role="assistant"))
        yield row_of(TextMessageContentEvent(message_id=message_id, delta=reply))
        yield row_of(TextMessageEndEvent(message_id=message_id))
    is_asking = turn.state == "waiting" and proposal is not None and proposal.state == "pending"
    outcome = (
        RunFinishedInterruptOutcome(interrupts=[interrupt_for(proposal)])
        if is_asking and proposal is not None
        else RunFinishedSuccessOutcome()
    )
    yield row_of(
        RunFinishedEvent(
            thread_id=str(turn.thread_id),
            run_id=run_id,
            outcome=outcome,
            result={"turn": str(turn.id), "outcome": turn.outcome, "problem": turn.problem},
        )
    )


def left() -> Row:
    """Tell that the run goes on, and nobody of it any more."""
    said = "The stream ends before the run, which goes on."
    return row_of(RunErrorEvent(message=said, code="events.left"))


def interrupt_for(proposal: Proposal) -> Interrupt:
    """Ask for a decision on a proposal; the interrupt's id is the proposal's."""
    return Interrupt(
        id=str(proposal.id),
        reason="review",
        message=f"{len(proposal.actions)} actions are proposed; nothing is written yet.",
        response_schema=answer_schema(proposal),
        expires_at=proposal.expires_at.isoformat(),
        metadata={"digest": proposal.digest, "revision": proposal.revision},
    )


def _brief(proposal: Proposal) -> dict[str, Any]:
    return {
        "id": str(proposal.id),
        "state": proposal.state,
        "digest": proposal.digest,
        "revision": proposal.revision,
    }


def _token(name: str) -> str:
    """Write a name as one token of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def _state_delta(added: Mapping[str, Any]) -> Row:
    """Add values at pointers; what stands there is replaced."""
    delta = [{"op": "add", "path": path, "value": value} for path, value in added.items()]
    return row_of(StateDeltaEvent.model_validate({"delta": delta}))


def _storable(value: Any) -> Any:
    """Put a mark in place of NUL and lone surrogates, which a model may write and JSONB refuses."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {_storable(name): _storable(held) for name, held in fields.items()}
    if isinstance(value, list):
        return [_storable(item) for item in cast("list[Any]", value)]
    return value
