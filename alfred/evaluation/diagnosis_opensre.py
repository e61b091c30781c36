"""Reads OpenSRE scenarios as cases: alert, recorded evidence, and the answer for the scorer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

from alfred.engine.yaml_text import read_yaml
from alfred.errors import EvaluationRefused
from alfred.evaluation.diagnosis_case import Cases, DiagnosisCase, Source, Truth
from alfred.evaluation.diagnosis_opensre_lines import READERS, Document, Reader, calls_of
from alfred.probes.probe import Window
from alfred.probes.replay import RecordedCall, Recording, ToolSpec

SCENARIO, ANSWER, ALERT = "scenario.yml", "answer.yml", "alert.json"
METRICS = "aws_cloudwatch_metrics"
LOOKBACK = timedelta(hours=1)
_NAMES = ("db_instance_identifier", "kube_pod", "kube_deployment", "workload_name")
"""Fields of an alert that name what it is about."""
_TOLD = ("summary", "description", "error", "suspected_symptom")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_ALERTS = Reader(
    tool="alerts",
    kind="alerts",
    description="Firing alerts.",
    read=lambda _: (),
    is_primary=False,
    first_look=True,
)


class _Mistake(ValueError):
    """Why a scenario or a file of it cannot be read."""


@dataclass(frozen=True, kw_only=True)
class _Scenario:
    """A scenario's folder, the one it takes missing files from, and what its YAML files say."""

    folder: Path
    base: Path | None
    fields: Document
    answer: Document
    alert: Document


def read_scenarios(folder: Path) -> Cases:
    """Read every scenario below a folder; what cannot be read is told and left out.

    A scenario with a `base` takes from it the evidence that it lists and has no file for; the times
    of such evidence are not its own, so those calls have none.
    Errors: `eval.cases` where there is no scenario at all.
    """
    found, unscored = Cases(), 0
    for path in sorted(folder.rglob(SCENARIO)):
        name = path.parent.relative_to(folder).as_posix()
        try:
            scenario = _scenario(path.parent)
            found.cases.append(_case(name, scenario, found.left_out))
            unscored += bool(scenario.answer.get("forbidden_categories"))
        except _Mistake as mistake:
            found.left_out.append(f"{name}: {mistake}")
    if not found.cases and not found.left_out:
        raise EvaluationRefused(
            "eval.cases",
            f"{folder} holds no scenario: no folder below it has a {SCENARIO}.",
            hint="Name the folder that holds the scenarios' folders.",
        )
    if unscored:
        found.left_out.append(
            f"forbidden_categories of {unscored} scenarios: not scored, since an answer names no"
            " category."
        )
    return found


def _scenario(folder: Path) -> _Scenario:
    fields = _yaml(folder / SCENARIO)
    base = folder.parent / str(fields["base"]) if fields.get("base") else None
    if base is not None and not base.is_dir():
        raise _Mistake(f"its base {base.name} is not there.")
    inherited: Document = _yaml(base / SCENARIO) if base else {}
    return _Scenario(
        folder=folder,
        base=base,
        fields={**inherited, **fields},
        answer=_yaml(folder / ANSWER),
        alert=_json(folder / ALERT),
    )


def _case(name: str, scenario: _Scenario, left_out: list[str]) -> DiagnosisCase:
    specs: list[ToolSpec] = []
    calls: list[RecordedCall] = []
    for kind in _texts(scenario.fields, "available_evidence"):
        try:
            spec, made = _evidence(kind, scenario)
        except _Mistake as mistake:
            left_out.append(f"{name}: {mistake}")
            continue
        specs.append(spec)
        calls.extend(made)
    if not calls:
        raise _Mistake("none of its evidence can be read.")
    spec, fired = _alerts(scenario.alert)
    window = _window(scenario)
    return DiagnosisCase(
        id=name,
        language="en",
        question=_question(scenario.alert),
        window=window,
        scope=_scope(scenario.alert),
        condition="healthy"
        if scenario.answer.get("root_cause_category") == "healthy"
        else "faulty",
        truth=_truth(scenario),
        recording=Recording(specs=[spec, *specs], calls=[fired, *calls]),
        decisive=_decisive(scenario, {each.name for each in specs}),
    )


def _evidence(kind: str, scenario: _Scenario) -> tuple[ToolSpec, list[RecordedCall]]:
    reader = READERS.get(kind)
    if reader is None:
        raise _Mistake(f"evidence of the kind {kind} is not understood.")
    for folder in (scenario.folder, scenario.base):
        document = _document(folder, kind) if folder else None
        if document is not None:
            is_own = folder == scenario.folder
            try:
                spec, calls = calls_of(reader, document, f"{kind}.json")
            except (KeyError, TypeError, ValueError, IndexError) as exc:
                raise _Mistake(f"{kind}.json is not as expected: {exc!r}.") from exc
            unset = {"start": None, "end": None}
            return spec, calls if is_own else [c.model_copy(update=unset) for c in calls]
    raise _Mistake(f"{kind}.json is missing, also in its base.")


def _document(folder: Path, kind: str) -> Document | None:
    """Read a kind's file; metrics may be divided into one file each, with an envelope."""
    whole = folder / f"{kind}.json"
    if whole.is_file():
        return _json(whole)
    envelope = folder / f"{kind}_envelope.json"
    if not envelope.is_file():
        return None
    parts = sorted(path for path in folder.glob(f"{kind}_*.json") if path != envelope)
    return {**_json(envelope), "metric_data_results": [_json(path) for path in parts]}


def _alerts(alert: Document) -> tuple[ToolSpec, RecordedCall]:
    labels, told = _fields(alert, "commonLabels"), _fields(alert, "commonAnnotations")
    name = labels.get("alertname", "alert")
    shown = [f"severity {labels.get('severity', 'unknown')}", *_told(told)]
    is_firing = alert.get("state") == "alerting"
    spec, _ = calls_of(_ALERTS, {}, "")
    return spec, RecordedCall(
        tool=_ALERTS.tool,
        asked="firing alerts",
        where=str(alert.get("alert_source", "")),
        lines=(f"{name} firing: {'; '.join(shown)}",) if is_firing else (),
        outcome="ok" if is_firing else "empty",
        first_look=True,
    )


def _told(annotations: Document) -> list[str]:
    return [str(annotations[key]) for key in _TOLD if annotations.get(key)]


def _question(alert: Document) -> str:
    title = re.sub(r"^\[[^\]]*\]\s*", "", str(alert.get("title", ""))).strip()
    told = _fields(alert, "commonAnnotations").get("summary", "")
    if not title and not told:
        raise _Mistake(f"{ALERT} has neither title nor summary.")
    return f"{title}. {told} Is something wrong, and what is the cause?".strip(" .")


def _scope(alert: Document) -> dict[str, str]:
    names = {**_fields(alert, "commonLabels"), **_fields(alert, "commonAnnotations")}
    kept = ("db_instance_identifier", "kube_deployment", "namespace")
    return {key: str(names[key]) for key in kept if names.get(key)}


def _truth(scenario: _Scenario) -> Truth:
    alert, answer = scenario.alert, scenario.answer
    names = {**_fields(alert, "commonLabels"), **_fields(alert, "commonAnnotations")}
    objects = tuple(dict.fromkeys(str(names[key]) for key in _NAMES if names.get(key)))
    return Truth(
        object=(objects,) if objects else (),
        cause=tuple((word,) for word in _texts(answer, "required_keywords")),
        forbidden=tuple(_texts(answer, "forbidden_keywords")),
    )


def _decisive(scenario: _Scenario, tools: set[str]) -> list[Source]:
    kinds = _texts(scenario.answer, "required_evidence_sources")
    named = [READERS[kind].tool for kind in kinds if kind in READERS]
    return [Source(tool=tool) for tool in named if tool in tools]


def _window(scenario: _Scenario) -> Window:
    """End with the latest time that the scenario's own files hold; begin an hour before."""
    times: list[datetime] = []
    for path in sorted(scenario.folder.glob("*.json")):
        for found in _TIME.findall(json.dumps(_json(path))):
            times.append(datetime.fromisoformat(found))
    if not times:
        raise _Mistake("its files hold no time.")
    return Window(start=max(times) - LOOKBACK, end=max(times))


def _yaml(path: Path) -> Document:
    document = read_yaml(_read(path))
    if document.mistakes:
        raise _Mistake(f"{path.name}: {document.mistakes[0]}")
    return _object(document.value, path)


def _json(path: Path) -> Document:
    try:
        return _object(json.loads(_read(path)), path)
    except ValueError as exc:
        raise _Mistake(f"{path.name} is no JSON: {exc}.") from exc


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as exc:
        raise _Mistake(f"{path.name} cannot be read: {exc.strerror or exc}.") from exc
    except UnicodeDecodeError as exc:
        raise _Mistake(f"{path.name} is not UTF-8 at byte {exc.start:,}.") from exc


def _object(value: Any, path: Path) -> Document:
    if not isinstance(value, Mapping):
        raise _Mistake(f"{path.name} is no object of fields.")
    return cast("Document", value)


def _fields(document: Document, key: str) -> Document:
    value = document.get(key)
    return cast("Document", value) if isinstance(value, Mapping) else {}


def _texts(document: Document, key: str) -> list[str]:
    value = document.get(key)
    return [str(each) for each in cast("list[Any]", value)] if isinstance(value, list) else []
