"""What Prometheus' answers become, and what may become part of a query."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alfred.errors import ProbeFailed
from alfred.probes.alerts_firing import FiringAlerts
from alfred.probes.probe import Window
from alfred.probes.prometheus import (
    MAX_POINTS,
    PrometheusServer,
    PrometheusSettings,
    Reading,
    step_s,
)
from alfred.probes.prometheus_named import NamedMetric, check_query, fill
from alfred.probes.prometheus_query import MetricRange, metric_names
from alfred.probes.prometheus_series import MAX_SERIES, read_series, tell_instant, tell_range
from alfred.probes.toolbox import Toolbox, misfit
from tests.conftest import Answer, LocalServer, Reply
from tests.raw_site import RawSite, read_path

Serve = Callable[[Answer], LocalServer]
NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
HOUR = Window(start=NOON - timedelta(hours=1), end=NOON)
NOTHING = '{"status":"success","data":{"resultType":"matrix","result":[]}}'


def series(values: list[str], **labels: str) -> dict[str, Any]:
    began = (NOON - timedelta(minutes=len(values) - 1)).timestamp()
    return {"metric": labels, "values": [[began + 60 * n, v] for n, v in enumerate(values)]}


def told(*given: dict[str, Any], title: str = "") -> tuple[str, ...]:
    return tell_range(read_series({"resultType": "matrix", "result": [*given]}), HOUR, title).lines


def test_a_series_is_told_by_its_ends_and_extremes_with_their_times() -> None:
    one = series(["0.21", "0.2", "2.4012345678", "2.31"], __name__="p99", service="pay")
    assert told(one) == (
        "p99{service=pay}: first 0.21 at 11:57:00Z, min 0.2 at 11:58:00Z,"
        " max 2.4012 at 11:59:00Z, last 2.31 at 12:00:00Z, 4 points",
    )


def test_a_constant_series_says_so() -> None:
    assert told(series(["3", "3"])) == ("value: always 3, 11:59:00Z to 12:00:00Z, 2 points",)


def test_the_first_of_equal_extremes_is_named() -> None:
    assert "max 5 at 11:59:00Z" in told(series(["1", "5", "5"]))[0]


def test_values_that_are_no_numbers_are_counted_apart() -> None:
    line = told(series(["NaN", "1", "2", "+Inf"]))[0]
    assert line == (
        "value: first NaN at 11:57:00Z, min 1 at 11:58:00Z, max 2 at 11:59:00Z,"
        " last +Inf at 12:00:00Z, 4 points, 2 of them not a number (NaN or Inf)"
    )


def test_the_most_changed_series_come_first_and_the_rest_is_said_to_be_missing() -> None:
    steady = [series(["5", "5.1"], at=f"{n:02}") for n in range(40)]
    noise = series(["0", "0.001"], at="noise")
    body = {"resultType": "matrix", "result": [*steady, noise, series(["5", "50"], at="risen")]}
    found = tell_range(read_series(body), HOUR)
    assert found.lines[0] == f"42 series, the most changed first, {MAX_SERIES} of them told:"
    assert "at=risen" in found.lines[1]
    assert "at=noise" not in found.lines[2]
    assert found.truncated
    assert len(found.lines) == MAX_SERIES + 1


def test_native_histograms_are_told_by_their_mean() -> None:
    sample = [NOON.timestamp(), {"count": "4", "sum": "10", "buckets": []}]
    body = {"resultType": "vector", "result": [{"metric": {}, "histogram": sample}]}
    assert tell_instant(read_series(body), HOUR).lines == ("value: 2.5 at 12:00:00Z",)


@pytest.mark.parametrize(
    "body",
    [
        {"resultType": "vector", "result": [{"metric": {}}, {"value": [1, "2"]}]},
        {"resultType": "matrix", "result": [{"metric": {}, "values": [[1]]}]},
        {"resultType": "matrix", "result": [{"metric": {}, "values": [["x", "1"]]}]},
        {"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "many"]]}]},
        {"resultType": "scalar", "result": None},
        {"resultType": "table", "result": []},
        [],
        None,
    ],
)
def test_what_is_no_series_is_no_answer(body: Any) -> None:
    with pytest.raises(ProbeFailed) as caught:
        read_series(body)
    assert caught.value.code == "probe.answer"


@given(st.lists(st.lists(st.floats().map(repr), min_size=1, max_size=5), max_size=5))
def test_no_value_is_too_odd_to_be_told(values: list[list[str]]) -> None:
    lines = told(*(series(one, n=str(n)) for n, one in enumerate(values)))
    assert len(lines) == len(values) + (len(values) > 1)


@given(st.floats(min_value=0, max_value=1e8))
def test_a_range_has_never_more_points_than_are_wanted(seconds: float) -> None:
    window = Window(start=NOON - timedelta(seconds=seconds), end=NOON)
    assert seconds / step_s(window) + 1 <= MAX_POINTS


# ---- queries ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("up", ["up"]),
        ('sum by (service) (rate(http_requests_total{code="500"}[5m]))', ["http_requests_total"]),
        ("a_total / on(job) group_left(x) b_total offset 5m > bool 2e3", ["a_total", "b_total"]),
        ("histogram_quantile(0.99, sum(rate(d_bucket[5m])) by (le))", ["d_bucket"]),
        ("topk(3, job:errors:rate5m) or vector(0)", ["job:errors:rate5m"]),
        ('label_replace(up, "a", "$1", "b", "(c_d)")', ["up"]),
        ("1 + 1", []),
        ('{__name__="up"}', []),
    ],
)
def test_the_metrics_that_a_query_names_are_found(query: str, names: list[str]) -> None:
    assert metric_names(query) == names


def test_a_service_becomes_a_label_value_and_nothing_else() -> None:
    plain = 'sum(rate(x{service="$service"}[5m]))'
    assert fill(plain, "pay") == 'sum(rate(x{service="pay"}[5m]))'
    assert fill(plain, 'a"} or up{b="') == 'sum(rate(x{service="a\\"} or up{b=\\""}[5m]))'
    assert fill(plain, "a\\") == 'sum(rate(x{service="a\\\\"}[5m]))'
    assert fill(plain, "$service") == 'sum(rate(x{service="$service"}[5m]))'


def test_a_service_stands_literally_in_a_regular_expression() -> None:
    assert fill('x{a=~"$service-.*"}', "p.*") == 'x{a=~"p\\\\.\\\\*-.*"}'
    assert fill('x{a !~ "$service"}', "a|b") == 'x{a !~ "a\\\\|b"}'


@pytest.mark.parametrize(
    "query", ["x{a=$service}", "rate(x[$window])", "x{a='$service'}", 'x{a=`$service`,b="c"}']
)
def test_a_placeholder_that_could_become_query_is_refused(query: str) -> None:
    with pytest.raises(ProbeFailed) as caught:
        check_query("latency", query)
    assert caught.value.code == "probe.settings"
    assert "queries.latency" in caught.value.message


def named(**more: Any) -> NamedMetric:
    return NamedMetric(PrometheusServer(PrometheusSettings(url="http://127.0.0.1:1", **more)))


def test_ready_made_questions_are_an_enumeration() -> None:
    about_all = named(queries={"up": "up"})
    assert misfit(about_all, {"name": "up"}) == ""
    assert misfit(about_all, {"name": "up", "service": "pay"}) != ""
    mixed = named(queries={"up": "up", "p99": 'p{s="$service"}'}, services=("pay", "search"))
    assert misfit(mixed, {"name": "up"}) == ""
    assert misfit(mixed, {"name": "p99", "service": "mail"}) != ""
    needing = named(queries={"p99": 'p{s="$service"}'})
    assert "service" in misfit(needing, {"name": "p99"})


def test_no_ready_made_questions_are_a_mistake_of_the_settings() -> None:
    with pytest.raises(ProbeFailed, match="No queries are configured"):
        named()


# ---- what a server says beside its data -------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (600, r" Its clock is (59\d|60\d) s ahead of ours; times are given as it gave them\."),
        (-600, r" Its clock is (59\d|60\d) s behind ours; times are given as it gave them\."),
        (0, r"every 30 s\.$"),
    ],
)
async def test_a_clock_that_differs_is_said_and_shifts_nothing(seconds: int, said: str) -> None:
    def talk(connection: Any) -> None:
        read_path(connection)
        date = format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)
        head = f"HTTP/1.1 200 OK\r\nDate: {date}\r\nContent-Length: {len(NOTHING)}\r\n\r\n"
        connection.sendall((head + NOTHING).encode())

    site = RawSite(talk)
    probe = MetricRange(PrometheusServer(PrometheusSettings(url=site.url)))
    finding = await probe.look({"query": "1"}, HOUR)
    await probe.aclose()
    site.close()
    assert re.search(said, finding.asked)


async def test_warnings_of_prometheus_are_passed_on(serve: Serve) -> None:
    body = NOTHING[:-1] + ',"warnings":["a shard is missing"]}'
    probe = MetricRange(
        PrometheusServer(PrometheusSettings(url=serve(lambda _: Reply(body=body.encode())).url))
    )
    finding = await probe.look({"query": "1"}, HOUR)
    await probe.aclose()
    assert finding.asked.endswith(" Prometheus warns: a shard is missing.")


async def test_a_rule_that_cannot_be_evaluated_is_a_line(serve: Serve) -> None:
    def answer(asked: Any) -> Reply:
        rule = '{"name":"Slow","health":"err","lastError":"many-to-many matching"}'
        rules = f'{{"status":"success","data":{{"groups":[{{"rules":[{rule}]}}]}}}}'
        alerts = '{"status":"success","data":{"alerts":[]}}'
        return Reply(body=(rules if "rules" in asked.path else alerts).encode())

    probe = FiringAlerts(PrometheusServer(PrometheusSettings(url=serve(answer).url)))
    now = datetime.now(UTC)
    finding = await probe.look({}, Window(start=now - timedelta(hours=1), end=now))
    await probe.aclose()
    assert finding.lines == ("alerting rule Slow cannot be evaluated: many-to-many matching",)
    assert "0 firing, 0 pending; 1 alerting rule." in finding.asked


async def test_alerts_are_told_where_rules_are_not_to_be_had(serve: Serve) -> None:
    def answer(asked: Any) -> Reply:
        if "rules" in asked.path:
            return Reply(status=404, kind="text/plain", body=b"404 page not found")
        return Reply(body=b'{"status":"success","data":{"alerts":[]}}')

    probe = FiringAlerts(PrometheusServer(PrometheusSettings(url=serve(answer).url)))
    now = datetime.now(UTC)
    finding = await probe.look({}, Window(start=now - timedelta(hours=1), end=now))
    await probe.aclose()
    assert finding.lines == ()
    assert "its rules are not known (Prometheus at http://" in finding.asked


async def test_an_alert_that_paused_is_told_as_two_times(serve: Serve) -> None:
    start, end = HOUR.start.timestamp(), HOUR.end.timestamp()
    step = step_s(HOUR)
    times = [start, start + step, end - step, end]
    values = ",".join(f'[{moment},"1"]' for moment in times)
    one = f'{{"metric":{{"alertname":"Slow","alertstate":"firing","pod":"a"}},"values":[{values}]}}'
    body = NOTHING.replace("[]", f"[{one}]").encode()
    probe = FiringAlerts(
        PrometheusServer(PrometheusSettings(url=serve(lambda _: Reply(body=body)).url))
    )
    finding = await probe.look({}, HOUR)
    await probe.aclose()
    assert finding.lines == ("Slow{pod=a} fired 11:00:00Z to 11:00:30Z, 11:59:30Z to 12:00:00Z",)


@pytest.mark.parametrize("query", ["x{a='\"$service\"'}", 'x{a="b"} # "$service"'])
def test_double_quotes_inside_another_string_or_a_comment_are_none(query: str) -> None:
    with pytest.raises(ProbeFailed, match="beside a comment or a string"):
        check_query("latency", query)


def test_other_quotes_do_no_harm_where_nothing_is_filled_in() -> None:
    check_query("latency", "x{a='b'}")
    check_query("latency", 'x{a="it\'s #1 $service"}')


ODD = st.sampled_from(
    [
        *(
            None,
            True,
            3,
            -1,
            10**400,
            float("inf"),
            float("nan"),
            "",
            "x",
            [],
            {},
            [None],
            [[1, "2"]],
        ),
        *("2026-03-02T14:00:00Z", "2026-03-02T14:00:00", "0001-01-01T00:00:00+05:00", "\ud800"),
    ]
)


def mutations(value: Any) -> st.SearchStrategy[Any]:
    """Replace any part of a document by something odd."""
    if isinstance(value, dict):
        return ODD | st.fixed_dictionaries({}, optional={k: mutations(v) for k, v in value.items()})
    if isinstance(value, list):
        return ODD | st.tuples(*map(mutations, value)).map(list)
    return ODD | st.just(value)


SERIES = {"metric": {"__name__": "up", "a": "b"}, "values": [[1772460000, "1"], [1772460060, "2"]]}
ALERT = {
    "labels": {"alertname": "A", "s": "c"},
    "annotations": {"summary": "s"},
    "state": "firing",
    "activeAt": "2026-03-02T14:00:00Z",
    "value": "1e+00",
}


@given(mutations({"resultType": "matrix", "result": [SERIES, SERIES]}))
def test_no_series_breaks_what_tells_it(data: Any) -> None:
    with contextlib.suppress(ProbeFailed):
        found = read_series(data)
        for answer in (tell_range(found, HOUR), tell_instant(found, HOUR)):
            assert all("\n" not in line for line in answer.lines)


@given(mutations({"alerts": [ALERT, ALERT]}))
async def test_no_alert_breaks_what_tells_it(data: Any) -> None:
    class Recorded(PrometheusServer):
        """A server of which one answer is known."""

        async def alerts(self) -> Reading:
            return Reading(value=data)

        async def alert_rules(self) -> Reading:
            return Reading(value=data)

    server = Recorded(PrometheusSettings(url="http://127.0.0.1:1"))
    now = datetime.now(UTC)
    window = Window(start=now - timedelta(hours=1), end=now)
    call = await Toolbox([FiringAlerts(server)]).call("alerts", {}, window, [], round_=1)
    assert call["outcome"] in ("ok", "empty", "failed")
