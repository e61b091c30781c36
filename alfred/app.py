"""The composition root: settings in, a working Alfred out."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from alfred.dispatch.prefilter import Prefilter
from alfred.engine.action import ActionKind
from alfred.engine.approvals import Approvals
from alfred.engine.canonical import derive_id
from alfred.engine.context import FieldRead, Progress, ProgressSink, RunContext
from alfred.engine.database import Database, Role
from alfred.engine.date_filters import FILTERS
from alfred.engine.domain import Domain, all_kinds
from alfred.engine.executor import ActionExecutor
from alfred.engine.journal import ModelJournal
from alfred.engine.language_model import LanguageModel
from alfred.engine.ledger import Actor
from alfred.engine.registry import Registry
from alfred.engine.skill_input import SkillInput
from alfred.engine.turn import (
    NewMessage,
    Turn,
    ensure_user,
    finish_turn,
    load_turn,
    store_message,
    turns_due,
)
from alfred.errors import AlfredError, InputRefused, StoreFailed
from alfred.inputs.decoding import clean_text
from alfred.inputs.reader import read_input
from alfred.models.provider import open_model
from alfred.settings import Settings
from alfred.store.address import Address
from alfred.store.location import locate
from alfred.store.migrate import expected_revisions, is_current, migrate, read_revisions
from alfred.store.pools import Pools
from alfred.store.roles import provision

if TYPE_CHECKING:
    from alfred.graphs.runs import Runs, Standing

log = logging.getLogger("alfred")
Say = Callable[[str], None]
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the present moment; the only clock that a composed Alfred reads."""
    return datetime.now(UTC)


def load_domains() -> list[Domain]:
    """Load every installed domain, sorted by name."""
    found = entry_points(group="alfred.domains")
    return sorted((entry.load() for entry in found), key=lambda domain: domain.name)


def load_registry(domains: Sequence[Domain]) -> Registry:
    """Load every node of the domains; broken ones stand in `Registry.problems`."""
    own = {name: made for domain in domains for name, made in domain.filters.items()}
    roots = [domain.nodes for domain in domains]
    return Registry.load(roots, all_kinds(domains), {**own, **FILTERS})


def load_prefilter(registry: Registry) -> Prefilter:
    """Compile the match rules of every node."""
    return Prefilter(registry.manifests.values())


def load_builders(domains: Sequence[Domain]) -> Mapping[str, Any]:
    """Import and build the domains' graphs; this imports LangGraph."""
    builders: dict[str, Any] = {}
    for domain in domains:
        module, _, function = domain.graph.partition(":")
        builders[domain.name] = getattr(import_module(module), function)()
    return builders


def user_id_of(name: str) -> UUID:
    """Derive the id of a local user from the name in the settings."""
    return derive_id("user", name)


def prepare_database(settings: Settings, domains: Sequence[Domain], say: Say) -> Address:
    """Find or start the database and bring its schema up to date.

    The embedded one is provisioned and migrated without asking; an external one only by
    `alfred db migrate`, since other hosts may use it.
    Errors: `StoreFailed`; `store.not_migrated` for an external database that is not current.
    """
    address = locate(settings, say)
    expected = expected_revisions(domains)
    try:
        if is_current(read_revisions(address), expected):
            return address
    except StoreFailed:
        if not address.embedded:
            raise
    if not address.embedded:
        raise StoreFailed(
            "store.not_migrated",
            f"The schema of {address} is not the one this Alfred needs.",
            hint="Run `alfred db migrate`.",
        )
    say("Setting up the database…")
    migrate_database(address, domains)
    return address


def migrate_database(address: Address, domains: Sequence[Domain]) -> list[str]:
    """Create roles and missing tables; return the revisions that were added."""
    provision(address)
    return migrate(address, domains)


@dataclass(frozen=True, kw_only=True)
class Received:
    """A message as it was stored, and how far its turn got; None where it could not be read."""

    turn_id: UUID
    standing: Standing | None
    refused: InputRefused | None = None


def _silent(_: FieldRead | Progress) -> None:
    return


@dataclass(frozen=True, kw_only=True)
class Ports:
    """What surrounds an Alfred: a clock, a sink for progress, a model other than the settings'."""

    clock: Clock = utc_now
    on_progress: ProgressSink = _silent
    model: LanguageModel | None = None


class App:
    """One user's Alfred: receives messages, keeps proposals, carries out decisions."""

    def __init__(
        self, settings: Settings, domains: Sequence[Domain], pools: Pools, ports: Ports
    ) -> None:
        self.settings = settings
        self.domains = domains
        self.user_id = user_id_of(settings.user)
        self._pools = pools
        self._ports = ports

    @property
    def database(self) -> Database:
        return self._pools

    @property
    def actor(self) -> Actor:
        """The person at the command line."""
        return Actor(user_id=self.user_id, origin="cli")

    @cached_property
    def kinds(self) -> Mapping[str, ActionKind]:
        """ACTION_KINDS: every domain's."""
        return all_kinds(self.domains)

    @cached_property
    def registry(self) -> Registry:
        return load_registry(self.domains)

    @cached_property
    def approvals(self) -> Approvals:
        shared = frozenset[str]().union(*(domain.shared_tables for domain in self.domains))
        executor = ActionExecutor(self._pools, self.kinds)
        return Approvals(self._pools, executor, clock=self._ports.clock, shared_tables=shared)

    @cached_property
    def model(self) -> LanguageModel:
        return self._ports.model or open_model(self.settings)

    @cached_property
    def runs(self) -> Runs:
        # LangGraph costs more than a second of CPU to import; what only reads does without.
        from alfred.graphs.root import RECURSION_LIMIT, build_root_graph, compile_graph
        from alfred.graphs.runs import Runs, Starting
        from alfred.store.checkpoints import UserCheckpoints

        builder = build_root_graph(load_builders(self.domains), load_prefilter(self.registry))
        return Runs(
            self._pools,
            self.approvals,
            compile_graph(builder, UserCheckpoints(self._pools)),
            Starting(read_input=self.read_turn_input, make_context=self.context_of),
            recursion_limit=RECURSION_LIMIT,
        )

    async def receive(self, content: bytes, *, source: str | None = None) -> Received:
        """Store the words first, then run the turn up to its review.

        `content` is as it came in; `source` a file name or address. An input that cannot be read
        is stored all the same and reported as refused.
        """
        received_at = self._ports.clock()
        await ensure_user(self._pools, self.user_id, self.settings.user)
        turn_id = uuid4()
        refused: InputRefused | None = None
        read: SkillInput | None = None
        try:
            read = self._read(content, source, received_at)
        except InputRefused as error:
            refused = error
        words = read["text"] if read else clean_text(content.decode("utf-8", "replace"))
        message = NewMessage(
            user_id=self.user_id,
            thread_id=derive_id("thread", self.user_id),
            turn_id=turn_id,
            message_id=derive_id("message", turn_id),
            text=words,
            original=None if words.encode() == content else content,
            source=clean_text(source) if source is not None else None,
            modality=read["modality"] if read else "text",
            language=read["language"] if read else self.settings.language,
            received_at=received_at,
            timezone=self.settings.timezone,
            manifests={m.name: m.digest for m in self.registry.manifests.values()},
        )
        await store_message(self._pools, message)
        if refused is not None:
            await self._fail(turn_id, str(refused), "refused")
            return Received(turn_id=turn_id, standing=None, refused=refused)
        return Received(turn_id=turn_id, standing=await self.advance(turn_id))

    async def again(self, turn_id: UUID) -> Received:
        """Start a new turn for the message of an earlier one, such as one that had no model."""
        turn = await self.load_turn(turn_id)
        return await self.receive(turn.original or turn.text.encode(), source=turn.source)

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
        await self.approvals.commit(self.user_id, proposal_id)
        proposal = await self.approvals.load(self.user_id, proposal_id)
        return await self.advance(proposal.turn_id)

    async def drain(self) -> list[Standing]:
        """Finish what earlier processes left: expired proposals, decided or cut-off runs."""
        await self.approvals.expire_due(self.user_id)
        finished: list[Standing] = []
        for turn_id in await turns_due(self._pools, self.user_id):
            self._ports.on_progress(Progress(text=f"Continuing turn {turn_id} …"))
            standing = await self._continue(turn_id)
            if standing is not None:
                finished.append(standing)
        return finished

    async def _continue(self, turn_id: UUID) -> Standing | None:
        """Advance a due turn; what stops it is written down, so that it stops no other turn."""
        try:
            return await self.runs.advance(self.user_id, turn_id, patience_s=0)
        except StoreFailed as error:
            if error.code != "store.busy":
                raise
            log.info("Turn %s runs elsewhere.", turn_id, extra={"action": "drain.busy"})
        except AlfredError as error:
            if error.code == "review.stale":  # pending again: it waits for its person
                return await self.advance(turn_id)
            outcome = "refused" if isinstance(error, InputRefused) else "failed"
            await self._fail(turn_id, str(error), outcome)
            log.warning("Turn %s failed: %s.", turn_id, error.code, extra={"action": "drain.fail"})
        return None

    def read_turn_input(self, turn: Turn) -> SkillInput:
        """Normalise a stored message again, exactly as when it came in."""
        content = turn.original if turn.original is not None else turn.text.encode()
        return self._read(content, turn.source, turn.received_at)

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
            on_progress=self._ports.on_progress,
            model_timeout_s=self.settings.model_timeout_s,
        )

    def _read(self, content: bytes, source: str | None, received_at: datetime) -> SkillInput:
        return read_input(
            content,
            filename=source,
            received_at=received_at.astimezone(ZoneInfo(self.settings.timezone)),
            timezone=self.settings.timezone,
        )

    async def _fail(self, turn_id: UUID, problem: str, outcome: str) -> None:
        turn = await self.load_turn(turn_id)
        await finish_turn(
            self._pools, turn, state="failed", domain=None, outcome=outcome, problem=problem
        )

    async def aclose(self) -> None:
        """Close the model, if one was opened."""
        if "model" in self.__dict__:
            await self.model.aclose()


@asynccontextmanager
async def open_app(
    settings: Settings, *, say: Say = lambda _: None, ports: Ports | None = None
) -> AsyncGenerator[App]:
    """Open Alfred as the settings say: database found or started, pools open, domains loaded."""
    domains = load_domains()
    address = prepare_database(settings, domains, say)
    async with Pools(address) as pools:
        app = App(settings, domains, pools, ports or Ports())
        try:
            yield app
        finally:
            await app.aclose()
