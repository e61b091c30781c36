"""What Alertmanager posts: read into alerts, or refused with the field that is wrong."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alfred.errors import InputRefused
from alfred.probes.alerts import MAX_ALERTS, read_webhook

FIRING = {
    "status": "firing",
    "labels": {"alertname": "QueueIsLong", "service": "checkout", "instance": "a:1"},
    "annotations": {"summary": "the queue is 17 long"},
    "startsAt": "2026-05-04T11:05:10.123456789Z",
    "endsAt": "0001-01-01T00:00:00Z",
    "generatorURL": "http://prometheus.example/graph",
    "fingerprint": "9f1a2b3c4d5e6f70",
}


def payload(*alerts: Any) -> dict[str, Any]:
    return {"version": "4", "receiver": "alfred", "status": "firing", "alerts": [*alerts]}


def test_every_instance_of_a_notification_is_an_alert() -> None:
    ended = {**FIRING, "status": "resolved", "endsAt": "2026-05-04T19:30:00+08:00"}
    firing, resolved = read_webhook(payload(FIRING, ended))
    assert firing.name == "QueueIsLong"
    assert firing.fingerprint == "9f1a2b3c4d5e6f70"
    assert firing.starts_at == datetime(2026, 5, 4, 11, 5, 10, 123456, tzinfo=UTC)
    assert firing.ends_at is None
    assert firing.annotations == {"summary": "the queue is 17 long"}
    assert resolved.status == "resolved"
    assert resolved.ends_at == datetime(2026, 5, 4, 11, 30, tzinfo=UTC)


def test_without_a_fingerprint_the_labels_make_one() -> None:
    bare = {name: value for name, value in FIRING.items() if name != "fingerprint"}
    other = {**bare, "labels": {**bare["labels"], "instance": "b:1"}}  # type: ignore[dict-item]
    first, second, third = read_webhook(payload(bare, other, {**bare, "status": "resolved"}))
    assert first.fingerprint == third.fingerprint != second.fingerprint
    assert len(first.fingerprint) == 16


def test_no_alerts_are_no_mistake() -> None:
    assert read_webhook(payload()) == []


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (None, "The payload is no JSON object"),
        ([FIRING], "The payload is no JSON object"),
        ({"text": "hello"}, "it has no list `alerts`"),
        (payload("x"), "alerts[0] is no JSON object"),
        (payload({**FIRING, "labels": {}}), "alerts[0].labels has no alertname"),
        (payload({**FIRING, "labels": None}), "alerts[0].labels is no JSON object"),
        (payload({**FIRING, "labels": {"alertname": 5}}), "alerts[0].labels.alertname is no text"),
        (payload(FIRING, {**FIRING, "status": "odd"}), "alerts[1].status is 'odd'"),
        (payload({**FIRING, "startsAt": "today"}), "alerts[0].startsAt is 'today', not a time"),
        (payload({**FIRING, "startsAt": ""}), "alerts[0].startsAt is missing"),
        (payload({**FIRING, "startsAt": "2026-05-04T11:05:10"}), "startsAt has no time zone"),
        (payload({**FIRING, "fingerprint": "a/b"}), "fingerprint is not up to 64 letters"),
        (payload({**FIRING, "annotations": {"a": "x" * 2001}}), "annotations.a is no text of at"),
        (payload({**FIRING, "startsAt": "9999-12-31T23:00:00-12:00"}), "lies in the year 9999"),
        (payload({**FIRING, "labels": {"alertname": "n" * 301}}), "alertname has more than 300"),
        (
            payload({**FIRING, "annotations": {f"n{n}": "x" * 2000 for n in range(20)}}),
            "annotations has more than 32,000 characters",
        ),
        (payload({**FIRING, "labels": {f"n{n}": "" for n in range(65)}}), "labels has 65 entries"),
        (payload(*[FIRING] * (MAX_ALERTS + 1)), "it has 1,001 alerts"),
    ],
)
def test_what_is_no_notification_is_refused_with_its_place(given: Any, complaint: str) -> None:
    with pytest.raises(InputRefused) as caught:
        read_webhook(given)
    assert caught.value.code == "input.alert"
    assert complaint in caught.value.message


def test_what_no_database_holds_is_marked_in_names_and_values_alike() -> None:
    bare = {name: value for name, value in FIRING.items() if name != "fingerprint"}
    labels = {"alertname": "A\ud800", "b\0": "c", "d\udfff": "e"}
    (alert,) = read_webhook(payload({**bare, "labels": labels}))
    assert dict(alert.labels) == {"alertname": "A?", "b\ufffd": "c", "d?": "e"}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*FIRING, "alerts", "alertname"]), inner, max_size=6)
    ),
    max_leaves=20,
)


@given(_JSON)
def test_whatever_is_posted_is_read_or_refused(given: Any) -> None:
    for body in (given, payload(given), payload({**FIRING, "labels": given})):
        with contextlib.suppress(InputRefused):
            assert all(alert.name for alert in read_webhook(body))
