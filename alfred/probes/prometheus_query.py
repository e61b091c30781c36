"""Probes that put a query of the model's own to Prometheus, and one that finds metric names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from alfred.errors import ProbeFailed
from alfred.probes.probe import Finding, Window
from alfred.probes.prometheus import PrometheusServer, as_list, step_s
from alfred.probes.prometheus_series import read_series, tell_instant, tell_range
from alfred.probes.said import say_count, say_text, say_window
from alfred.probes.tool_call import Kind

MAX_QUERY_CHARS = 300
MAX_NAMES = 40
_QUERY = {"query": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_CHARS}}
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`")
_NOT_NAMES = re.compile(
    r"\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)"
)
_NAME = re.compile(r"(?<![\w:.])[a-zA-Z_:][\w:]*(?!\s*\(|[\w:])")
_WORDS = frozenset({"and", "or", "unless", "offset", "bool", "atan2", "inf", "nan"}) | {
    *("sum", "avg", "min", "max", "count", "stddev", "stdvar", "group"),
    *("topk", "bottomk", "quantile", "count_values"),
}
"""Words of PromQL that stand where a metric's name could; an operator before `by (...)` is one."""


class MetricRange:
    """`metrics_range`: PromQL over the window, each series summed up in one line."""

    name = "metrics_range"
    kind: Kind = "metrics"
    description = "PromQL over the window: first, min, max and last of each series."
    is_primary = True
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": _QUERY,
        "required": ["query"],
        "additionalProperties": False,
    }

    def __init__(self, server: PrometheusServer) -> None:
        self._server = server
        self.timeout_s = server.settings.timeout_s

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        query = str(arguments["query"])
        return await ask_range(self._server, query, window, what=say_text(query, MAX_QUERY_CHARS))

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> None:
        return None

    async def aclose(self) -> None:
        await self._server.aclose()


class MetricInstant:
    """`metrics_instant`: PromQL at the end of the window."""

    name = "metrics_instant"
    kind: Kind = "metrics"
    description = "PromQL at the end of the window: one value for each series."
    is_primary = True
    parameters: Mapping[str, Any] = MetricRange.parameters

    def __init__(self, server: PrometheusServer) -> None:
        self._server = server
        self.timeout_s = server.settings.timeout_s

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        query = str(arguments["query"])
        reading = await self._server.query(query, window.end)
        series = read_series(reading.value)
        told = tell_instant(series, window)
        if not told.lines:
            await _check_names(self._server, query, window)
        asked = f"{say_text(query, MAX_QUERY_CHARS)} at {window.end:%Y-%m-%dT%H:%M:%S%z}."
        return Finding(
            asked=asked + reading.remarks,
            where=self._server.where,
            lines=told.lines,
            start=told.start,
            end=told.end,
            truncated=told.truncated,
        )

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> None:
        return None

    async def aclose(self) -> None:
        await self._server.aclose()


class MetricNames:
    """`metrics_like`: the names of metrics that contain a word."""

    name = "metrics_like"
    kind: Kind = "metrics"
    description = "Names of metrics that contain a word."
    is_primary = False
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {"word": {"type": "string", "pattern": "^[A-Za-z0-9_:]{1,60}$"}},
        "required": ["word"],
        "additionalProperties": False,
    }

    def __init__(self, server: PrometheusServer) -> None:
        self._server = server
        self.timeout_s = server.settings.timeout_s

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        word = str(arguments["word"])
        selector = f'{{__name__=~"(?i:.*{re.escape(word)}.*)"}}'
        reading = await self._server.names(selector, window)
        names = sorted(say_text(str(name), 120) for name in as_list(reading.value))
        return Finding(
            asked=f"metrics with {word!r} in their name and data {say_window(window)}:"
            f" {say_count(len(names), 'name')}.{reading.remarks}",
            where=self._server.where,
            lines=tuple(names[:MAX_NAMES]),
            start=window.start if names else None,
            end=window.end if names else None,
            truncated=len(names) > MAX_NAMES,
        )

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> None:
        return None

    async def aclose(self) -> None:
        await self._server.aclose()


async def ask_range(
    server: PrometheusServer, query: str, window: Window, *, what: str, title: str = ""
) -> Finding:
    """Ask over the window; `what` is told as asked, `title` stands for the series' name.

    Errors: `ProbeFailed`; `probe.query` when nothing comes back because a metric does not exist.
    """
    reading = await server.query_range(query, window)
    told = tell_range(read_series(reading.value), window, title)
    if not told.lines:
        await _check_names(server, query, window)
    step = step_s(window)
    return Finding(
        asked=f"{what} {say_window(window)}, one point every {step} s.{reading.remarks}",
        where=server.where,
        lines=told.lines,
        start=told.start,
        end=told.end,
        truncated=told.truncated,
    )


async def _check_names(server: PrometheusServer, query: str, window: Window) -> None:
    """Tell a metric without values from one that does not exist: the latter says nothing."""
    names = metric_names(query)
    if not names:
        return
    reading = await server.names(f'{{__name__=~"{"|".join(names)}"}}', window)
    missing = [name for name in names if name not in as_list(reading.value)]
    if missing:
        raise ProbeFailed(
            "probe.query",
            f"Prometheus has no metric {', '.join(missing)} {say_window(window)},"
            " so an empty answer means nothing.",
            hint="Look for names with metrics_like.",
        )


def metric_names(query: str) -> list[str]:
    """Find the metrics that a PromQL query names; what stands in selectors and strings is none."""
    bare = _NOT_NAMES.sub(" ", _STRING.sub('""', query))
    found = (name for name in _NAME.findall(bare) if name.lower() not in _WORDS)
    return list(dict.fromkeys(found))
