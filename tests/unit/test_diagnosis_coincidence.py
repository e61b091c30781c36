"""Changes shortly before the first alert: read off by code, quoted, and never called a cause."""

from __future__ import annotations

from typing import Any

import pytest

from alfred.nodes.composer.coincidence import coincidences_of

INCIDENT = {"window": {"start": "2026-03-04T13:40:00+00:00", "end": "2026-03-04T14:40:00+00:00"}}
ALERTS = {
    "id": "E1",
    "kind": "alerts",
    "lines": [
        "BasketErrors{service=basket} firing since 14:09:00Z, value 0.07",
        "BasketSlow{service=basket} firing since 14:06:30Z, value 4.8",
        "DiskFull{service=other} pending since 12:00:00Z, value 1",
    ],
}
CHANGES = {
    "id": "E2",
    "kind": "changes",
    "lines": [
        "1aa2b3c 14:20:00Z AB basket: after the alert (1 file)",
        "c81f0aa 14:01:22Z KM basket: tidy settings (1 file)",
        "config/basket.yaml: pool_size: 40 -> 4",
        "5be1204 13:37:05Z RO search: synonyms (2 files)",
        "90ac3d7 09:12:40Z KM docs: rota (1 file)",
        "77aa001 2026-03-03T14:02:00Z KM basket: a day before (1 file)",
    ],
}


def found(*calls: dict[str, Any], finding: Any = "not_established", ids: Any = ("E1", "E2")) -> Any:
    return coincidences_of(finding, calls, ids, INCIDENT, "en")


def test_changes_of_the_hour_before_the_first_alert_are_told_the_latest_first() -> None:
    first, second = found(ALERTS, CHANGES)
    assert "c81f0aa 14:01:22Z KM basket: tidy settings (1 file)" in first["text"]
    assert "BasketSlow{service=basket} firing since 14:06:30Z" in first["text"]
    assert "5be1204" in second["text"]
    assert first["evidence"] == ["E2", "E1"]


def test_what_was_not_admitted_is_not_told() -> None:
    assert found(ALERTS, CHANGES, ids=("E1",)) == []
    assert found(ALERTS, CHANGES, ids=("E2",)) == []


@pytest.mark.parametrize("finding", ["cause", "no_fault"])
def test_where_a_cause_is_established_or_nothing_is_wrong_there_is_none(finding: str) -> None:
    assert found(ALERTS, CHANGES, finding=finding) == []


def test_without_a_firing_alert_no_change_is_suspected() -> None:
    pending = {**ALERTS, "lines": ALERTS["lines"][2:]}
    assert found(pending, CHANGES) == []


def test_times_that_are_none_are_passed_over() -> None:
    odd = {
        **CHANGES,
        "lines": ["c81f0aa 99:99:99Z KM basket", "no time at all", "c81f0ab 14:01:22"],
    }
    assert found(ALERTS, odd) == []
