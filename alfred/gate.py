"""The review gate alone, inside a LangGraph graph of somebody's own, over tables of their own.

What is proposed is dry-run and recorded with its effects; a person decides; one transaction writes
what was approved, exactly once, if the rows are still as they were shown.
"""

# LangGraph leaves type parameters of its graphs open; what goes in and out is typed here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from inspect import signature
from typing import Any, get_type_hints
from uuid import UUID

from langgraph.config import get_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, interrupt

from alfred.engine.action import Action, ActionKind, Arguments, LockKeys, action_id, text
from alfred.engine.amendment import Edit
from alfred.engine.approvals import Approvals
from alfred.engine.canonical import derive_id
from alfred.engine.database import Role, Row
from alfred.engine.decision_rules import Verdict
from alfred.engine.evidence import Evidence
from alfred.engine.executor import ActionExecutor
from alfred.engine.grounding import SourceText, ground
from alfred.engine.ledger import Actor
from alfred.engine.proposal import Proposal, ProposedAction
from alfred.engine.review import review_intent
from alfred.engine.submission import Submission
from alfred.engine.turn import (
    NewMessage,
    Turn,
    ensure_user,
    finish_turn,
    load_turn,
    store_message,
    turns_due,
)
from alfred.engine.writer import Writer
from alfred.errors import ActionRefused, GraphInvalid, ReviewRefused
from alfred.store.host_rows import HostRows
from alfred.store.one_login import one_login, prepare_ledger
from alfred.store.pools import Pools

__all__ = [
    "Act",
    "ActionRefused",
    "Arguments",
    "Gate",
    "HostRows",
    "Proposal",
    "ProposedAction",
    "ReviewRefused",
    "gate_kind",
    "open_gate",
    "text",
]

_OWNER = derive_id("user", "gate")
"""All rows of a ledger are the gate's; who may decide is the host's to say."""
_NODE = "gate"
Graph = CompiledStateGraph[Any, Any, Any, Any]
Handler = Callable[[HostRows, Any], Awaitable[object]]


@dataclass(frozen=True)
class Act:
    """One write that a graph proposes: the name of a kind, and its arguments as JSON has them."""

    kind: str
    args: Mapping[str, Any]


def gate_kind(handler: Handler, *, locks: LockKeys | None = None) -> ActionKind:
    """Make a kind of action, named like its handler, with the arguments that the handler takes.

    The handler runs in the dry run and in the commit alike: it reads no clock, calls nothing
    outside, and uses nothing random. It refuses with `ActionRefused`. `locks` names what must not
    change meanwhile; without it only one proposal or commit runs at a time.
    Errors: TypeError if the handler's second parameter is not annotated with its `Arguments`.
    """
    hints = get_type_hints(handler)
    taken = [hints.get(parameter) for parameter in signature(handler).parameters]
    arguments = taken[1] if len(taken) == 2 else None
    name = getattr(handler, "__name__", "")
    if not (isinstance(arguments, type) and issubclass(arguments, Arguments)):
        raise TypeError(f"write {name}(rows: HostRows, args: A), with A a subclass of Arguments")

    async def handle(writer: Writer, args: Arguments) -> Row:
        await handler(HostRows(writer), args)
        return {"id": derive_id("act", writer.action_id)}

    return ActionKind(arguments=arguments, handler=handle, locks=locks, name=name)


def _utc_now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def open_gate(
    url: str,
    handlers: Sequence[Handler | ActionKind],
    *,
    schema: str = "alfred_gate",
    clock: Callable[[], datetime] = _utc_now,
) -> AsyncGenerator[Gate]:
    """Open the gate on a PostgreSQL, with its ledger in a schema of its own, made if missing.

    The URL's login needs to create that schema, and to write the host's tables. Each handler is
    one kind of action; see `gate_kind`.
    Errors: `store.url`, `store.privilege`, `store.not_migrated`, those of a connection that fails.
    """
    kinds = [h if isinstance(h, ActionKind) else gate_kind(h) for h in handlers]
    address = one_login(url, schema)
    await asyncio.to_thread(prepare_ledger, address, schema)
    async with Pools(address) as pools:
        await ensure_user(pools, _OWNER, "gate")
        yield Gate(pools, kinds, clock)


class Gate:
    """Proposes inside a graph's nodes, decides outside of it, commits once."""

    def __init__(
        self, pools: Pools, kinds: Sequence[ActionKind], clock: Callable[[], datetime]
    ) -> None:
        executor = ActionExecutor(pools, {kind.name: kind for kind in kinds})
        self._pools, self._clock = pools, clock
        self._approvals = Approvals(pools, executor, clock=clock)

    async def propose(
        self, acts: Sequence[Act], *, key: str = "", source: str = "", attempt: int = 0
    ) -> Proposal:
        """Dry-run what a node proposes and record it; call it in a node of the graph.

        `key` tells apart the requests of one thread of runs, such as messages by their ids; a node
        that runs again for the same request finds its proposal. A higher `attempt` replaces one
        that is still pending. `source` is the text that the arguments should stand in; each gets
        its evidence.
        Errors: `graph.invalid` outside a run that can be resumed; `review.closed` if the request
        was decided already, with other arguments.
        """
        thread = get_config().get("configurable", {}).get("thread_id")
        if thread is None:
            raise GraphInvalid(
                "graph.invalid",
                "The gate was asked in a run that has no thread, so that nothing could resume it.",
                hint='Compile with a checkpointer and pass {"configurable": {"thread_id": …}}.',
            )
        message = self._message(key, str(thread), source)
        await store_message(self._pools, message)
        turn = await self._load_turn(message.turn_id)
        proposal = await self._approvals.propose(
            Submission(
                user_id=_OWNER,
                turn_id=turn.id,
                message_id=turn.message_id,
                attempt=attempt,
                stated_at=turn.received_at,
                manifests={},
                notices=[],
                actions=_actions(turn, attempt, acts),
            )
        )
        await self._note(turn, proposal)
        asked = [(act.kind, dict(act.args)) for act in acts]
        shown = [(action.kind, dict(action.args)) for action in proposal.actions]
        if proposal.closed_at is not None and not proposal.revision and asked != shown:
            raise ReviewRefused(
                "review.closed",
                f"The request {key!r} of the thread {thread!r} is {proposal.state} already, with"
                " other arguments than are proposed now.",
                hint="Give each request of a thread a key of its own.",
            )
        return proposal

    async def review(self, proposal_id: UUID | str) -> Proposal:
        """Pause the run until the proposal is closed; call it first thing in a node of its own.

        What was decided and not written yet is committed here. The run is woken by `resume`.
        """
        proposal = await self.load(proposal_id)
        while proposal.closed_at is None:
            if proposal.state == "pending":
                # On resume this returns at once: what then counts is the ledger alone.
                interrupt(dict(review_intent(proposal)))
            else:
                await self._commit(proposal)
            proposal = await self.load(proposal_id)
        return proposal

    async def load(self, proposal_id: UUID | str) -> Proposal:
        """Read a proposal with its actions and their effects; errors: `review.unknown`."""
        return await self._approvals.load(_OWNER, UUID(str(proposal_id)))

    async def pending(self) -> list[Proposal]:
        """List what waits for a decision, the oldest first."""
        async with self._pools.transaction(Role.READER, _OWNER) as connection:
            cursor = await connection.execute(
                "SELECT id FROM proposal WHERE state = 'pending' ORDER BY created_at, id"
            )
            found = await cursor.fetchall()
        return [await self.load(row["id"]) for row in found]

    async def decide(
        self, proposal: Proposal, verdicts: Verdict | Mapping[UUID, Verdict], *, by: str
    ) -> Proposal:
        """Approve or reject all actions of a proposal as it was shown, or some; commit the last.

        `by` is who decides; the gate asks nobody whether they may. Errors: `review.stale` if the
        rows changed since, with the proposal as it is now in `details["proposal"]`; the other codes
        of `ReviewRefused`. Then nothing is written.
        """
        if isinstance(verdicts, str):
            verdicts = {action.id: verdicts for action in proposal.actions}
        actor = await self._actor(by)
        decided = await self._approvals.decide(
            proposal.id, verdicts, seen=proposal.digest, actor=actor
        )
        if decided.state in ("approved", "rejected"):
            await self._approvals.commit(_OWNER, proposal.id)
        return await self.load(proposal.id)

    async def amend(
        self, proposal: Proposal, edits: Mapping[UUID, Mapping[str, Any]], *, by: str
    ) -> Proposal:
        """Change arguments of actions; what comes back has the new effects, to be decided.

        Errors: `review.edit` with the JSON pointer of each value that does not fit.
        """
        given = {action: Edit(args=args) for action, args in edits.items()}
        actor = await self._actor(by)
        return await self._approvals.amend(proposal.id, given, seen=proposal.digest, actor=actor)

    async def resume(self, graph: Graph, proposal: Proposal, *, context: Any = None) -> Any:
        """Let the run that waits for a decided proposal go on; return its state's values.

        Safe to repeat, and from several processes: a run that has ended is left alone.
        Errors: `review.undecided`; `review.stale`.
        """
        if proposal.closed_at is None:
            await self._approvals.commit(_OWNER, proposal.id)
            proposal = await self.load(proposal.id)
        turn = await self._load_turn(proposal.turn_id)
        config: Any = {"configurable": {"thread_id": turn.source}}
        async with self._alone(turn):
            snapshot = await graph.aget_state(config)
            waiting = [i.id for i in snapshot.interrupts if _asks_for(i.value, proposal)]
            if waiting:
                wake: Any = Command(resume={waiting[0]: True})
                await graph.ainvoke(wake, config, context=context)
            elif snapshot.next and not snapshot.interrupts:  # it was killed on its way
                await graph.ainvoke(None, config, context=context)
            await self._note(turn, proposal)
        return (await graph.aget_state(config)).values

    async def drain(self, graph: Graph, *, context: Any = None) -> list[Proposal]:
        """Finish what a killed process left: commit what was decided, resume the runs it woke.

        For the start of a program. Returns the proposals that were taken to their end.
        """
        await self._approvals.expire_due(_OWNER)
        finished: list[Proposal] = []
        for turn_id in await turns_due(self._pools, _OWNER):
            proposal = await self._last_of(turn_id)
            if proposal is None or proposal.state == "pending":
                continue  # its run was cut off before it asked; the graph's owner runs it again
            if proposal.closed_at is None:
                proposal = await self._commit(proposal)
            if proposal.closed_at is not None:
                await self.resume(graph, proposal, context=context)
                finished.append(proposal)
        return finished

    async def _commit(self, proposal: Proposal) -> Proposal:
        """Commit what was decided; where rows changed, it is pending again and asked for anew."""
        try:
            await self._approvals.commit(_OWNER, proposal.id)
        except ReviewRefused as error:
            if error.code != "review.stale":
                raise
        return await self.load(proposal.id)

    async def _last_of(self, turn_id: UUID) -> Proposal | None:
        async with self._pools.transaction(Role.READER, _OWNER) as connection:
            cursor = await connection.execute(
                "SELECT id FROM proposal WHERE turn_id = %s ORDER BY attempt DESC LIMIT 1",
                (turn_id,),
            )
            row = await cursor.fetchone()
        return await self.load(row["id"]) if row else None

    def _message(self, key: str, thread: str, source: str) -> NewMessage:
        return NewMessage(
            user_id=_OWNER,
            thread_id=derive_id("thread", thread),
            turn_id=derive_id("turn", thread, key),
            message_id=derive_id("message", thread, key),
            text=source,
            original=None,
            source=thread,
            modality="text",
            language="en",
            received_at=self._clock(),
            timezone="UTC",
            manifests={},
        )

    async def _actor(self, by: str) -> Actor:
        person = derive_id("user", "gate", by)
        await ensure_user(self._pools, person, by)
        return Actor(user_id=_OWNER, origin="gate", person=person)

    async def _load_turn(self, turn_id: UUID) -> Turn:
        async with self._pools.transaction(Role.READER, _OWNER) as connection:
            return await load_turn(connection, turn_id)

    async def _note(self, turn: Turn, proposal: Proposal) -> None:
        """Write down how far the run is, so that `drain` knows whom to wake."""
        is_closed = proposal.closed_at is not None
        await finish_turn(
            self._pools,
            turn,
            state="done" if is_closed else "waiting",
            domain=None,
            outcome=proposal.state if is_closed else None,
            problem=None,
        )

    @asynccontextmanager
    async def _alone(self, turn: Turn) -> AsyncGenerator[None]:
        """Let one process resume a run: two at once would both run what comes after."""
        key = (f"gate/{turn.id}",)
        async with self._pools.autocommit(Role.RUNTIME, _OWNER) as connection:
            await connection.execute("SET lock_timeout = 0")
            await connection.execute("SELECT pg_advisory_lock(hashtextextended(%s, 1))", key)
            try:
                yield
            finally:
                await connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 1))", key)


def _asks_for(value: Any, proposal: Proposal) -> bool:
    return isinstance(value, Mapping) and value.get("proposal_id") == str(proposal.id)


def _actions(turn: Turn, attempt: int, acts: Sequence[Act]) -> list[Action]:
    source = SourceText(turn.text)
    return [
        {
            "id": action_id(turn.id, _NODE, attempt, ordinal),
            "node": _NODE,
            "kind": act.kind,
            "args": dict(act.args),
            "origins": {},
            "evidence": _evidence(act.args, source) if turn.text else {},
            "missing": [],
        }
        for ordinal, act in enumerate(acts)
    ]


def _evidence(args: Mapping[str, Any], source: SourceText) -> dict[str, Evidence]:
    """Give the evidence of each plain argument; parts of lists and objects have none."""
    found = ground(args, {}, source)
    return {name: found[f"/{name}"] for name in args if f"/{name}" in found}
