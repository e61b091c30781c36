"""Experience as a JSON Resume."""

from __future__ import annotations

import pytest

from alfred.services.json_resume import json_resume


@pytest.mark.parametrize(
    ("period", "start", "end"),
    [
        ("2019 to 2022", "2019", "2022"),
        ("2021 年至今", "2021", None),
        ("2020年3月—2021年11月", "2020-03", "2021-11"),
        ("03/2020", "2020", None),
        ("2020.3 - now", "2020-03", None),
        ("a year", None, None),
        ("in room 20199", None, None),
        ("2018, 2019 and 2020", "2018", None),
    ],
)
def test_dates_are_those_that_stand_in_the_period(
    period: str, start: str | None, end: str | None
) -> None:
    told = {"organization": None, "role": None, "period": period, "summary": "Kept books"}
    (work,) = json_resume([told])["work"]
    assert (work.get("startDate"), work.get("endDate")) == (start, end)
    assert work["period"] == period


def test_what_was_not_told_is_left_out() -> None:
    told = {"organization": "青藤科技", "role": None, "period": None, "summary": "支付系统"}
    assert json_resume([told])["work"] == [{"name": "青藤科技", "summary": "支付系统"}]
