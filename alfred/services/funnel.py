"""How applications convert stage by stage, counted from what happened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from statistics import median
from typing import TypedDict

STAGES = ("saved", "applied", "interviewing", "offer")
ENDS = ("rejected", "withdrawn")


@dataclass(frozen=True, kw_only=True)
class Change:
    """An application was told to be in a state; without one, it was deleted."""

    application: str
    status: str | None
    at: datetime


class Stage(TypedDict):
    """How many applications got at least so far; shares are of all, and of the stage before."""

    stage: str
    reached: int
    share: float | None
    of_previous: float | None
    median_days: float | None


class Month(TypedDict):
    """Of the applications that began in a month, how many got at least so far."""

    month: str
    reached: dict[str, int]
    ended: dict[str, int]


class Funnel(TypedDict):
    """`ended` counts, for each end, the stage that was reached before it."""

    applications: int
    stages: list[Stage]
    ended: dict[str, dict[str, int]]
    months: list[Month]


@dataclass
class _Course:
    """What one application went through: when each state was first told."""

    began: datetime
    first: dict[str, datetime] = field(default_factory=dict[str, datetime])

    @property
    def furthest(self) -> int:
        """The furthest stage by its place in `STAGES`; who ends unseen was at least saved."""
        return max((STAGES.index(state) for state in self.first if state in STAGES), default=0)

    @property
    def end(self) -> str | None:
        return next((end for end in ENDS if end in self.first), None)


def count_funnel(changes: Iterable[Change], zone: tzinfo, *, since: date | None = None) -> Funnel:
    """Count how far applications got, from their changes in the order in which they happened.

    An application that is first heard of as interviewing was saved and applied before: a stage
    counts as reached if it or a later one was. What was told before a deletion does not count.
    With `since` only applications that began on that day or later. `median_days` is the time from
    the stage before, where both were told.
    Shapes: shares in [0, 1], None where there is nothing to divide by.
    """
    courses = [
        course
        for course in _courses(changes)
        if since is None or course.began.astimezone(zone).date() >= since
    ]
    reached = [_reached(courses, place) for place in range(len(STAGES))]
    return {
        "applications": len(courses),
        "stages": [
            {
                "stage": stage,
                "reached": reached[place],
                "share": _share(reached[place], len(courses)),
                "of_previous": _share(reached[place], reached[place - 1]) if place else None,
                "median_days": _median_days(courses, place),
            }
            for place, stage in enumerate(STAGES)
        ],
        "ended": {
            end: {
                stage: sum(c.end == end and c.furthest == place for c in courses)
                for place, stage in enumerate(STAGES)
            }
            for end in ENDS
        },
        "months": _months(courses, zone),
    }


def _courses(changes: Iterable[Change]) -> list[_Course]:
    courses: dict[str, _Course] = {}
    for change in changes:
        if change.status is None:
            courses.pop(change.application, None)
            continue
        course = courses.setdefault(change.application, _Course(began=change.at))
        course.began = min(course.began, change.at)
        course.first[change.status] = min(course.first.get(change.status, change.at), change.at)
    return list(courses.values())


def _reached(courses: list[_Course], place: int) -> int:
    return sum(course.furthest >= place for course in courses)


def _months(courses: list[_Course], zone: tzinfo) -> list[Month]:
    by_month: dict[str, list[_Course]] = {}
    for course in courses:
        by_month.setdefault(f"{course.began.astimezone(zone):%Y-%m}", []).append(course)
    return [
        {
            "month": month,
            "reached": {s: _reached(began, place) for place, s in enumerate(STAGES)},
            "ended": {end: sum(course.end == end for course in began) for end in ENDS},
        }
        for month, began in sorted(by_month.items())
    ]


def _median_days(courses: list[_Course], place: int) -> float | None:
    if place == 0:
        return None
    before, stage = STAGES[place - 1], STAGES[place]
    days = [
        (course.first[stage] - course.first[before]).total_seconds() / 86_400
        for course in courses
        if before in course.first
        and stage in course.first
        and course.first[before] <= course.first[stage]
    ]
    return round(median(days), 1) if days else None


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
