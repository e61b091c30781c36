from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alfred.engine.canonical import canonical, derive_id, digest, plain

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""The machine may be busy: time says nothing about these properties."""
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (1, "1"), (1, True), (0, False), (None, "null"), ([], {}), ("é", "e\u0301")],
)
def test_values_that_differ_in_kind_or_spelling_have_different_digests(
    one: Any, other: Any
) -> None:
    assert digest([one]) != digest([other])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("18.40"), "18.40"),
        (time(9, 30), "09:30:00"),
        (timedelta(hours=2), "2:00:00"),
        (date(2026, 3, 2), "2026-03-02"),
    ],
)
def test_what_a_column_holds_and_json_does_not_is_written_as_text(value: Any, text: str) -> None:
    assert plain({"a": [value]}) == {"a": [text]}


@UNHURRIED
@given(JSON)
def test_the_order_of_fields_does_not_matter_and_the_text_reads_back(value: Any) -> None:
    turned = dict(reversed(value.items())) if isinstance(value, dict) else value
    assert canonical(turned) == canonical(value)
    assert canonical(plain(value)) == canonical(value)


def test_dates_and_ids_are_written_as_text_and_what_is_no_value_is_refused() -> None:
    moment = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
    assert canonical([date(2026, 3, 2), moment, UUID(int=7)]) == (
        '["2026-03-02","2026-03-02T09:30:00+00:00","00000000-0000-0000-0000-000000000007"]'
    )
    with pytest.raises(TypeError, match="set has no canonical text"):
        canonical({"a": {1}})


def test_an_id_follows_from_its_parts_and_from_nothing_else() -> None:
    assert derive_id("a", 1) == derive_id("a", "1")
    assert derive_id("a", 1) != derive_id("a", 2)
