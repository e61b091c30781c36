"""Probes against the real thing: Prometheus, systemd's journal, PostgreSQL."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from alfred.engine.database import Role
from alfred.errors import ProbeFailed
from alfred.probes.alerts_firing import FiringAlerts
from alfred.probes.database_questions import QUESTIONS
from alfred.probes.database_statistics import DatabaseSettings, DatabaseStatistics
from alfred.probes.journal import JournalSearch, JournalSettings
from alfred.probes.probe import Probe, Window
from alfred.probes.prometheus import PrometheusServer, PrometheusSettings
from alfred.probes.prometheus_named import NamedMetric
from alfred.probes.prometheus_query import MetricInstant, MetricNames, MetricRange
from alfred.probes.tool_call import ToolCall
from alfred.probes.toolbox import Toolbox
from alfred.store.address import Address
from tests.conftest import Answer, Asked, LocalServer, Reply
from tests.monitored import Exporter, debian_program, free_port, watched, write_journal

Serve = Callable[[Answer], LocalServer]
METRICS = """\
# TYPE queue_depth gauge
queue_depth{service="checkout",queue="pay"} 17
queue_depth{service="search",queue="index"} 2
# TYPE odd_value gauge
odd_value NaN
"""
RULES = """\
groups:
- name: checkout
  rules:
  - alert: QueueIsLong
    expr: queue_depth{service="checkout"} > 10
    labels: {severity: page}
    annotations: {summary: "the queue is {{ $value }} long"}
  - alert: NeverFires
    expr: queue_depth > 1000
"""


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    exporter = Exporter(METRICS)
    try:
        with watched(exporter, tmp_path_factory.mktemp("prometheus"), RULES) as url:
            yield url
    finally:
        exporter.stop()


def last_minutes(minutes: float = 10) -> Window:
    now = datetime.now(UTC)
    return Window(start=now - timedelta(minutes=minutes), end=now)


async def ask(probe: Probe, window: Window | None = None, /, **arguments: Any) -> ToolCall:
    toolbox = Toolbox([probe])
    try:
        return await toolbox.call(probe.name, arguments, window or last_minutes(), [], round_=1)
    finally:
        await toolbox.aclose()


def server(url: str, **more: Any) -> PrometheusServer:
    return PrometheusServer(PrometheusSettings(url=url, **more))


async def test_every_instance_of_a_firing_alert_is_a_line(prometheus: str) -> None:
    call = await ask(FiringAlerts(server(prometheus)))
    port = prometheus.rsplit(":", 1)[1]
    assert call["outcome"] == "ok"
    assert len(call["lines"]) == 2
    for line, host in zip(call["lines"], ("127.0.0.1", "localhost"), strict=True):
        assert line.startswith(f"QueueIsLong{{instance={host}:")
        assert "service=checkout, severity=page} firing since" in line
        assert line.endswith("value 17 - the queue is 17 long")
    assert "2 firing, 0 pending; 2 alerting rules" in call["asked"]
    assert call["where"] == f"Prometheus at http://127.0.0.1:{port}"


async def test_alerts_of_a_window_that_has_passed_come_from_the_history(prometheus: str) -> None:
    end = datetime.now(UTC) - timedelta(minutes=20)
    window = Window(start=end - timedelta(hours=1), end=end)
    call = await ask(FiringAlerts(server(prometheus)), window)
    assert call["outcome"] == "empty"
    assert "0 instances" in call["asked"]


async def test_a_range_sums_up_each_series_in_one_line(prometheus: str) -> None:
    call = await ask(MetricRange(server(prometheus)), query="queue_depth")
    assert call["lines"][0] == "4 series, the most changed first:"
    assert len(call["lines"]) == 5
    found = [line for line in call["lines"] if "localhost" in line and "queue=pay" in line]
    assert ": always 17, " in found[0]
    assert call["start"] is not None


async def test_an_instant_query_gives_the_largest_value_first(prometheus: str) -> None:
    query = "sum by (service) (queue_depth)"
    call = await ask(MetricInstant(server(prometheus)), query=query)
    assert call["lines"][0] == "2 series, the largest first:"
    assert call["lines"][1].startswith("{service=checkout}: 34 at ")
    assert call["lines"][2].startswith("{service=search}: 4 at ")


@pytest.mark.parametrize("query", ["odd_value", "-1 / (queue_depth * 0)"])
async def test_what_is_not_a_number_is_told_as_such(prometheus: str, query: str) -> None:
    instant = await ask(MetricInstant(server(prometheus)), query=query)
    assert any(word in instant["lines"][1] for word in ("NaN", "-Inf"))
    ranged = await ask(MetricRange(server(prometheus)), query=query)
    assert "never a number" in ranged["lines"][1]


async def test_scalars_strings_and_raw_ranges_are_read(prometheus: str) -> None:
    probe = MetricInstant(server(prometheus))
    assert (await ask(probe, query="1.5"))["lines"][0].startswith("value: 1.5 at ")
    assert (await ask(probe, query='"some words"'))["lines"][0].startswith("value: some words at ")
    assert len((await ask(probe, query="queue_depth[1m]"))["lines"]) == 5


async def test_a_metric_without_values_is_told_from_one_that_does_not_exist(
    prometheus: str,
) -> None:
    nothing = await ask(MetricRange(server(prometheus)), query='queue_depth{service="mail"}')
    assert nothing["outcome"] == "empty"
    invented = await ask(MetricRange(server(prometheus)), query="rate(queue_length_total[1m])")
    assert invented["outcome"] == "failed"
    assert "Prometheus has no metric queue_length_total" in invented["error"]


async def test_a_wrong_query_comes_back_with_prometheus_own_words(prometheus: str) -> None:
    call = await ask(MetricRange(server(prometheus)), query="sum(queue_depth")
    assert call["outcome"] == "failed"
    assert call["error"].startswith("probe.query: Prometheus does not accept the query:")
    assert "unclosed left parenthesis" in call["error"]


async def test_names_are_found_by_a_word(prometheus: str) -> None:
    call = await ask(MetricNames(server(prometheus)), word="QUEUE")
    assert call["lines"] == ["queue_depth"]
    assert (await ask(MetricNames(server(prometheus)), word="nosuch"))["outcome"] == "empty"


async def test_a_ready_made_question_takes_a_service(prometheus: str) -> None:
    queries = {"depth": 'max(queue_depth{service=~"$service"})', "up": "min(up)"}
    probe = NamedMetric(server(prometheus, queries=queries))
    assert "always 17" in (await ask(probe, name="depth", service="checkout"))["lines"][0]
    assert (await ask(probe, name="depth", service='x"} or queue_depth{a=~"'))["lines"] == []
    assert (await ask(probe, name="depth", service=".*"))["outcome"] == "empty"
    assert "needs a service" in (await ask(probe, name="depth"))["error"]
    assert (await ask(probe, name="up"))["lines"][0].startswith("up: ")


async def test_the_first_look_shows_alerts_in_time(prometheus: str) -> None:
    toolbox = Toolbox([FiringAlerts(server(prometheus)), MetricRange(server(prometheus))])
    calls = await toolbox.first_look(last_minutes(), {})
    await toolbox.aclose()
    assert [(call["tool"], call["outcome"]) for call in calls] == [("alerts", "ok")]
    assert len(calls[0]["lines"]) == 2


async def test_a_prometheus_that_is_down_is_named_with_its_address() -> None:
    url = f"http://user:hunter2@127.0.0.1:{free_port()}"
    call = await ask(FiringAlerts(server(url)))
    assert call["outcome"] == "failed"
    assert call["error"].startswith("probe.unreachable: Prometheus at http://127.0.0.1:")
    assert "hunter2" not in str(call)


async def test_a_page_instead_of_an_answer_is_told_as_one(serve: Serve) -> None:
    page = Reply(kind="text/html", body=b"<!doctype html><title>Sign in</title>")
    call = await ask(FiringAlerts(server(serve(lambda _: page).url)))
    assert call["outcome"] == "failed"
    assert "answered with a web page, not JSON (status 200)" in call["error"]


async def test_an_answer_of_fifty_megabytes_is_not_read_to_its_end(serve: Serve) -> None:
    sent: list[int] = []

    def pieces() -> Iterator[bytes]:
        yield b'{"status":"success","data":{"resultType":"matrix","result":['
        for _ in range(50):
            sent.append(1)
            yield b'{"metric":{},"values":[[1,"2"]]},' * 31_000

    site = serve(lambda _: Reply(pieces=pieces()))
    call = await ask(MetricRange(server(site.url)), query="up")
    assert call["outcome"] == "failed"
    assert "more than 4,000,000 bytes" in call["error"]
    assert len(sent) < 50


async def test_a_prometheus_that_hangs_is_given_up(serve: Serve) -> None:
    def silence(_: Asked) -> Reply:
        time.sleep(0.5)
        return Reply()

    call = await ask(MetricRange(server(serve(silence).url, timeout_s=0.2)), query="up")
    assert call["outcome"] == "timeout"
    assert call["error"] == "No answer within 0.2 s."


# ---- the journal ------------------------------------------------------------------------------


NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
AROUND_NOON = Window(start=NOON - timedelta(minutes=30), end=NOON)


def entry(seconds_before: float, message: str | bytes, **fields: str) -> dict[str, str | bytes]:
    since = timedelta(seconds=seconds_before)
    return {
        "__REALTIME_TIMESTAMP": str(int((NOON - since).timestamp() * 1_000_000)),
        "__MONOTONIC_TIMESTAMP": str(int(1e10 - seconds_before * 1e6)),
        "_BOOT_ID": "5" * 32,
        "_SYSTEMD_UNIT": "checkout.service",
        "SYSLOG_IDENTIFIER": "checkout",
        "PRIORITY": "6",
        "MESSAGE": message,
        **fields,
    }


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> JournalSearch:
    file = tmp_path_factory.mktemp("journal") / "system.journal"
    entries = [
        entry(7200, "ERROR long before the window"),
        entry(1500, "INFO started with 50 connections"),
        entry(900, "ERROR pool exhausted after 3000 ms\nTraceback\nPoolTimeout: 支付"),
        entry(890, "mail is another's", _SYSTEMD_UNIT="mail.service"),
        entry(600, b"broken \xff\xfe bytes", PRIORITY="3"),
        entry(300, "slow", PRIORITY="4"),
        entry(60, "x" * 9000 + " end of a long line"),
    ]
    write_journal(file, entries)
    command = str(debian_program("journalctl", "systemd", "bin/journalctl"))
    units = ("checkout.service", "absent.service")
    return JournalSearch(JournalSettings(units=units, file=file, command=command))


async def test_the_journal_of_a_unit_is_read_in_the_window_alone(journal: JournalSearch) -> None:
    call = await ask(journal, AROUND_NOON, unit="checkout.service")
    assert call["lines"][0] == "5 lines in log checkout.service, 11:35:00Z to 11:59:00Z:"
    assert call["lines"][1:4] == [
        "11:35:00Z checkout: INFO started with 50 connections",
        "11:45:00Z checkout: ERROR pool exhausted after 3000 ms | PoolTimeout: 支付",
        "11:50:00Z checkout: broken �� bytes",
    ]
    assert call["lines"][5].startswith("11:59:00Z checkout: xxx")


async def test_the_journal_is_searched_by_level_and_literal_words(journal: JournalSearch) -> None:
    errors = await ask(journal, AROUND_NOON, unit="checkout.service", level="error")
    assert [line[:9] for line in errors["lines"][1:]] == ["11:45:00Z", "11:50:00Z"]
    words = await ask(journal, AROUND_NOON, unit="checkout.service", contains="POOL exh")
    assert [line[:9] for line in words["lines"]] == ["11:45:00Z"]
    literal = await ask(journal, AROUND_NOON, unit="checkout.service", contains="pool.*")
    assert literal["outcome"] == "empty"
    assert "with 'pool.*'" in literal["asked"]


async def test_a_unit_that_said_nothing_is_negative_evidence(journal: JournalSearch) -> None:
    call = await ask(journal, AROUND_NOON, unit="absent.service")
    assert call["outcome"] == "empty"
    assert "absent.service from 2026-05-04T11:30:00Z to 12:00:00Z: 0 entries" in call["asked"]


async def test_a_journal_that_is_none_is_named(tmp_path: Path, journal: JournalSearch) -> None:
    file = tmp_path / "broken.journal"
    file.write_bytes(b"no journal")
    settings = JournalSettings(units=("a.service",), file=file)
    call = await ask(JournalSearch(settings), AROUND_NOON, unit="a.service")
    assert call["outcome"] == "failed"
    assert call["error"].startswith("probe.unreachable: journalctl cannot read the journal:")


# ---- PostgreSQL -------------------------------------------------------------------------------


@pytest.fixture
def statistics(database: Address) -> DatabaseStatistics:
    return DatabaseStatistics(DatabaseSettings(dsn=database.admin_dsn()))


@pytest.mark.parametrize("question", [name for name in QUESTIONS if name != "slow_statements"])
async def test_every_question_is_one_that_postgresql_answers(
    statistics: DatabaseStatistics, question: str
) -> None:
    call = await ask(statistics, question=question)
    assert call["outcome"] in ("ok", "empty"), call["error"]
    assert call["asked"].startswith(QUESTIONS[question].searched)


async def test_a_session_that_waits_for_a_lock_is_told_with_who_holds_it(
    database: Address, statistics: DatabaseStatistics
) -> None:
    async with (
        await psycopg.AsyncConnection.connect(database.admin_dsn()) as holder,
        await psycopg.AsyncConnection.connect(database.admin_dsn()) as waiter,
    ):
        await holder.execute("SELECT pg_advisory_xact_lock(4711)")
        waiting = asyncio.create_task(waiter.execute("SELECT pg_advisory_xact_lock(4711)"))
        lines: list[str] = []
        async with asyncio.timeout(20):
            while not lines:
                lines = (await ask(statistics, question="locks"))["lines"]
        (line,) = [line for line in lines if f"pid {waiter.info.backend_pid} waits" in line]
        assert f"held up by pid {holder.info.backend_pid} (idle in transaction for" in line
        activity = await ask(statistics, question="activity")
        assert any("waits for Lock/advisory" in line for line in activity["lines"])
        await holder.rollback()
        await waiting


@pytest.fixture(scope="module")
def shop(database: Address) -> Address:
    """Make a database with a busy table, and the columns that pg_stat_statements gives."""
    with psycopg.connect(database.in_database("postgres").admin_dsn(), autocommit=True) as admin:
        admin.execute("CREATE DATABASE shop")
    shop = database.in_database("shop")
    with psycopg.connect(shop.admin_dsn()) as connection:
        connection.execute("CREATE TABLE basket AS SELECT generate_series(1, 500) AS id")
        connection.execute(
            "CREATE TABLE pg_stat_statements AS SELECT oid AS dbid, 12::bigint AS calls,"
            " $$UPDATE basket SET id = 7 WHERE owner = 'some''body'$$ AS query,"
            " 812.34567::float8 AS mean_exec_time, 3000.5::float8 AS max_exec_time,"
            " 9748.14804::float8 AS total_exec_time FROM pg_database WHERE datname = 'shop'"
        )
        # The test server comes without the extension; this is how an installed one is known.
        connection.execute("SET allow_system_table_mods = on")
        connection.execute(
            "INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable,"
            " extversion) VALUES (99999, 'pg_stat_statements', 10, 'public'::regnamespace, false,"
            " '1.10')"
        )
    return shop


async def test_slow_statements_are_told_without_their_literals(shop: Address) -> None:
    probe = DatabaseStatistics(DatabaseSettings(dsn=shop.admin_dsn()))
    assert (await ask(probe, question="slow_statements"))["lines"] == [
        "mean 812.3 ms, max 3000.5 ms, 12 calls, total 9748.1 ms:"
        " UPDATE basket SET id = 7 WHERE owner = '…'"
    ]


async def test_settings_are_told_in_their_units(shop: Address) -> None:
    probe = DatabaseStatistics(DatabaseSettings(dsn=shop.admin_dsn()))
    lines = (await ask(probe, question="settings"))["lines"]
    assert "deadlock_timeout = 1s" in lines
    assert any(line.startswith("max_connections = ") for line in lines)


async def test_slow_statements_need_their_extension(statistics: DatabaseStatistics) -> None:
    call = await ask(statistics, question="slow_statements")
    assert call["outcome"] == "failed"
    assert "has no pg_stat_statements. Load it" in call["error"]


@pytest.mark.parametrize(
    "write",
    ["SELECT lo_create(0)", "SELECT setval('kernel.nothing', 1)", "SELECT 1) a; DROP TABLE x"],
)
async def test_the_transaction_that_asks_cannot_write(
    statistics: DatabaseStatistics, write: str
) -> None:
    with pytest.raises(ProbeFailed) as caught:
        await statistics._ask(write)
    assert caught.value.code == "probe.query"


async def test_a_login_that_may_write_cannot_through_the_probe(database: Address) -> None:
    with psycopg.connect(database.in_database("postgres").admin_dsn(), autocommit=True) as admin:
        admin.execute("CREATE DATABASE trap")
    trap = database.in_database("trap")
    with psycopg.connect(trap.admin_dsn()) as connection:
        connection.execute("CREATE TABLE written (by text)")
        connection.execute(
            "CREATE FUNCTION note() RETURNS int LANGUAGE sql VOLATILE AS"
            " $$INSERT INTO public.written VALUES (current_user) RETURNING 1$$"
        )
    statistics = DatabaseStatistics(DatabaseSettings(dsn=trap.admin_dsn()))
    for statement in (
        "SELECT public.note()",
        "SELECT set_config('transaction_read_only', 'off', true), public.note()",
        "SELECT set_config('default_transaction_read_only', 'off', false), public.note()",
    ):
        with pytest.raises(ProbeFailed, match="refuses the question"):
            await statistics._ask(statement)
    with psycopg.connect(trap.admin_dsn()) as connection:
        assert connection.execute("SELECT count(*) FROM written").fetchone() == (0,)


async def test_what_others_put_beside_postgresqls_own_is_never_called(database: Address) -> None:
    with psycopg.connect(database.in_database("postgres").admin_dsn(), autocommit=True) as admin:
        admin.execute("CREATE DATABASE planted")
    planted = database.in_database("planted")
    with psycopg.connect(planted.admin_dsn()) as connection:
        connection.execute(
            "CREATE VIEW pg_stat_statements AS SELECT pg_advisory_lock(4711)::text AS query,"
            " 1::bigint AS calls, 1.0::float8 AS mean_exec_time, 1.0::float8 AS max_exec_time,"
            " 1.0::float8 AS total_exec_time, oid AS dbid FROM pg_database"
        )
    statistics = DatabaseStatistics(DatabaseSettings(dsn=planted.admin_dsn()))
    call = await ask(statistics, question="slow_statements")
    assert call["outcome"] == "failed"
    assert "has no pg_stat_statements. Load it" in call["error"]


async def test_what_a_login_may_not_see_is_said_to_be_hidden(database: Address) -> None:
    probe = DatabaseStatistics(DatabaseSettings(dsn=database.dsn(Role.READER)))
    async with await psycopg.AsyncConnection.connect(database.admin_dsn()):
        for question in ("activity", "connections"):
            call = await ask(probe, question=question)
            assert any("in a hidden state" in line for line in call["lines"])
            assert call["asked"].endswith("Statements of other users are hidden: grant pg_monitor.")


async def test_a_question_that_takes_too_long_is_ended_by_the_server(database: Address) -> None:
    settings = DatabaseSettings(dsn=database.admin_dsn(), timeout_s=0.3)
    with pytest.raises(TimeoutError, match="did not answer in time"):
        await DatabaseStatistics(settings)._ask("SELECT pg_sleep(600)")


async def test_a_question_of_ones_own_is_not_sent(statistics: DatabaseStatistics) -> None:
    call = await ask(statistics, question="DROP TABLE users")
    assert call["outcome"] == "refused"


async def test_a_password_stays_out_of_what_is_told() -> None:
    dsn = f"postgresql://someone:hunter2@127.0.0.1:{free_port()}/shop"
    call = await ask(DatabaseStatistics(DatabaseSettings(dsn=dsn)), question="activity")
    assert call["outcome"] == "failed"
    assert "PostgreSQL database shop at 127.0.0.1:" in call["error"]
    assert "hunter2" not in str(call)
