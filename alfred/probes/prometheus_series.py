"""One line for each series that Prometheus returns, over a window or at one moment."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alfred.errors import ProbeFailed
from alfred.probes.probe import Window
from alfred.probes.prometheus import as_list, as_mapping, moment_of
from alfred.probes.said import say_count, say_labels, say_number, say_time

MAX_SERIES = 25
"""How many series are told; the most changed, or the largest, come first."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """One series; `points` are (time, value as Prometheus wrote it), oldest first."""

    name: str
    labels: Mapping[str, str]
    points: Sequence[tuple[datetime, str]]

    @property
    def numbers(self) -> list[tuple[float, int]]:
        """The finite values with their places."""
        pairs = ((float(text), place) for place, (_, text) in enumerate(self.points))
        return [pair for pair in pairs if math.isfinite(pair[0])]


@dataclass(frozen=True, kw_only=True)
class Told:
    """Lines about series, and what their data covers."""

    lines: tuple[str, ...]
    start: datetime | None
    end: datetime | None
    truncated: bool


def read_series(data: Any) -> list[Series]:
    """Read the `data` of a query or range. Errors: `probe.answer`."""
    body = as_mapping(data)
    kind, result = body.get("resultType"), body.get("result")
    try:
        if kind == "string":
            moment, text = as_list(result)
            return [Series(name="", labels={}, points=[(moment_of(moment), str(text))])]
        if kind == "scalar":
            return [Series(name="", labels={}, points=[_point(result)])]
        if kind in ("vector", "matrix"):
            return [_series(as_mapping(one)) for one in as_list(result)]
    except (TypeError, ValueError, KeyError, OverflowError, OSError) as exc:
        raise ProbeFailed(
            "probe.answer", "Prometheus gave a series that is not in its own format."
        ) from exc
    raise ProbeFailed("probe.answer", f"Prometheus gave a result of an unknown type {kind!r}.")


def _series(one: Mapping[str, Any]) -> Series:
    labels = {str(name): str(value) for name, value in as_mapping(one["metric"]).items()}
    name = labels.pop("__name__", "")
    points = [_point(pair) for pair in as_list(one.get("values"))]
    points += [_histogram(pair) for pair in as_list(one.get("histograms"))]
    if "value" in one:
        points.append(_point(one["value"]))
    if "histogram" in one:
        points.append(_histogram(one["histogram"]))
    return Series(name=name, labels=labels, points=points)


def _point(pair: Any) -> tuple[datetime, str]:
    moment, value = pair
    text = str(value)
    float(text)
    return moment_of(moment), text


def _histogram(pair: Any) -> tuple[datetime, str]:
    """Reduce a native histogram to the mean of what it counted."""
    moment, value = pair
    count = float(value["count"])
    return moment_of(moment), repr(float(value["sum"]) / count) if count else "NaN"


def tell_range(series: Sequence[Series], window: Window, title: str = "") -> Told:
    """Sum up each series in one line, the most changed first."""
    filled = [one for one in series if one.points]
    typical = _typical(filled)
    ordered = sorted(filled, key=lambda one: _change(one, typical), reverse=True)
    return _told(ordered, "the most changed first", lambda one: _over_time(one, window, title))


def tell_instant(series: Sequence[Series], window: Window) -> Told:
    """Give each series' last value in one line, the largest first."""
    filled = [one for one in series if one.points]
    ordered = sorted(filled, key=lambda one: _sortable(one.points[-1][1]), reverse=True)
    return _told(ordered, "the largest first", lambda one: _at_once(one, window))


def _told(ordered: Sequence[Series], order: str, tell: Callable[[Series], str]) -> Told:
    kept = ordered[:MAX_SERIES]
    lines = [tell(one) for one in kept]
    if len(ordered) > 1:
        rest = f", {len(kept)} of them told" if len(kept) < len(ordered) else ""
        lines.insert(0, f"{say_count(len(ordered), 'series', 'series')}, {order}{rest}:")
    moments = [one.points[place][0] for one in ordered for place in (0, -1)]
    return Told(
        lines=tuple(lines),
        start=min(moments, default=None),
        end=max(moments, default=None),
        truncated=len(kept) < len(ordered),
    )


def _over_time(one: Series, window: Window, title: str) -> str:
    subject, numbers = _subject(one, title), one.numbers
    began, ended = one.points[0][0], one.points[-1][0]
    counted = say_count(len(one.points), "point")
    if odd := len(one.points) - len(numbers):
        counted += f", {odd} of them not a number (NaN or Inf)"
    span = f"{say_time(began, window)} to {say_time(ended, window)}"
    if not numbers:
        return f"{subject}: never a number, {span}, {counted}"
    low, high = min(numbers), max(numbers, key=lambda pair: (pair[0], -pair[1]))
    if low[0] == high[0]:
        return f"{subject}: always {say_number(one.points[low[1]][1])}, {span}, {counted}"
    marks = (("first", 0), ("min", low[1]), ("max", high[1]), ("last", len(one.points) - 1))
    told = (
        f"{word} {say_number(one.points[at][1])} at {say_time(one.points[at][0], window)}"
        for word, at in marks
    )
    return f"{subject}: {', '.join(told)}, {counted}"


def _at_once(one: Series, window: Window) -> str:
    moment, text = one.points[-1]
    return f"{_subject(one, '')}: {say_number(text)} at {say_time(moment, window)}"


def _subject(one: Series, title: str) -> str:
    return f"{title or one.name}{say_labels(one.labels)}" or "value"


def _typical(series: Sequence[Series]) -> float:
    """Give the usual size of a value, so that a series near zero does not lead by noise."""
    sizes = [max(abs(value) for value, _ in one.numbers) for one in series if one.numbers]
    return statistics.median(sizes) if sizes else 0.0


def _change(one: Series, typical: float) -> float:
    values = [value for value, _ in one.numbers]
    if not values:
        return 0.0
    return (max(values) - min(values)) / ((abs(values[0]) + typical) or 1.0)


def _sortable(text: str) -> float:
    value = float(text) if _is_number(text) else math.nan
    return -math.inf if math.isnan(value) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
