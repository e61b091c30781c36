"""Turns the evidence files of an OpenSRE scenario into recorded calls, one thing said a line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from alfred.probes.replay import RecordedCall, ToolSpec
from alfred.probes.tool_call import Kind

Document = Mapping[str, Any]
MAX_LINES = 30


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What one question about a file gives. `choice` names the part that is asked for, if any."""

    choice: str = ""
    lines: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Reader:
    """How a kind of evidence becomes a tool: `read` takes the file's document apart."""

    tool: str
    kind: Kind
    description: str
    read: Callable[[Document], Iterable[Answered]]
    is_primary: bool = True
    first_look: bool = False


def calls_of(reader: Reader, document: Document, where: str) -> tuple[ToolSpec, list[RecordedCall]]:
    """Make the tool and its calls of one document.

    Errors: KeyError, TypeError or ValueError where the document is not as its kind should be.
    """
    answered = list(reader.read(document))
    choices = [each.choice for each in answered if each.choice]
    start, end = _span(document)
    calls = [
        RecordedCall(
            tool=reader.tool,
            arguments={"name": each.choice} if each.choice else {},
            asked=f"{reader.description.rstrip('.')}{f': {each.choice}' if each.choice else ''}",
            where=where,
            lines=tuple(each.lines[:MAX_LINES]),
            outcome="ok" if each.lines else "empty",
            start=start,
            end=end,
            truncated=len(each.lines) > MAX_LINES,
            first_look=reader.first_look,
        )
        for each in answered
    ]
    return _spec(reader, choices), calls


def _spec(reader: Reader, choices: Sequence[str]) -> ToolSpec:
    properties: dict[str, Any] = (
        {"name": {"type": "string", "enum": list(choices)}} if choices else {}
    )
    return ToolSpec(
        name=reader.tool,
        kind=reader.kind,
        description=reader.description,
        is_primary=reader.is_primary,
        parameters={
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
    )


def _span(document: Document) -> tuple[str | None, str | None]:
    """Read the time that a document covers, where it says so itself."""
    start, end = document.get("start_time"), document.get("end_time")
    if isinstance(start, str) and isinstance(end, str):
        return start, end
    return None, None


def _metrics(document: Document) -> Iterator[Answered]:
    grouped: dict[str, list[str]] = {}
    for series in _objects(document["metric_data_results"]):
        grouped.setdefault(str(series["metric_name"]), []).append(_series(series))
    for name, lines in grouped.items():
        yield Answered(choice=name, lines=lines)


def _series(series: Document) -> str:
    """Summarise a series: where it began, its least and its most with their times, its end."""
    values, times = series["values"], series["timestamps"]
    labels = ",".join(f'{d["Name"]}="{d["Value"]}"' for d in _objects(series.get("dimensions", [])))
    name = f"{series['metric_name']}{{{labels}}}"
    if not values:
        return f"{name} has no samples"
    low, high = (values.index(bound) for bound in (min(values), max(values)))
    return (
        f"{name} {series.get('stat', '')} first {values[0]}, min {values[low]} at {times[low]},"
        f" max {values[high]} at {times[high]}, last {values[-1]}, {len(values)} samples,"
        f" {series.get('unit', '')}"
    )


def _rds_events(document: Document) -> Iterator[Answered]:
    events = _objects(document["events"])
    yield Answered(lines=[f"{event['date']} {event['message']}" for event in events])


def _insights(document: Document) -> Iterator[Answered]:
    load = document.get("db_load")
    if load:
        values = load["values"]
        line = f"load first {values[0]}, min {min(values)}, max {max(values)}, last {values[-1]}"
        yield Answered(choice="load", lines=[f"{line}, {load.get('unit', '')}"])
    yield Answered(choice="statements", lines=[_statement(s) for s in _listed(document, "top_sql")])
    yield Answered(choice="waits", lines=[_wait(w) for w in _listed(document, "top_wait_events")])
    sessions = [*_listed(document, "top_users"), *_listed(document, "top_hosts")]
    named = [f"{s.get('name') or s.get('id')} load {s['db_load_avg']}" for s in sessions]
    yield Answered(choice="sessions", lines=named)


def _statement(statement: Document) -> str:
    waits = ", ".join(f"{w['name']} {w['db_load_avg']}" for w in _listed(statement, "wait_events"))
    calls = f", {statement['calls_per_sec']} calls/s" if "calls_per_sec" in statement else ""
    return f"load {statement['db_load_avg']}{calls}, waits {waits}: {statement['statement']}"


def _wait(wait: Document) -> str:
    return f"{wait['name']} load {wait['db_load_avg']}"


def _pods(document: Document) -> Iterator[Answered]:
    yield Answered(lines=[_pod(pod) for pod in _listed(document, "pods")])


def _pod(pod: Document) -> str:
    parts = [str(pod["name"]), str(pod.get("phase", "")), f"node {pod.get('node_name') or 'none'}"]
    for container in _listed(pod, "containers"):
        parts.append(
            f"container {container['name']} ready {container.get('ready')}"
            f" restarts {container.get('restart_count')} state {_flat(container.get('state'))}"
        )
        if container.get("last_state"):
            parts.append(f"last state {_flat(container['last_state'])}")
    for condition in _listed(pod, "conditions"):
        if condition.get("status") != "True":
            parts.append(f"not {condition['type']}: {_worded(condition)}")
    return "; ".join(part for part in parts if part)


def _worded(condition: Document) -> str:
    return f"{condition.get('reason', '')} {condition.get('message', '')}".strip()


def _kube_events(document: Document) -> Iterator[Answered]:
    yield Answered(
        lines=[
            f"{event.get('last_time', '')} {event.get('reason', '')} {event['involved_object']}"
            f" {event.get('count', 1)}x: {event['message']}"
            for event in _listed(document, "warning_events")
        ]
    )


def _named(key: str) -> Callable[[Document], Iterator[Answered]]:
    def read(document: Document) -> Iterator[Answered]:
        yield Answered(lines=[_flat(item) for item in _listed(document, key)])

    return read


def _pod_logs(document: Document) -> Iterator[Answered]:
    lines = [line for line in str(document["logs"]).split("\n") if line.strip()]
    yield Answered(lines=[f"{document.get('pod_name', '')}: {line}" for line in lines])


def _logs(document: Document) -> Iterator[Answered]:
    yield Answered(
        lines=[
            f"{entry.get('timestamp', '')} {entry.get('status', '')} {entry['message']}"
            for entry in _listed(document, "logs")
        ]
    )


def _monitors(document: Document) -> Iterator[Answered]:
    yield Answered(
        lines=[
            f"{monitor['name']}: {monitor['overall_state']} ({monitor.get('query', '')})"
            for monitor in _listed(document, "monitors")
        ]
    )


def _flat(value: Any) -> str:
    """Write an object's fields in one line."""
    if not isinstance(value, Mapping):
        return str(value)
    fields = cast("Document", value)
    return ", ".join(
        f"{key} {_flat(inner)}" for key, inner in fields.items() if inner not in (None, "")
    )


def _listed(document: Document, key: str) -> list[Document]:
    return _objects(document.get(key) or [])


def _objects(value: Any) -> list[Document]:
    if not isinstance(value, list):
        raise TypeError("a list is expected")
    return [cast("Document", each) for each in cast("list[Any]", value)]


READERS: Mapping[str, Reader] = {
    "aws_cloudwatch_metrics": Reader(
        tool="metric",
        kind="metrics",
        description="How a named metric of the database went over the window.",
        read=_metrics,
    ),
    "aws_rds_events": Reader(
        tool="database_events",
        kind="changes",
        description="Events and changes of the database instance.",
        read=_rds_events,
        first_look=True,
    ),
    "aws_performance_insights": Reader(
        tool="database",
        kind="database",
        description="Load, statements, waits and sessions of the database.",
        read=_insights,
    ),
    "eks_pods": Reader(tool="pods", kind="state", description="State of the pods.", read=_pods),
    "eks_events": Reader(
        tool="warnings",
        kind="state",
        description="Warning events of the cluster.",
        read=_kube_events,
        first_look=True,
    ),
    "eks_deployments": Reader(
        tool="deployments",
        kind="state",
        description="State of the deployments.",
        read=_named("deployments"),
    ),
    "eks_node_health": Reader(
        tool="nodes", kind="state", description="Health of the nodes.", read=_named("nodes")
    ),
    "eks_pod_logs": Reader(
        tool="pod_logs", kind="logs", description="Log of the pod.", read=_pod_logs
    ),
    "datadog_logs": Reader(
        tool="logs", kind="logs", description="Logs of the service.", read=_logs
    ),
    "datadog_monitors": Reader(
        tool="monitors",
        kind="alerts",
        description="States of the monitors.",
        read=_monitors,
        is_primary=False,
    ),
}
"""The kinds of evidence that are understood, by the name that a scenario gives them."""
