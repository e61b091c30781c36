"""The funnel, counted from changes without a database."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import get_args
from zoneinfo import ZoneInfo

from alfred.services.application import Status
from alfred.services.funnel import ENDS, STAGES, Change, count_funnel

BEGIN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def course(name: str, *states: str | None, began: datetime = BEGIN, days: int = 3) -> list[Change]:
    """Make an application's changes, some days apart."""
    return [
        Change(application=name, status=state, at=began + timedelta(days=days * place))
        for place, state in enumerate(states)
    ]


def test_the_stages_and_ends_are_the_states_of_an_application() -> None:
    assert set(STAGES) | set(ENDS) == set(get_args(Status))


def test_a_later_stage_counts_for_those_before_it() -> None:
    changes = [
        *course("a", "saved", "applied", "interviewing", "offer"),
        *course("b", "interviewing", "rejected"),
        *course("c", "saved", "applied"),
        *course("d", "saved", "withdrawn"),
    ]
    funnel = count_funnel(changes, UTC)
    assert [stage["reached"] for stage in funnel["stages"]] == [4, 3, 2, 1]
    assert [stage["share"] for stage in funnel["stages"]] == [1.0, 0.75, 0.5, 0.25]
    assert [stage["of_previous"] for stage in funnel["stages"]] == [None, 0.75, 0.6667, 0.5]
    assert [stage["median_days"] for stage in funnel["stages"]] == [None, 3.0, 3.0, 3.0]
    assert funnel["ended"]["rejected"]["interviewing"] == 1
    assert funnel["ended"]["withdrawn"] == {"saved": 1, "applied": 0, "interviewing": 0, "offer": 0}


def test_no_application_gives_no_share() -> None:
    funnel = count_funnel([], UTC)
    assert funnel["applications"] == 0
    assert {stage["share"] for stage in funnel["stages"]} == {None}
    assert funnel["months"] == []


def test_the_same_state_told_twice_counts_once_and_from_the_first_time() -> None:
    changes = [*course("a", "saved", "applied", "applied", "applied", "interviewing")]
    (_, applied, interviewing, _) = count_funnel(changes, UTC)["stages"]
    assert applied["reached"] == 1
    assert interviewing["median_days"] == 9.0


def test_what_was_told_before_a_deletion_does_not_count() -> None:
    gone = course("a", "saved", "applied", "interviewing", None)
    assert count_funnel(gone, UTC)["applications"] == 0
    again = [*gone, *course("a", "saved", began=BEGIN + timedelta(days=40))]
    assert [s["reached"] for s in count_funnel(again, UTC)["stages"]] == [1, 0, 0, 0]


def test_applications_are_grouped_by_the_month_in_the_users_zone() -> None:
    late = datetime(2026, 3, 31, 20, 0, tzinfo=UTC)
    changes = [*course("a", "saved", began=late), *course("b", "applied", "rejected")]
    in_zone = count_funnel(changes, ZoneInfo("Asia/Shanghai"))["months"]
    assert [(m["month"], m["reached"]["saved"], m["ended"]["rejected"]) for m in in_zone] == [
        ("2026-03", 1, 1),
        ("2026-04", 1, 0),
    ]


def test_only_applications_that_began_since_a_day_are_counted() -> None:
    old = course("a", "saved", began=BEGIN - timedelta(days=100))
    changes = [*old, *course("b", "saved")]
    assert count_funnel(changes, UTC, since=date(2026, 3, 2))["applications"] == 1


def test_stages_told_out_of_order_give_no_negative_time() -> None:
    changes = [
        Change(application="a", status="offer", at=BEGIN),
        Change(application="a", status="interviewing", at=BEGIN + timedelta(days=5)),
    ]
    assert count_funnel(changes, UTC)["stages"][3]["median_days"] is None
