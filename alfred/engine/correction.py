"""A correction in words: what a person says is wrong with a proposal, kept beside the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict, cast
from uuid import UUID

from alfred.engine.action import Action, unstorable
from alfred.engine.canonical import digest
from alfred.engine.database import Connection
from alfred.engine.ledger import Actor, Entry, append_entries, set_proposal_state
from alfred.engine.proposal import Proposal
from alfred.engine.state import AlfredState, read_answer
from alfred.errors import ReviewRefused

MAX_CORRECTIONS = 4
"""How often the proposals of one turn may be corrected; the graph's loop has the same budget."""
MAX_CHARS = 2000


class ShownAction(TypedDict):
    """An action of the corrected proposal, as the person saw it.

    `number` is its ordinal; `args` are the arguments after the person's edits, `proposed` those
    before. `is_rejected` where it was rejected for itself, and did not only fall with another;
    `is_needed` where others depend on it.
    """

    id: str
    number: int
    node: str
    kind: str
    is_rejected: bool
    is_needed: bool
    args: dict[str, Any]
    proposed: dict[str, Any]


class Correction(TypedDict):
    """What the turn's next attempt has to answer, as the state carries it.

    `attempt` is the one that answers it. `words` holds every correction of the turn, the oldest
    first. `shown` are the actions of the corrected proposal, `discarded` and `restored` the ids of
    those of which the words themselves say so, and `rest` is what else the words say.
    `concerned` names the nodes that are asked again; the others keep their answers. `unclear` is
    what the words discard besides.
    """

    attempt: int
    words: list[str]
    shown: list[ShownAction]
    discarded: list[str]
    restored: list[str]
    rest: str
    unclear: list[str]
    concerned: list[str]


class HeldAnswer(TypedDict):
    """What an instance answered, before its actions were made of it.

    `prompt` names what it was asked, and is empty where no model was.
    """

    prompt: str
    out: dict[str, Any]
    notes: list[str]


def correction_of(state: AlfredState) -> Correction | None:
    """Return what this attempt answers; None before the first correction."""
    return cast("Correction | None", state.get("correction"))


def spoken(state: AlfredState) -> list[str]:
    """Return what the person said so far about this turn's proposals, the oldest first."""
    correction = correction_of(state)
    return correction["words"] if correction else []


def is_concerned(state: AlfredState, instance: str) -> bool:
    """Say whether an instance is asked again with the person's words."""
    correction = correction_of(state)
    return correction is not None and instance in correction["concerned"]


def held_answer(state: AlfredState, instance: str) -> HeldAnswer | None:
    """Return an instance's answer of an earlier attempt; None before the first correction."""
    if correction_of(state) is None:
        return None
    return cast("HeldAnswer | None", read_answer(state, instance))


def require_words(words: str) -> None:
    """Refuse words that say nothing, that are too many, or that can't be stored."""
    reason = ""
    if not any(char.isalnum() for char in words):
        reason = "holds no words"
    elif len(words) > MAX_CHARS:
        reason = f"has {len(words):,} characters; at most {MAX_CHARS:,} are read"
    elif unfit := unstorable(words):
        reason = unfit
    if reason:
        raise ReviewRefused(
            "review.words",
            f"The correction {reason}.",
            hint="Say in a few sentences what is wrong; a new text is captured instead.",
        )


def require_correctable(proposal: Proposal) -> None:
    """Refuse a proposal that no node made, or whose turn was corrected as often as it may be."""
    reason = ""
    if not proposal.manifests:
        reason = "No node made this proposal, so that there is none to answer a correction"
    elif proposal.attempt >= MAX_CORRECTIONS:
        reason = f"This was corrected in words {MAX_CORRECTIONS} times already"
    if reason:
        raise ReviewRefused(
            "review.uncorrectable", f"{reason}.", hint="Edit values with --set, or reject it."
        )


async def record_correction(
    connection: Connection, proposal: Proposal, words: str, actor: Actor
) -> None:
    """Write a correction into the ledger; nothing of the proposal can be decided any more.

    Errors: `review.conflict` if another decision was faster.
    """
    await set_proposal_state(connection, proposal, "corrected", closed=False)
    entry = Entry(kind="corrected", digest=digest(words), body={"words": words})
    await append_entries(connection, proposal, actor, [entry])


async def is_recorded(connection: Connection, proposal: Proposal, words: str) -> bool:
    """Say whether these very words were recorded already: then they are a repeat."""
    cursor = await connection.execute(
        "SELECT FROM ledger_entry WHERE proposal_id = %s AND kind = 'corrected' AND digest = %s",
        (proposal.id, digest(words)),
    )
    return await cursor.fetchone() is not None


async def read_words(connection: Connection, proposal_id: UUID) -> str:
    """Read the words of a proposal's correction; empty where they were erased meanwhile."""
    cursor = await connection.execute(
        "SELECT body FROM ledger_entry JOIN ledger_payload USING (user_id, seq)"
        " WHERE proposal_id = %s AND kind = 'corrected'",
        (proposal_id,),
    )
    row = await cursor.fetchone()
    return row["body"].get("words", "") if row else ""


def shown_actions(proposal: Proposal, proposed: Sequence[Action]) -> list[ShownAction]:
    """Put together what the person saw and what the nodes had proposed, before any edit."""
    before = {action["id"]: action["args"] for action in proposed}
    rejected = {action.id for action in proposal.in_state("rejected")}
    return [
        {
            "id": str(action.id),
            "number": action.ordinal,
            "node": action.node,
            "kind": action.kind,
            "is_needed": bool(proposal.dependents([action.id])),
            "is_rejected": action.id in rejected and rejected.isdisjoint(action.depends_on),
            "args": dict(action.args),
            "proposed": dict(before.get(str(action.id), action.args)),
        }
        for action in proposal.actions
    ]
