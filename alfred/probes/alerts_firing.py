"""A probe that lists alerts, every instance of each: those of now, or those of a past window."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from alfred.errors import ProbeFailed
from alfred.probes.probe import Finding, Window
from alfred.probes.prometheus import PrometheusServer, Reading, as_list, as_mapping, step_s
from alfred.probes.prometheus_series import Series, read_series
from alfred.probes.said import (
    say_count,
    say_labels,
    say_number,
    say_text,
    say_time,
    say_window,
)
from alfred.probes.tool_call import Kind

MAX_ALERTS = 35
MAX_SPANS = 4
NOW_IS_WITHIN = timedelta(minutes=5)
"""A window that ended longer ago asks Prometheus' history instead of what fires now."""
_STATES = ("firing", "pending")


class FiringAlerts:
    """`alerts`: every instance of every alert, with its labels, state, since when and value."""

    name = "alerts"
    kind: Kind = "alerts"
    description = "Alerts that fire or are pending, every instance."
    is_primary = False
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }

    def __init__(self, server: PrometheusServer) -> None:
        self._server = server
        self.timeout_s = server.settings.timeout_s

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        if datetime.now(UTC) - window.end > NOW_IS_WITHIN:
            return await self._in_the_past(window)
        alerts, (rules, sick) = await asyncio.gather(self._server.alerts(), self._rules())
        found = _read(alerts, self._server)
        firing = sum(one["state"] == "firing" for one in found)
        lines = [_line(one, window) for one in found[:MAX_ALERTS]]
        return Finding(
            asked=f"alerts that fire or are pending now: {firing} firing,"
            f" {len(found) - firing} pending; {rules}.{alerts.remarks}",
            where=self._server.where,
            lines=(*lines, *sick[:3]),
            start=min((one["since"] for one in found), default=None),
            end=window.end if found else None,
            truncated=len(found) > MAX_ALERTS,
        )

    async def _rules(self) -> tuple[str, list[str]]:
        """Count the rules and name the sick ones: without rules, no alert says nothing."""
        try:
            reading = await self._server.alert_rules()
        except ProbeFailed as error:
            return f"its rules are not known ({error.message.rstrip('.')})", []
        count, sick = _health(reading)
        return (say_count(count, "alerting rule") if count else "no alerting rule at all"), sick

    async def _in_the_past(self, window: Window) -> Finding:
        reading = await self._server.query_range('ALERTS{alertstate="firing"}', window)
        series = [one for one in read_series(reading.value) if one.points]
        series.sort(key=lambda one: (one.points[0][0], say_labels(one.labels)))
        step = step_s(window)
        moments = [one.points[place][0] for one in series for place in (0, -1)]
        return Finding(
            asked=f"alerts that fired {say_window(window)}, looked at every {step} s:"
            f" {say_count(len(series), 'instance')}.{reading.remarks}",
            where=self._server.where,
            lines=tuple(_past_line(one, window, step) for one in series[:MAX_ALERTS]),
            start=min(moments, default=None),
            end=max(moments, default=None),
            truncated=len(series) > MAX_ALERTS,
        )

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> Mapping[str, Any]:
        return {}

    async def aclose(self) -> None:
        await self._server.aclose()


def _read(reading: Reading, server: PrometheusServer) -> list[dict[str, Any]]:
    """Read the alerts, firing ones first, then by name and labels."""
    found: list[dict[str, Any]] = []
    for given in as_list(as_mapping(reading.value).get("alerts")):
        one = as_mapping(given)
        try:
            since = _moment(str(one["activeAt"]))
            labels = {str(k): str(v) for k, v in as_mapping(one["labels"]).items()}
            state = str(one["state"])
        except (KeyError, ValueError) as exc:
            raise server.not_understood("an alert that is not in its own format") from exc
        name = labels.pop("alertname", "unnamed")
        found.append(
            {
                "name": say_text(name, 80),
                "labels": say_labels(labels),
                "state": state,
                "since": since,
                "value": say_number(str(one.get("value", ""))),
                "summary": say_text(
                    str(as_mapping(one.get("annotations")).get("summary", "")), 100
                ),
            }
        )
    shown = [one for one in found if one["state"] in _STATES]
    shown.sort(key=lambda one: (one["state"] != "firing", one["name"], one["labels"]))
    return shown


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("it has no zone")
    return moment


def _line(one: Mapping[str, Any], window: Window) -> str:
    summary = f" - {one['summary']}" if one["summary"] else ""
    since = say_time(one["since"], window)
    return (
        f"{one['name']}{one['labels']} {one['state']} since {since}, value {one['value']}{summary}"
    )


def _past_line(one: Series, window: Window, step: int) -> str:
    """Tell when an instance fired; where it paused, each time it did."""
    labels = {k: v for k, v in one.labels.items() if k not in ("alertname", "alertstate")}
    name = say_text(one.labels.get("alertname", "unnamed"), 80)
    spans: list[list[datetime]] = []
    for moment, _ in one.points:
        if spans and moment - spans[-1][1] <= timedelta(seconds=step):
            spans[-1][1] = moment
        else:
            spans.append([moment, moment])
    told = [f"{say_time(a, window)} to {say_time(b, window)}" for a, b in spans[:MAX_SPANS]]
    more = f" and {len(spans) - MAX_SPANS} times more" if len(spans) > MAX_SPANS else ""
    return f"{name}{say_labels(labels)} fired {', '.join(told)}{more}"


def _health(reading: Reading) -> tuple[int, list[str]]:
    """Count the rules, and give a line for each that cannot be evaluated."""
    rules = [
        as_mapping(rule)
        for group in as_list(as_mapping(reading.value).get("groups"))
        for rule in as_list(as_mapping(group).get("rules"))
    ]
    sick = [
        f"alerting rule {say_text(str(rule.get('name')), 80)} cannot be evaluated:"
        f" {say_text(str(rule.get('lastError', '')), 160)}"
        for rule in rules
        if rule.get("health") == "err"
    ]
    return len(rules), sick
