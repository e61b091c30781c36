"""Prometheus' HTTP API, as far as it reads: queries, ranges, names, alerts and rules."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from alfred.errors import ProbeFailed
from alfred.probes.probe import Window
from alfred.probes.said import say_text
from alfred.probes.source_client import (
    MAX_BYTES,
    Source,
    SourceAnswer,
    SourceClient,
    clock_sentence,
    json_object,
)

MAX_POINTS = 200
"""How many points a series of a range has at most."""
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 86_400)


@dataclass(frozen=True, kw_only=True)
class PrometheusSettings:
    """Where Prometheus is and which questions are ready-made.

    `queries` maps a question's name to PromQL, in which `$service` may stand inside double
    quotes. `services` are the values it may take; without any, every label value is taken.
    """

    url: str
    token_file: Path | None = None
    queries: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    services: tuple[str, ...] = ()
    timeout_s: float = 10.0
    max_bytes: int = MAX_BYTES


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What Prometheus answered, with its warnings and what its clock says, as sentences."""

    value: Any
    remarks: str = ""


class PrometheusServer:
    """One Prometheus; every probe of it shares this client."""

    def __init__(self, settings: PrometheusSettings) -> None:
        self.settings = settings
        source = Source(
            name="Prometheus",
            url=settings.url,
            token_file=settings.token_file,
            timeout_s=settings.timeout_s,
            max_bytes=settings.max_bytes,
        )
        self._client = SourceClient(source)
        self.where = self._client.where

    async def query(self, query: str, moment: datetime) -> Reading:
        """Evaluate at one moment; the value has `resultType` and `result`."""
        return await self._get("/api/v1/query", {"query": query, "time": _epoch(moment)})

    async def query_range(self, query: str, window: Window) -> Reading:
        """Evaluate over the window, at most MAX_POINTS points a series."""
        params = {
            "query": query,
            "start": _epoch(window.start),
            "end": _epoch(window.end),
            "step": str(step_s(window)),
        }
        return await self._get("/api/v1/query_range", params)

    async def names(self, selector: str, window: Window) -> Reading:
        """List the metrics that a selector matches and that have data in the window."""
        params = {
            "match[]": selector,
            "start": _epoch(window.start),
            "end": _epoch(window.end),
        }
        return await self._get("/api/v1/label/__name__/values", params)

    async def alerts(self) -> Reading:
        """List every instance of every alert that fires or is pending."""
        return await self._get("/api/v1/alerts")

    async def alert_rules(self) -> Reading:
        """List the groups of alerting rules with their health."""
        return await self._get("/api/v1/rules", {"type": "alert"})

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _get(self, path: str, params: Mapping[str, str] | None = None) -> Reading:
        answer = await self._client.get(path, params)
        body = json_object(answer, self.where)
        if body.get("status") == "error":
            raise self._error(body, answer)
        if body.get("status") != "success" or "data" not in body:
            raise self.not_understood(f"no Prometheus answer (status {answer.status})")
        warnings = [say_text(str(text), 160) for text in as_list(body.get("warnings"))]
        said = "".join(f" Prometheus warns: {text}." for text in warnings[:2])
        return Reading(value=body["data"], remarks=said + clock_sentence(answer.clock_s))

    def _error(self, body: Mapping[str, Any], answer: SourceAnswer) -> ProbeFailed:
        said = say_text(str(body.get("error") or "no reason given"), 200)
        if answer.status in (400, 422):
            return ProbeFailed(
                "probe.query",
                f"Prometheus does not accept the query: {said}.",
                hint="Correct the query, or ask a narrower one.",
            )
        return ProbeFailed(
            "probe.unreachable",
            f"{self.where} cannot answer (status {answer.status}): {said}.",
            hint="Look at Prometheus' own log.",
        )

    def not_understood(self, what: str) -> ProbeFailed:
        """Say that an answer has not the form of Prometheus' API."""
        return ProbeFailed(
            "probe.answer",
            f"{self.where} gave {what}.",
            hint="Check that the address is Prometheus' own.",
        )


def step_s(window: Window) -> int:
    """Choose the step of a range: the first round number that gives at most MAX_POINTS points."""
    seconds = max((window.end - window.start).total_seconds(), 1.0)
    needed = seconds / (MAX_POINTS - 1)
    return next((step for step in _STEPS_S if step >= needed), math.ceil(needed))


def moment_of(epoch_s: object) -> datetime:
    """Read one of Prometheus' times."""
    return datetime.fromtimestamp(float(cast("float", epoch_s)), UTC)


def as_list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _epoch(moment: datetime) -> str:
    return f"{moment.timestamp():.3f}"
