"""The review gate in a graph of somebody's own: their table, their PostgreSQL, their login."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import sql
from psycopg.rows import dict_row
from sqlalchemy import Column, Integer, LargeBinary, MetaData, Table, Text

from alfred.errors import AlfredError, GraphInvalid, ReviewRefused, StoreFailed
from alfred.gate import Act, Arguments, Gate, HostRows, Proposal, gate_kind, open_gate
from alfred.store.address import Address
from alfred.store.roles import MAINTENANCE_DATABASE
from examples.review_gate.stock import PART, State, build_graph, main, take_out
from tests.shell import url_of

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "review_gate"


@dataclass(frozen=True)
class Shop:
    """A host: its database, and the login that owns it and nothing else."""

    url: str
    address: Address

    def look(self, query: str, *parameters: Any) -> list[dict[str, Any]]:
        """Look from outside, as the server's superuser."""
        with psycopg.connect(self.address.admin_dsn(), row_factory=dict_row) as connection:
            cursor = connection.execute(query, parameters)  # type: ignore[arg-type]
            return cursor.fetchall() if cursor.description is not None else []

    def stock(self, held: int) -> str:
        """Put a new part on the shelf and return its name."""
        sku = f"P-{uuid4().hex[:8]}"
        self.look("INSERT INTO part VALUES (%s, %s)", sku, held)
        return sku

    def held(self, sku: str) -> int:
        return self.look("SELECT held FROM part WHERE sku = %s", sku)[0]["held"]

    def receipts(self, proposal: Proposal) -> int:
        query = "SELECT count(*) AS n FROM alfred_gate.receipt WHERE proposal_id = %s"
        return self.look(query, proposal.id)[0]["n"]


@pytest.fixture(scope="module")
def shop(database: Address) -> Shop:
    """Make a database with a table of its own, owned by an ordinary login."""
    name, password = f"shop_{uuid4().hex[:8]}", uuid4().hex
    maintenance = database.in_database(MAINTENANCE_DATABASE).admin_dsn()
    login, words = sql.Identifier(name), sql.Literal(password)
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(login, words))
        connection.execute(sql.SQL("CREATE DATABASE {0} OWNER {0}").format(login))
    address = replace(database, dbname=name, user=name, password=password)
    shop = Shop(url=url_of(address), address=database.in_database(name))
    with psycopg.connect(shop.url) as connection:
        connection.execute(
            "CREATE TABLE part (sku text PRIMARY KEY, held integer NOT NULL CHECK (held >= 0));"
            "CREATE TABLE receipt (id serial PRIMARY KEY, about text, printed_at timestamptz"
            " NOT NULL DEFAULT now(), picture bytea)"
        )
    return shop


@dataclass
class Running:
    """An open gate and the example's graph behind it."""

    gate: Gate
    graph: Any

    async def order(self, words: str, thread: str | None = None) -> Proposal:
        """Run the graph up to its review."""
        config = {"configurable": {"thread_id": thread or f"order-{uuid4()}"}}
        values = await self.graph.ainvoke({"words": words}, config)
        assert values["__interrupt__"][0].value["kind"] == "review"
        return await self.gate.load(values["proposal"])


@asynccontextmanager
async def running(shop: Shop, **more: Any) -> AsyncGenerator[Running]:
    async with (
        open_gate(shop.url, [take_out], **more) as gate,
        AsyncPostgresSaver.from_conn_string(shop.url) as saver,
    ):
        await saver.setup()
        yield Running(gate, build_graph(gate).compile(checkpointer=saver))


@pytest.fixture
async def run(shop: Shop) -> AsyncGenerator[Running]:
    async with running(shop) as opened:
        yield opened


async def refusal(work: Any) -> AlfredError:
    with pytest.raises(AlfredError) as caught:
        await work
    return caught.value


def test_the_example_has_fewer_than_sixty_lines() -> None:
    lines = [path.read_text(encoding="utf-8").count("\n") for path in EXAMPLE.rglob("*.py")]
    assert sum(lines) < 60


async def test_a_proposal_shows_its_effect_and_evidence_and_writes_nothing(
    run: Running, shop: Shop
) -> None:
    sku = shop.stock(10)
    proposal = await run.order(f"Please take out 3 {sku}")
    (action,) = proposal.actions
    assert action.effects == [
        {
            "operation": "update",
            "table": "part",
            "row": f"part:{sku}",
            "before": {"held": 10},
            "after": {"held": 7},
        }
    ]
    assert {name: e["support"] for name, e in action.evidence.items()} == {
        "sku": "grounded",
        "count": "grounded",
    }
    assert shop.held(sku) == 10
    assert [p.id for p in await run.gate.pending()] == [proposal.id]
    await run.gate.decide(proposal, "reject", by="ana")


async def test_an_approval_commits_once_and_the_run_hears_of_it(run: Running, shop: Shop) -> None:
    sku = shop.stock(10)
    proposal = await run.order(f"take 3 {sku}")
    decided = await run.gate.decide(proposal, "approve", by="ana")
    assert (decided.state, shop.held(sku)) == ("committed", 7)
    assert (await run.gate.resume(run.graph, decided))["outcome"] == "committed"
    entry = shop.look(
        "SELECT e.origin, u.name FROM alfred_gate.ledger_entry e JOIN alfred_gate.alfred_user u"
        " ON u.id = e.actor_id WHERE e.proposal_id = %s AND e.kind = 'approved'",
        proposal.id,
    )
    assert entry == [{"origin": "gate", "name": "ana"}]


async def test_the_same_approval_twice_and_a_second_resume_write_nothing_more(
    run: Running, shop: Shop
) -> None:
    sku = shop.stock(10)
    proposal = await run.order(f"take 3 {sku}")
    for _ in range(2):
        decided = await run.gate.decide(proposal, "approve", by="ana")
        assert (await run.gate.resume(run.graph, decided))["outcome"] == "committed"
    assert (shop.held(sku), shop.receipts(proposal)) == (7, 1)


async def test_of_many_approvals_and_resumes_at_once_one_commits(run: Running, shop: Shop) -> None:
    sku = shop.stock(10)
    proposal = await run.order(f"take 3 {sku}")

    async def approve() -> str:
        decided = await run.gate.decide(proposal, "approve", by="ana")
        return (await run.gate.resume(run.graph, decided))["outcome"]

    assert await asyncio.gather(*(approve() for _ in range(5))) == ["committed"] * 5
    assert (shop.held(sku), shop.receipts(proposal)) == (7, 1)


async def test_approve_and_reject_at_once_have_one_winner(run: Running, shop: Shop) -> None:
    for _ in range(10):
        sku = shop.stock(10)
        proposal = await run.order(f"take 3 {sku}")
        outcomes = await asyncio.gather(
            run.gate.decide(proposal, "approve", by="ana"),
            run.gate.decide(proposal, "reject", by="ben"),
            return_exceptions=True,
        )
        (won,) = [outcome for outcome in outcomes if isinstance(outcome, Proposal)]
        (lost,) = [outcome for outcome in outcomes if isinstance(outcome, AlfredError)]
        assert lost.code == "review.conflict"
        assert shop.held(sku) == (7 if won.state == "committed" else 10)


async def test_a_rejection_writes_nothing_and_the_run_hears_of_it(run: Running, shop: Shop) -> None:
    sku = shop.stock(10)
    proposal = await run.order(f"take 3 {sku}")
    decided = await run.gate.decide(proposal, "reject", by="ana")
    assert (await run.gate.resume(run.graph, decided))["outcome"] == "rejected"
    assert (shop.held(sku), shop.receipts(proposal)) == (10, 0)


async def test_a_row_that_changed_since_the_preview_is_shown_anew(run: Running, shop: Shop) -> None:
    sku = shop.stock(10)
    proposal = await run.order(f"take 3 {sku}")
    shop.look("UPDATE part SET held = 5 WHERE sku = %s", sku)
    error = await refusal(run.gate.decide(proposal, "approve", by="ana"))
    assert error.code == "review.stale"
    assert shop.held(sku) == 5
    now = error.details["proposal"]
    assert now.actions[0].effects[0]["after"] == {"held": 2}
    again = await refusal(run.gate.decide(proposal, "approve", by="ana"))
    assert again.code == "review.changed"
    decided = await run.gate.decide(now, "approve", by="ana")
    assert (decided.state, shop.held(sku)) == ("committed", 2)


async def test_an_edit_shows_its_effect_before_anything_is_decided(
    run: Running, shop: Shop
) -> None:
    sku = shop.stock(10)
    proposal = await run.order(f"take 3 {sku}")
    (action,) = proposal.actions
    error = await refusal(run.gate.amend(proposal, {action.id: {"count": "many"}}, by="ana"))
    assert (error.code, list(error.details["pointers"])) == ("review.edit", ["/count"])
    amended = await run.gate.amend(proposal, {action.id: {"count": 4}}, by="ana")
    assert amended.actions[0].effects[0]["after"] == {"held": 6}
    await run.gate.decide(amended, "approve", by="ana")
    assert shop.held(sku) == 6


async def test_what_cannot_run_says_why_and_cannot_be_approved(run: Running, shop: Shop) -> None:
    sku = shop.stock(2)
    for words, problem in [
        (f"take 3 {sku}", "3 of 2 can't be taken out."),
        ("take 1 P-nowhere", "There is no part with sku P-nowhere."),
    ]:
        proposal = await run.order(words)
        assert proposal.actions[0].problem == problem
        error = await refusal(run.gate.decide(proposal, "approve", by="ana"))
        assert error.code == "review.incomplete"
        await run.gate.decide(proposal, "reject", by="ana")


async def test_a_run_that_is_resumed_without_a_decision_waits_on(run: Running, shop: Shop) -> None:
    sku = shop.stock(10)
    proposal = await run.order(f"take 3 {sku}", thread := f"order-{uuid4()}")
    error = await refusal(run.gate.resume(run.graph, proposal))
    assert error.code == "review.undecided"
    from langgraph.types import Command

    config: Any = {"configurable": {"thread_id": thread}}
    values = await run.graph.ainvoke(Command(resume={"verdict": "approve"}), config)
    assert "__interrupt__" in values
    assert shop.held(sku) == 10
    await run.gate.decide(proposal, "reject", by="ana")


async def test_the_same_request_again_finds_its_proposal_and_another_is_told(
    run: Running, shop: Shop
) -> None:
    sku, thread = shop.stock(10), f"order-{uuid4()}"
    first = await run.order(f"take 3 {sku}", thread)
    assert (await run.order(f"take 3 {sku}", thread)).id == first.id
    decided = await run.gate.decide(first, "approve", by="ana")
    await run.gate.resume(run.graph, decided)
    config: Any = {"configurable": {"thread_id": thread}}
    values = await run.graph.ainvoke({"words": f"take 3 {sku}"}, config)
    assert (values["outcome"], shop.held(sku)) == ("committed", 7)
    error = await refusal(run.graph.ainvoke({"words": f"take 1 {sku}"}, config))
    assert error.code == "review.closed"
    assert "a key of its own" in error.hint


async def test_a_proposal_that_nobody_decides_expires_and_its_run_ends(shop: Shop) -> None:
    now = [datetime(2026, 3, 2, tzinfo=UTC)]
    async with running(shop, clock=lambda: now[0]) as run:
        sku = shop.stock(10)
        proposal = await run.order(f"take 3 {sku}")
        now[0] += timedelta(days=15)
        assert proposal.id in {p.id for p in await run.gate.drain(run.graph)}
        expired = await run.gate.load(proposal.id)
        assert (await run.gate.resume(run.graph, expired))["outcome"] == "expired"
        error = await refusal(run.gate.decide(proposal, "approve", by="ana"))
        assert error.code == "review.expired"
        assert shop.held(sku) == 10


@pytest.fixture(scope="module")
def nursery() -> Generator[subprocess.Popen[str]]:
    """Start the process that forks the lives which end early."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.gate_process"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def live(nursery: subprocess.Popen[str], shop: Shop, proposal: Proposal, last: int) -> list[str]:
    """Let one process live and die; return what it and its parent said."""
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    order = {"url": shop.url, "proposal": str(proposal.id), "last": last}
    nursery.stdin.write(json.dumps(order) + "\n")
    nursery.stdin.flush()
    said: list[str] = []
    while not (said and said[-1].startswith("ended ")):
        line = nursery.stdout.readline()
        assert line, "the process ended; its error stands above"
        said.append(line.strip())
    return said


async def test_a_kill_at_any_wait_between_decision_and_end_leaves_all_or_nothing(
    shop: Shop, nursery: subprocess.Popen[str]
) -> None:
    async with running(shop) as run:
        whole = await run.order(f"take 3 {shop.stock(10)}")
        waits = int(live(nursery, shop, whole, 0)[0].removeprefix("waits "))
        assert waits > 20
        drained = 0
        for last in range(1, waits + 1):
            sku = shop.stock(10)
            proposal = await run.order(f"take 3 {sku}")
            assert live(nursery, shop, proposal, last)[-1] == "ended -9"
            assert (shop.held(sku), shop.receipts(proposal)) in {(10, 0), (7, 1)}
            drained += len(await run.gate.drain(run.graph))
            after = await run.gate.load(proposal.id)
            if after.state == "pending":
                after = await run.gate.decide(after, "approve", by="ana")
            assert (await run.gate.resume(run.graph, after))["outcome"] == "committed"
            assert (shop.held(sku), shop.receipts(proposal)) == (7, 1)
            assert await run.gate.drain(run.graph) == []
        assert 0 < drained < waits


async def test_the_example_runs_as_a_program(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for answer, held in [("y", 6), ("n", 10)]:
        sku = shop.stock(10)
        monkeypatch.setattr("builtins.input", lambda _, said=answer: said)
        await main(shop.url, f"order-{uuid4()}", f"Please take 4 {sku}")
        assert shop.held(sku) == held
        assert f"part:{sku}" in capsys.readouterr().out


RECEIPT = Table(
    "receipt",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("about", Text),
    Column("picture", LargeBinary),
)


class Print(Arguments):
    about: str


async def print_receipt(rows: HostRows, args: Print) -> None:
    row = await rows.create(RECEIPT, {"about": args.about, "picture": args.about.encode()})
    assert row["printed_at"] is not None


async def test_a_table_named_like_one_of_the_ledgers_and_keys_that_the_database_draws(
    shop: Shop,
) -> None:
    async with open_gate(shop.url, [print_receipt, gate_kind(take_out)]) as gate:
        about = f"about {uuid4()}"
        acts = [Act("print_receipt", {"about": about}), Act("print_receipt", {"about": "b"})]
        proposal = await propose_alone(gate, acts)
        assert [a.effects[0]["row"] for a in proposal.actions] == ["receipt:new", "receipt:new"]
        assert proposal.actions[1].effects[0]["after"] == {"about": "b", "picture": "62"}
        assert (await gate.decide(proposal, "approve", by="ana")).state == "committed"
    assert len(shop.look("SELECT FROM receipt WHERE about = %s", about)) == 1


class Scrap(Arguments):
    held: int


async def scrap(rows: HostRows, args: Scrap) -> None:
    part = await rows.find(PART, {"held": args.held})
    if part is not None:
        await rows.delete(PART, part)


async def test_a_row_is_deleted_if_its_key_means_only_one(shop: Shop) -> None:
    sku = shop.stock(7_001)
    shop.stock(7_002)
    shop.stock(7_002)
    kinds = [gate_kind(scrap, locks=lambda args: [f"held/{args.held}"])]
    async with open_gate(shop.url, kinds) as gate:
        acts = [Act("scrap", {"held": held}) for held in (7_001, 7_002, 7_003)]
        proposal = await propose_alone(gate, acts)
        gone, several, none = proposal.actions
        assert [effect["operation"] for effect in gone.effects] == ["delete"]
        assert gone.effects[0]["before"] == {"sku": sku, "held": 7_001}
        assert several.problem == "More than one part has held 7002."
        assert none.effects == []
        await gate.decide(
            proposal, {gone.id: "approve", several.id: "reject", none.id: "reject"}, by="ana"
        )
    assert shop.look("SELECT FROM part WHERE sku = %s", sku) == []
    assert len(shop.look("SELECT FROM part WHERE held = 7002")) == 2


async def test_a_higher_attempt_replaces_what_still_waits(run: Running, shop: Shop) -> None:
    sku, thread = shop.stock(10), f"alone-{uuid4()}"
    first, second = [
        await propose_alone(run.gate, [Act("take_out", {"sku": sku, "count": count})], thread, n)
        for n, count in enumerate((3, 4))
    ]
    assert (await run.gate.load(first.id)).state == "superseded"
    assert (await refusal(run.gate.decide(first, "approve", by="ana"))).code == "review.closed"
    await run.gate.decide(second, "approve", by="ana")
    assert shop.held(sku) == 6


async def propose_alone(
    gate: Gate, acts: list[Act], thread: str | None = None, attempt: int = 0
) -> Proposal:
    """Propose in a graph that has one step and no checkpointer of the host's."""
    from langgraph.graph import StateGraph

    made: list[Proposal] = []

    async def propose(_: State) -> State:
        made.append(await gate.propose(acts, attempt=attempt))
        return {}

    graph = StateGraph(State).add_sequence([propose]).set_entry_point("propose").compile()
    await graph.ainvoke({}, {"configurable": {"thread_id": thread or f"alone-{uuid4()}"}})
    return made[0]


async def test_an_action_falls_with_the_earlier_one_that_wrote_its_row(
    run: Running, shop: Shop
) -> None:
    sku = shop.stock(10)
    acts = [Act("take_out", {"sku": sku, "count": count}) for count in (3, 4)]
    proposal = await propose_alone(run.gate, acts)
    first, second = proposal.actions
    assert second.depends_on == (first.id,)
    await run.gate.decide(proposal, {first.id: "reject"}, by="ana")
    after = await run.gate.load(proposal.id)
    assert {action.state for action in after.actions} == {"rejected"}
    assert shop.held(sku) == 10


async def test_a_run_without_a_thread_is_refused_with_what_to_do(run: Running) -> None:
    from langgraph.graph import StateGraph

    async def propose(_: State) -> State:
        await run.gate.propose([])
        return {}

    graph = StateGraph(State).add_sequence([propose]).set_entry_point("propose").compile()
    with pytest.raises(GraphInvalid, match="thread_id"):
        await graph.ainvoke({})


def test_a_handler_without_its_arguments_is_refused_at_once() -> None:
    async def careless(rows: HostRows, args: dict[str, Any]) -> None:
        raise AssertionError

    with pytest.raises(TypeError, match="careless"):
        gate_kind(careless)


async def test_a_login_that_only_reads_cannot_write_past_the_gate(shop: Shop, run: Running) -> None:
    """As docs/review_gate.md advises: the graph's own login reads, the gate's writes."""
    reader, password = f"reader_{uuid4().hex[:8]}", uuid4().hex
    name, words = sql.Identifier(reader), sql.Literal(password)
    with psycopg.connect(shop.address.admin_dsn(), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(name, words))
        connection.execute(sql.SQL("GRANT SELECT ON part TO {}").format(name))
    url = url_of(replace(shop.address, user=reader, password=password))
    with psycopg.connect(url) as connection:
        connection.execute("SELECT FROM part")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("UPDATE part SET held = 0")
    with pytest.raises(StoreFailed) as caught:
        async with open_gate(url, [take_out]):
            pass
    assert caught.value.code == "store.privilege"


async def test_the_ledger_cannot_be_changed_afterwards(shop: Shop, run: Running) -> None:
    await run.gate.decide(await run.order(f"take 1 {shop.stock(3)}"), "approve", by="ana")
    changes = ("UPDATE alfred_gate.ledger_entry SET kind = 'x'", "DELETE FROM alfred_gate.receipt")
    with psycopg.connect(shop.url, autocommit=True) as connection:
        for statement in changes:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


async def test_a_ledger_of_another_version_is_refused_and_left_alone(shop: Shop) -> None:
    async with open_gate(shop.url, [take_out], schema="gate_of_old"):
        pass
    shop.look("UPDATE gate_of_old.schema_part SET revision = '0000_older'")
    with pytest.raises(StoreFailed, match="0000_older"):
        async with open_gate(shop.url, [take_out], schema="gate_of_old"):
            pass
    with pytest.raises(ValueError, match="no plain name"):
        async with open_gate(shop.url, [take_out], schema="gate; DROP TABLE part"):
            pass


async def test_processes_that_open_a_new_gate_at_once_make_its_ledger_once(shop: Shop) -> None:
    async def opened() -> None:
        async with open_gate(shop.url, [take_out], schema="gate_at_once") as gate:
            assert await gate.pending() == []

    await asyncio.gather(*(opened() for _ in range(5)))
    assert len(shop.look("SELECT FROM gate_at_once.schema_part")) == 1


def test_the_gate_needs_nothing_of_alfreds_own_database(shop: Shop, run: Running) -> None:
    names = shop.look("SELECT schemaname, count(*) AS n FROM pg_tables GROUP BY 1")
    assert {row["schemaname"] for row in names} >= {"alfred_gate", "public"}
    extensions = {row["extname"] for row in shop.look("SELECT extname FROM pg_extension")}
    assert extensions == {"plpgsql"}
    public = shop.look("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    theirs = {row["tablename"] for row in public if not row["tablename"].startswith("checkpoint")}
    assert theirs == {"part", "receipt"}


async def test_an_unknown_proposal_is_told(run: Running) -> None:
    error = await refusal(run.gate.load(uuid4()))
    assert isinstance(error, ReviewRefused)
    assert error.code == "review.unknown"
