"""Says in a line or two how an object of a cluster is, and what its events were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from alfred.probes.probe import Window
from alfred.probes.said import say_count, say_text, say_time

_GOOD_IF_FALSE = ("Pressure", "Unavailable", "Failure", "Failed", "Limited")
"""Ends of the names of conditions that are well when they do not hold."""


def tell_object(item: Mapping[str, Any], window: Window, *, in_detail: bool) -> Iterator[str]:
    """Say how an object is; conditions that are as they should be only `in_detail`."""
    kind = str(item.get("kind", "object")).lower()
    name = str(_of(item, "metadata").get("name", "?"))
    status = _of(item, "status")
    parts = [*_counts(kind, item), *_containers(status, window)]
    parts += _conditions(status, window, in_detail=in_detail)
    if kind in ("service", "endpoints", "ingress", "persistentvolumeclaim", "resourcequota"):
        parts += _plain(kind, item)
    parts += [f"images {', '.join(images)}" for images in [_images(item)] if images]
    yield f"{kind} {name}: {'; '.join(parts) or 'nothing is known of its state'}"


def tell_events(items: Sequence[Mapping[str, Any]], window: Window) -> list[str]:
    """Write the events of the window, the newest last, each with how often it was seen."""
    told: list[tuple[datetime, str]] = []
    for item in items:
        last = _moment(
            item.get("lastTimestamp") or item.get("eventTime") or item.get("firstTimestamp")
        )
        if last is None or not window.start <= last <= window.end:
            continue
        about = _of(item, "involvedObject")
        thing = f"{str(about.get('kind', '')).lower()}/{about.get('name', '?')}"
        first = _moment(item.get("firstTimestamp"))
        count = int(item.get("count") or 1)
        seen = f" ({count} times since {say_time(first, window)})" if first and count > 1 else ""
        what = f"{item.get('type', '')} {item.get('reason', '')} {thing}"
        message = say_text(str(item.get("message", "")))
        told.append((last, f"{say_time(last, window)} {what}: {message}{seen}"))
    return [line for _, line in sorted(told)]


def _counts(kind: str, item: Mapping[str, Any]) -> Iterator[str]:
    status, spec = _of(item, "status"), _of(item, "spec")
    if kind == "pod":
        yield str(status.get("reason") or status.get("phase", "phase unknown"))
        if node := spec.get("nodeName"):
            yield f"on {node}"
    elif kind in ("deployment", "replicaset", "statefulset"):
        yield f"{status.get('readyReplicas', 0)} of {spec.get('replicas', 1)} ready"
        if kind != "replicaset":
            yield f"{status.get('updatedReplicas', 0)} updated"
    elif kind == "daemonset":
        wanted = status.get("desiredNumberScheduled", 0)
        yield f"{status.get('numberReady', 0)} of {wanted} ready"
    elif kind == "job":
        yield f"{status.get('succeeded', 0)} succeeded, {status.get('failed', 0)} failed"
    elif kind == "horizontalpodautoscaler":
        now, most = status.get("currentReplicas", 0), spec.get("maxReplicas", "?")
        yield f"{now} replicas, at least {spec.get('minReplicas', 1)}, at most {most}"


def _containers(status: Mapping[str, Any], window: Window) -> Iterator[str]:
    for one in _items(status, "initContainerStatuses") + _items(status, "containerStatuses"):
        restarts = int(one.get("restartCount") or 0)
        ready = "ready" if one.get("ready") else "not ready"
        told = f"container {one.get('name', '?')} {ready}"
        told += f", {say_count(restarts, 'restart')}" if restarts else ""
        for when, state in (("", _of(one, "state")), ("last ", _of(one, "lastState"))):
            told += _state(when, state, window)
        yield told


def _state(when: str, state: Mapping[str, Any], window: Window) -> str:
    waiting, ended = _of(state, "waiting"), _of(state, "terminated")
    if waiting:
        message = say_text(str(waiting.get("message", "")), 120)
        return f", waiting: {waiting.get('reason', '?')}{f' ({message})' if message else ''}"
    if ended:
        moment = _moment(ended.get("finishedAt"))
        at = f" at {say_time(moment, window)}" if moment else ""
        reason = ended.get("reason", "?")
        return f", {when}ended: {reason}, exit code {ended.get('exitCode', '?')}{at}"
    return ""


def _conditions(status: Mapping[str, Any], window: Window, *, in_detail: bool) -> Iterator[str]:
    for one in _items(status, "conditions"):
        name, value = str(one.get("type", "?")), str(one.get("status", "?"))
        good = "False" if name.endswith(_GOOD_IF_FALSE) else "True"
        if value == good and not in_detail:
            continue
        moment = _moment(one.get("lastTransitionTime"))
        since = f" since {say_time(moment, window)}" if moment else ""
        why = say_text(": ".join(str(one[k]) for k in ("reason", "message") if one.get(k)), 160)
        yield f"{name}={value}{since}{f' ({why})' if why else ''}"


def _plain(kind: str, item: Mapping[str, Any]) -> Iterator[str]:
    spec, status = _of(item, "spec"), _of(item, "status")
    if kind == "service":
        ports = ", ".join(str(port.get("port", "?")) for port in _items(spec, "ports"))
        yield f"{spec.get('type', 'ClusterIP')}, ports {ports or 'none'}"
    elif kind == "endpoints":
        subsets = _items(item, "subsets")
        ready = sum(len(_items(one, "addresses")) for one in subsets)
        waiting = sum(len(_items(one, "notReadyAddresses")) for one in subsets)
        yield f"{say_count(ready, 'ready address', 'ready addresses')}, {waiting} not ready"
    elif kind == "ingress":
        yield f"hosts {', '.join(str(rule.get('host', '*')) for rule in _items(spec, 'rules'))}"
    elif kind == "persistentvolumeclaim":
        size = _of(status, "capacity").get("storage", "?")
        yield f"{status.get('phase', '?')}, {size}"
    elif kind == "resourcequota":
        used = _of(status, "used")
        yield ", ".join(f"{k} {used.get(k, '?')} of {v}" for k, v in _of(status, "hard").items())


def _images(item: Mapping[str, Any]) -> list[str]:
    spec = _of(item, "spec")
    spec = _of(_of(spec, "template"), "spec") or spec
    return [str(one["image"]) for one in _items(spec, "containers") if one.get("image")]


def _of(item: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = item.get(name)
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _items(item: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = item.get(name)
    found = cast("list[Any]", value) if isinstance(value, list) else []
    return [one for one in found if isinstance(one, dict)]


def _moment(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return moment if moment.tzinfo else None
