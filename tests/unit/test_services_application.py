"""The application's state machine, without a database."""

from __future__ import annotations

from typing import get_args

import pytest

from alfred.errors import ActionRefused
from alfred.services.application import NEXT_STATES, Status, require_change


def test_every_state_says_where_it_may_go_and_the_last_ones_nowhere() -> None:
    assert set(NEXT_STATES) == set(get_args(Status))
    assert NEXT_STATES["rejected"] == NEXT_STATES["withdrawn"] == ()


def test_no_way_leads_back() -> None:
    reached: dict[str, set[str]] = {state: set(then) for state, then in NEXT_STATES.items()}
    for _ in NEXT_STATES:
        for then in reached.values():
            then |= {further for state in tuple(then) for further in NEXT_STATES[state]}
    assert all(state not in then for state, then in reached.items())


def test_a_forbidden_change_names_the_allowed_ones() -> None:
    with pytest.raises(ActionRefused) as refused:
        require_change("applied", "offer", "lumen kites/engineer/")
    assert refused.value.code == "action.state"
    assert refused.value.details["allowed"] == ["interviewing", "rejected", "withdrawn"]
    assert "interviewing, rejected, withdrawn" in refused.value.message


def test_the_same_state_is_no_change() -> None:
    require_change("rejected", "rejected", "lumen kites/engineer/")
