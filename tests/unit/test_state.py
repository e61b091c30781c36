from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alfred.engine.state import (
    AlfredState,
    Groups,
    group,
    merge_groups,
    read_errors,
    read_extracted,
    read_pending_actions,
)

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""The machine may be busy: time says nothing about these properties."""
INSTANCES = st.sampled_from(["a", "b", "c"])
HELD = st.fixed_dictionaries(
    {
        "attempt": st.integers(0, 3),
        "step": st.integers(0, 3),
        "values": st.lists(st.text(max_size=3), max_size=3),
    }
)

GROUPS: st.SearchStrategy[Any] = st.dictionaries(INSTANCES, HELD, max_size=3)


def raised(groups: Groups, by: int) -> Groups:
    """Give every group an attempt that none of the other's has."""
    return {name: {**held, "attempt": held["attempt"] + by} for name, held in groups.items()}


@UNHURRIED
@given(GROUPS, GROUPS)
def test_merging_the_same_update_again_changes_nothing(held: Groups, update: Groups) -> None:
    once = merge_groups(held, update)
    assert merge_groups(once, update) == once
    assert merge_groups(once, once) == once


@UNHURRIED
@given(GROUPS, GROUPS)
def test_updates_of_distinct_attempts_merge_alike_in_any_order(one: Groups, two: Groups) -> None:
    later = raised(two, 10)
    assert merge_groups(one, later) == merge_groups(later, one)


@UNHURRIED
@given(GROUPS, GROUPS, GROUPS)
def test_updates_of_distinct_attempts_merge_alike_however_they_are_paired(
    one: Groups, two: Groups, three: Groups
) -> None:
    two, three = raised(two, 10), raised(three, 20)
    left = merge_groups(merge_groups(one, two), three)
    assert left == merge_groups(one, merge_groups(two, three))


def test_a_higher_attempt_replaces_the_group_even_by_an_empty_one() -> None:
    held = group("n", 0, 1, ["x"])
    assert merge_groups(held, group("n", 1, 1, [])) == group("n", 1, 1, [])
    assert merge_groups(group("n", 1, 1, []), held) == group("n", 1, 1, [])


def test_merging_leaves_what_it_was_given_as_it_was() -> None:
    held = group("n", 0, 1, ["x"])
    merge_groups(held, group("m", 0, 1, ["y"]))
    assert held == group("n", 0, 1, ["x"])
    assert merge_groups(None, None) == {}


def test_contributions_are_read_in_the_order_of_their_steps() -> None:
    late, early, beside = (
        group("z", 0, 1, ["first"]),
        group("a", 0, 3, ["third"]),
        group("y", 0, 1, ["before first"]),
    )
    state: AlfredState = {
        "errors": {**early, **late, **beside},
        "extracted": group("z", 0, 1, {"title": "x"}),
    }
    assert read_errors(state) == ["before first", "first", "third"]
    assert read_extracted(state, "z") == {"title": "x"}
    assert read_extracted(state, "nobody") == {}
    assert read_pending_actions(state) == []
