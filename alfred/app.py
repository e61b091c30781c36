"""The composition root: settings in, a working Alfred out."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID
from zoneinfo import ZoneInfo

from alfred.engine.action import ActionKind
from alfred.engine.approvals import Approvals
from alfred.engine.canonical import derive_id
from alfred.engine.command import COMMAND, Wanted, close_command, is_command, propose_command
from alfred.engine.context import Progress, ProgressSink, RunContext, unheard
from alfred.engine.database import Connection, Database, Role
from alfred.engine.domain import Domain, all_kinds
from alfred.engine.executor import ActionExecutor
from alfred.engine.journal import ModelJournal
from alfred.engine.language_model import LanguageModel
from alfred.engine.ledger import Actor
from alfred.engine.proposal import Proposal
from alfred.engine.registry import Registry
from alfred.engine.run_memory import remembering
from alfred.engine.standing import Standing
from alfred.engine.turn import (
    Turn,
    ensure_user,
    finish_turn,
    load_turn,
    new_turn,
    store_message,
    turns_due,
)
from alfred.errors import AlfredError, InputRefused, StoreFailed
from alfred.inputs.linked_page import Fetch, complete_turn
from alfred.installed import load_builders, load_domains, load_prefilter, load_registry, named
from alfred.intake import Given, Intake, Noted
from alfred.models.provider import open_model
from alfred.preparation import Say, prepare_database
from alfred.settings import Settings, read_settings
from alfred.store.pools import Pools
from alfred.store.snapshot import Snapshot, open_snapshot

if TYPE_CHECKING:
    from alfred.graphs.runs import Runs

log = logging.getLogger("alfred")
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the present moment; the only clock that a composed Alfred reads."""
    return datetime.now(UTC)


def user_id_of(name: str) -> UUID:
    """Derive the id of a local user from the name in the settings."""
    return derive_id("user", name)


@dataclass(frozen=True, kw_only=True)
class Received:
    """A message as it was stored, and how far its turn got; None where it could not be read."""

    turn_id: UUID
    standing: Standing | None
    refused: InputRefused | None = None


@dataclass(frozen=True, kw_only=True)
class Ports:
    """What surrounds an Alfred: a clock, a sink for progress, a model other than the settings'."""

    clock: Clock = utc_now
    on_progress: ProgressSink = unheard
    model: LanguageModel | None = None
    origin: str = "cli"
    """From where people act, as the ledger writes it down: `cli` or `http`."""
    fetch: Fetch | None = None
    """Fetches pages; without it `LinkFetcher`, which connects to public addresses only."""
    fetches_model: bool = False
    """Whether an embedded model that is not here is fetched by the turn that first needs it."""
    resources: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What domains find in place of what their own `resources` make of the settings."""


_telling: ContextVar[ProgressSink | None] = ContextVar("telling", default=None)
"""Who follows the run of this task, instead of the sink of the ports."""


class App:
    """One user's Alfred: receives messages, keeps proposals, carries out decisions."""

    def __init__(
        self,
        settings: Settings,
        domains: Sequence[Domain],
        pools: Pools,
        ports: Ports,
        *,
        beside: App | None = None,
    ) -> None:
        self._beside = beside
        self.settings = settings
        self.domains = domains
        self.user_id = user_id_of(settings.user)
        self._pools = pools
        self._ports = ports
        self._is_stored = False
        self._resources = dict(ports.resources)

    def for_user(self, name: str) -> App:
        """Make another user's Alfred, which shares what costs memory: nodes, graph, model, tools.

        This one closes them, and has to outlive it.
        """
        settings = replace(self.settings, user=name)
        return App(settings, self.domains, self._pools, self._ports, beside=self)

    @property
    def database(self) -> Database:
        return self._pools

    def reading(self) -> AbstractAsyncContextManager[Connection]:
        """Open a transaction that reads this user's rows and cannot write."""
        return self._pools.transaction(Role.READER, self.user_id)

    @property
    def actor(self) -> Actor:
        """The person who acts, at the command line or through the server."""
        return Actor(user_id=self.user_id, origin=self._ports.origin)

    def now(self) -> datetime:
        """Return the present moment in the user's zone."""
        return self._ports.clock().astimezone(ZoneInfo(self.settings.timezone))

    @cached_property
    def kinds(self) -> Mapping[str, ActionKind]:
        """ACTION_KINDS: every domain's."""
        return all_kinds(self.domains)

    @cached_property
    def registry(self) -> Registry:
        return self._beside.registry if self._beside else load_registry(self.domains)

    @cached_property
    def intake(self) -> Intake:
        return Intake(
            settings=self.settings,
            user_id=self.user_id,
            domains=[domain.name for domain in self.domains],
            clock=self._ports.clock,
            manifests={m.name: m.digest for m in self.registry.manifests.values()},
        )

    @cached_property
    def approvals(self) -> Approvals:
        shared = frozenset[str]().union(*(domain.shared_tables for domain in self.domains))
        executor = ActionExecutor(self._pools, self.kinds)
        return Approvals(self._pools, executor, clock=self._ports.clock, shared_tables=shared)

    @cached_property
    def model(self) -> LanguageModel:
        if self._beside is not None:
            return self._beside.model
        tell = self._tell_words if self._ports.fetches_model else None
        return self._ports.model or open_model(self.settings, tell=tell)

    @cached_property
    def runs(self) -> Runs:
        # LangGraph costs more than a second of CPU to import; what only reads does without.
        from alfred.graphs.root import RECURSION_LIMIT, build_root_graph, compile_graph
        from alfred.graphs.runs import Runs, Starting
        from alfred.store.checkpoints import UserCheckpoints

        if self._beside is not None:
            graph = self._beside.runs.graph  # whose turn it is, a run says
        else:
            builder = build_root_graph(
                load_builders(self.domains),
                load_prefilter(self.registry),
                choosy={domain.name for domain in self.domains if domain.needs_match},
            )
            graph = compile_graph(builder, UserCheckpoints(self._pools))
        return Runs(
            self._pools,
            self.approvals,
            graph,
            Starting(
                complete=self._complete,
                read_input=self.intake.read_turn,
                make_context=self.context_of,
            ),
            recursion_limit=RECURSION_LIMIT,
        )

    async def receive(
        self, content: bytes, *, source: str | None = None, domain: str | None = None
    ) -> Received:
        """Store the words first, then run the turn up to its review.

        `content` is as it came in; `source` a file's name. A message that is nothing but a link is
        stored as such, and its page fetched then. What cannot be read or fetched is stored all the
        same and reported as refused. Without a `domain` the nodes' rules choose one.
        Errors: `input.unknown_domain`; then nothing is stored.
        """
        return await self._receive(self.intake.given(content, source=source, domain=domain))

    async def _receive(self, given: Given) -> Received:
        await self.enter()
        noted = self.intake.note(given)
        turn_id = noted.message.turn_id
        standing: Standing | None = None
        refused = noted.refused
        try:
            standing = await self._begin(noted) if refused is None else None
        except InputRefused as error:
            refused = error
        if refused is not None:
            await store_message(self._pools, noted.message)
            await self.give_up(turn_id, refused)
        return Received(turn_id=turn_id, standing=standing, refused=refused)

    async def propose_actions(
        self, words: str, wanted: Sequence[Wanted], *, turn_id: UUID | None = None
    ) -> Proposal:
        """Propose the writes that a command asks for; `words` are kept as its message.

        No model is asked and no graph runs; the review is that of every proposal. With a `turn_id`
        that is known already, what it proposed is returned.
        Errors: those of `propose_command`.
        """
        kinds = {each.kind for each in wanted}
        domain = next(d.name for d in self.domains if kinds & {k.name for k in d.kinds})
        await self.enter()
        message = self.intake.message(words, domain, turn_id)
        message = replace(message, modality=COMMAND, language=self.settings.language, manifests={})
        return await propose_command(self._pools, self.approvals, message, wanted)

    async def keep(self, words: str, *, domain: str, turn_id: UUID | None = None) -> Turn | None:
        """Store words as a message of a domain, and the turn that `advance` will run.

        With a `turn_id` that is known already nothing is stored, and None is returned.
        Errors: `input.empty` and its like for what has no words; then nothing is stored.
        """
        await self.enter()
        message = self.intake.message(words, domain, turn_id)
        self.intake.read(Given(content=message.text.encode()), message.received_at)
        is_new = await store_message(self._pools, message)
        return new_turn(message) if is_new else None

    async def again(self, turn_id: UUID, *, domain: str | None = None) -> Received:
        """Start a new turn for the message of an earlier one, such as one that had no model.

        A page that was fetched is not fetched again; a link that led to none is.
        Errors: `input.unsupported` for a command's words, which no node reads;
        `input.unknown_domain`.
        """
        return await self._receive(self.intake.again(await self.load_turn(turn_id), domain))

    async def enter(self) -> None:
        """Make the user known, before anything of theirs is stored."""
        if not self._is_stored:
            await ensure_user(self._pools, self.user_id, self.settings.user)
            self._is_stored = True

    async def _begin(self, noted: Noted) -> Standing:
        message = noted.message
        if "runs" in self.__dict__:
            return await self.runs.start(message, noted.read)
        # LangGraph takes more than a second to import: the words are stored before that.
        await store_message(self._pools, message)
        return await self.advance(message.turn_id)

    async def advance(self, turn_id: UUID) -> Standing:
        """Drive a turn as far as it goes; errors as `Runs.advance`."""
        return await self.runs.advance(self.user_id, turn_id)

    async def load_turn(self, turn_id: UUID) -> Turn:
        """Read a turn with its message."""
        async with self._pools.transaction(Role.READER, self.user_id) as connection:
            return await load_turn(connection, turn_id)

    async def settle(self, proposal_id: UUID) -> Standing:
        """Commit a decided proposal and run its turn to the end.

        Errors: `review.stale`, with the new effects in `details["proposal"]`.
        """
        with remembering():
            await self.approvals.commit(self.user_id, proposal_id)
            proposal = await self.approvals.load(self.user_id, proposal_id)
            if is_command(proposal):
                return await self._close(await self.load_turn(proposal.turn_id))
            return await self.advance(proposal.turn_id)

    async def correct(self, proposal_id: UUID, words: str, *, seen: str) -> Standing:
        """Say in words what is wrong with a proposal, and run its turn up to the next one.

        `seen` is the digest of what was shown. Whatever becomes of this process, the words are
        recorded, and the next start answers them. Errors: those of `Approvals.correct`.
        """
        corrected = await self.approvals.correct(proposal_id, words, seen=seen, actor=self.actor)
        return await self.advance(corrected.turn_id)

    async def drain(self) -> list[Standing]:
        """Finish what earlier processes left: expired proposals, decided or cut-off runs."""
        await self.approvals.expire_due(self.user_id)
        finished: list[Standing] = []
        for turn_id in await turns_due(self._pools, self.user_id):
            self._tell(Progress(text=f"Continuing turn {turn_id} …"))
            try:
                standing = await self._continue(await self.load_turn(turn_id))
            except StoreFailed as error:
                if error.code != "store.busy":
                    raise
                log.info("Turn %s runs elsewhere.", turn_id, extra={"action": "drain.busy"})
                continue
            if standing is not None:
                finished.append(standing)
        return finished

    async def continue_turn(
        self, turn_id: UUID, *, on_progress: ProgressSink | None = None
    ) -> Standing | None:
        """Take a turn as far as it goes if it is due; one that is not is left as it is.

        What stops the turn is written down; the sink is told how it goes on.
        Errors: `StoreFailed`, upon which it can be tried again; `store.busy` if another process
        runs the turn.
        """
        turn = await self.load_turn(turn_id)
        if not turn.resume_due:
            return None
        token = _telling.set(on_progress)
        try:
            return await self._continue(turn)
        finally:
            _telling.reset(token)

    async def _continue(self, turn: Turn) -> Standing | None:
        """Advance a due turn; what stops it is written down, so that it stops no other turn."""
        turn_id = turn.id
        try:
            if turn.modality == COMMAND:
                return await self._close(turn)
            return await self.runs.advance(self.user_id, turn_id, patience_s=0)
        except StoreFailed:
            raise
        except AlfredError as error:
            if error.code == "review.stale":  # pending again: it waits for its person
                is_command_turn = turn.modality == COMMAND
                return await (self._close(turn) if is_command_turn else self.advance(turn_id))
            await self.give_up(turn_id, error)
            log.warning("Turn %s failed: %s.", turn_id, error.code, extra={"action": "drain.fail"})
        return None

    @property
    def _tell(self) -> ProgressSink:
        return _telling.get() or self._ports.on_progress

    def _tell_words(self, words: str) -> None:
        self._tell(Progress(text=words))

    async def _complete(self, turn: Turn) -> Turn:
        """Fetch the page of a turn that only has its link; give any other as it is."""
        if not turn.is_unfetched:
            return turn
        self._tell(Progress(text=f"Fetching {turn.link} …"))
        return await complete_turn(self._pools, turn, self._fetch)

    @cached_property
    def _fetch(self) -> Fetch:
        # The client under it is slow to import, and most messages are no links.
        from alfred.inputs.link_fetcher import LinkFetcher

        return self._ports.fetch or LinkFetcher().fetch

    def context_of(self, turn: Turn) -> RunContext:
        """Make what a run of this turn may use."""
        return RunContext(
            turn_id=turn.id,
            user_id=turn.user_id,
            message_id=turn.message_id,
            received_at=turn.received_at.astimezone(ZoneInfo(turn.timezone)),
            timezone=turn.timezone,
            language=turn.language,
            database=self._pools,
            open_model=lambda: self.model,
            journal=ModelJournal(self._pools, turn.user_id),
            registry=self.registry,
            kinds=self.kinds,
            approvals=self.approvals,
            on_progress=self._tell,
            model_timeout_s=self.settings.model_timeout_s,
            resource=self.resource,
            clock=self._ports.clock,
        )

    def resource(self, name: str) -> Any:
        """Return what a domain's `resources` make of the settings, made once.

        Errors: LookupError for a domain that brings none; those of the domain's own function.
        """
        if self._beside is not None:
            return self._beside.resource(name)
        if name not in self._resources:
            place = next((d.resources for d in self.domains if d.name == name), None)
            if place is None:
                raise LookupError(f"the domain {name!r} has brought nothing")
            self._resources[name] = named(place)(self.settings)
        return self._resources[name]

    async def give_up(self, turn_id: UUID, error: AlfredError) -> None:
        """Write down what stopped a turn for good; what another try may get past is not refused."""
        is_final = isinstance(error, InputRefused) and not error.retryable
        turn = await self.load_turn(turn_id)
        await finish_turn(
            self._pools,
            turn,
            state="failed",
            domain=turn.domain,
            outcome="refused" if is_final else "failed",
            problem=str(error),
        )

    async def _close(self, turn: Turn) -> Standing:
        return await close_command(self._pools, self.approvals, turn)

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]:
        """Hold everything of the user as it is at one moment, to be read row by row."""
        return open_snapshot(self._pools, self.user_id)

    async def aclose(self) -> None:
        """Close the model and what domains brought, as far as they were opened."""
        if self._beside is not None:
            return
        for brought in self._resources.values():
            if hasattr(brought, "aclose"):
                await brought.aclose()
        if "model" in self.__dict__:
            await self.model.aclose()


@asynccontextmanager
async def open_app(
    settings: Settings | None = None, *, say: Say = lambda _: None, ports: Ports | None = None
) -> AsyncGenerator[App]:
    """Open Alfred as the settings say: database found or started, pools open, domains loaded.

    Without settings those of the environment count; errors as `read_settings` and
    `prepare_database`.
    """
    settings = settings or read_settings()
    domains = load_domains()
    address = prepare_database(settings, domains, say)
    async with Pools(address) as pools:
        app = App(settings, domains, pools, ports or Ports())
        try:
            yield app
        finally:
            await app.aclose()
