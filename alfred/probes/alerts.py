"""Alerts as Alertmanager and Prometheus write them, read into one form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, cast

from alfred.engine.canonical import canonical, digest
from alfred.errors import InputRefused

MAX_ALERTS = 1_000
MAX_LABELS = 64
MAX_VALUE_CHARS = 2_000
MAX_NAME_CHARS = 300
MAX_LABELS_CHARS, MAX_ANNOTATIONS_CHARS = 16_000, 32_000
"""Of all labels, and of all annotations, as they are written down: what the records take."""
FIRST_YEAR, LAST_YEAR = 1970, 2200
AlertStatus = Literal["firing", "resolved"]


@dataclass(frozen=True, kw_only=True)
class Alert:
    """One instance of an alert. `fingerprint` is the same for the same labels, now and later."""

    fingerprint: str
    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    status: AlertStatus
    starts_at: datetime
    ends_at: datetime | None


def read_notification(content: bytes) -> list[Alert]:
    """Read the body that Alertmanager posts; shapes and errors as `read_webhook`."""
    try:
        payload = json.loads(content)
    except (ValueError, RecursionError) as exc:
        raise InputRefused("input.alert", f"The notification is not JSON: {exc}.") from exc
    return read_webhook(payload)


def read_webhook(payload: object) -> list[Alert]:
    """Read what Alertmanager posts to a webhook, version 4.

    Shapes: one alert an instance, in the order given, firing and resolved. `ends_at` is None
    where the payload has year 1, which stands for "not yet".
    Errors: `input.alert`, saying which field is wrong.
    Source: Alertmanager's documentation of webhook_config.
    """
    body = _mapping(payload, "The payload")
    given = body.get("alerts")
    if not isinstance(given, list):
        raise _refused("it has no list `alerts`")
    alerts = cast("list[object]", given)
    if len(alerts) > MAX_ALERTS:
        raise _refused(f"it has {len(alerts):,} alerts; at most {MAX_ALERTS:,} are read")
    return [_alert(one, f"alerts[{place}]") for place, one in enumerate(alerts)]


def _alert(given: object, place: str) -> Alert:
    one = _mapping(given, place)
    labels = _texts(one.get("labels"), f"{place}.labels", max_chars=MAX_LABELS_CHARS)
    name = labels.get("alertname", "")
    if not name.strip():
        raise _refused(f"{place}.labels has no alertname")
    if len(name) > MAX_NAME_CHARS:
        raise _refused(f"{place}.labels.alertname has more than {MAX_NAME_CHARS} characters")
    status = one.get("status")
    if status not in ("firing", "resolved"):
        raise _refused(f"{place}.status is {status!r}, not firing or resolved")
    starts_at = _moment(one.get("startsAt"), f"{place}.startsAt")
    if starts_at is None:
        raise _refused(f"{place}.startsAt is missing")
    if not FIRST_YEAR <= starts_at.year <= LAST_YEAR:
        raise _refused(f"{place}.startsAt lies in the year {starts_at.year}")
    fingerprint = one.get("fingerprint") or digest({"labels": labels})[-16:]
    if not isinstance(fingerprint, str) or not (fingerprint.isalnum() and len(fingerprint) <= 64):
        raise _refused(f"{place}.fingerprint is not up to 64 letters and digits")
    return Alert(
        fingerprint=fingerprint,
        name=name,
        labels=labels,
        annotations=_texts(
            one.get("annotations") or {}, f"{place}.annotations", max_chars=MAX_ANNOTATIONS_CHARS
        ),
        status="firing" if status == "firing" else "resolved",
        starts_at=starts_at,
        ends_at=_moment(one.get("endsAt"), f"{place}.endsAt"),
    )


def _mapping(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _refused(f"{place} is no JSON object")
    return cast("Mapping[str, Any]", value)


def _texts(value: object, place: str, *, max_chars: int) -> dict[str, str]:
    given = _mapping(value, place)
    if len(given) > MAX_LABELS:
        raise _refused(f"{place} has {len(given)} entries; at most {MAX_LABELS} are read")
    texts: dict[str, str] = {}
    for given_name, text in given.items():
        name = _storable(given_name)
        if not isinstance(text, str) or len(text) > MAX_VALUE_CHARS:
            raise _refused(f"{place}.{name} is no text of at most {MAX_VALUE_CHARS:,} characters")
        texts[name] = _storable(text)
    if len(canonical(texts)) > max_chars:
        raise _refused(f"{place} has more than {max_chars:,} characters")
    return texts


def _storable(text: str) -> str:
    """Put a mark in place of what no database holds."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def _moment(value: object, place: str) -> datetime | None:
    if value is None or value == "":
        return None
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError as exc:
        raise _refused(f"{place} is {str(value)[:40]!r}, not a time in ISO 8601") from exc
    if moment.tzinfo is None:
        raise _refused(f"{place} has no time zone")
    return moment if moment.year > 1 else None


def _refused(what: str) -> InputRefused:
    return InputRefused(
        "input.alert",
        f"This is not what Alertmanager posts to a webhook: {what}.",
        hint="Point Alertmanager's webhook_config here; version 4 of its payload is read.",
    )
