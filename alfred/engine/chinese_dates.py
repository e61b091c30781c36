"""Dates in Chinese words."""

from __future__ import annotations

import re
from datetime import date, timedelta
from re import Match

from alfred.engine.calendar_days import (
    Moment,
    Reading,
    add_months,
    add_working_days,
    coming_weekday,
    day,
    end_of_month,
    end_of_named_month,
    weekday_of_week,
    without_year,
)

_DIGITS = {char: number for number, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_NUMERAL = re.compile(
    "([〇零一二两三四五六七八九十百]+)"
    "(?= ?(?:年|个?月|日|号|天|个?工作日|周(?![一二三四五六日天末])|个?星期|个?礼拜))"
)
_YEARS = {"去": -1, "今": 0, "本": 0, "明": 1, "后": 2}
_DAYS = {"前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}
_WEEKS = {"上": -1, "本": 0, "这": 0, "下": 1, "下下": 2}
_WEEKDAYS = {char: number for number, char in enumerate("一二三四五六日")} | {"天": 6, "末": 6}
_PARTS = {"中": 15, "上旬": 10, "中旬": 20}


def arabic_numerals(text: str) -> str:
    """Write the numbers before units of time in digits: 二〇二六年十二月 gives 2026年12月."""
    return _NUMERAL.sub(lambda match: str(_number(match[1])), text)


def _number(numeral: str) -> int:
    if not re.search("[十百]", numeral):
        return int("".join(str(_DIGITS[char]) for char in numeral))
    hundreds, _, rest = numeral.rpartition("百")
    tens, ten, ones = rest.rpartition("十")
    total = 100 * (_digit(hundreds) or 1) if "百" in numeral else 0
    return total + (10 * (_digit(tens) or 1) if ten else 0) + _digit(ones)


def _digit(numeral: str) -> int:
    return _DIGITS.get(numeral[-1:], 0)


def _full(match: Match[str], moment: Moment) -> date | None:
    return day(int(match[1]), int(match[2]), int(match[4] or match[3]))


def _month_day(match: Match[str], moment: Moment) -> date | None:
    year, month, number = match[1], int(match[2]), int(match[4] or match[3])
    if year:
        return day(moment.today.year + _YEARS[year], month, number)
    return without_year(month, number, moment)


def _part_of_month(match: Match[str], moment: Moment) -> date | None:
    year, month, part = match[1], int(match[2]), match[3]
    if part == "初" or not 1 <= month <= 12:
        return None
    if number := _PARTS.get(part):
        return day(int(year), month, number) if year else without_year(month, number, moment)
    return end_of_month(int(year), month) if year else end_of_named_month(month, moment)


def _day_of_month(match: Match[str], moment: Moment) -> date | None:
    which, number, today = match[1], int(match[2]), moment.today
    if which:
        month = add_months(today.replace(day=1), 1 if which.startswith("下") else 0)
        return day(month.year, month.month, number)
    for ahead in range(3):
        month = add_months(today.replace(day=1), ahead)
        found = day(month.year, month.month, number)
        if found and found >= today:
            return found
    return None


def _end_of_some_month(match: Match[str], moment: Moment) -> date:
    ahead = {"上": -1, "下": 1}.get((match[1] or "")[:1], 0)
    month = add_months(moment.today.replace(day=1), ahead)
    return end_of_month(month.year, month.month)


def _end_of_year(match: Match[str], moment: Moment) -> date | None:
    if match[1]:
        return day(int(match[1]), 12, 31)
    return date(moment.today.year + _YEARS.get(match[2], 0), 12, 31)


def _named_day(match: Match[str], moment: Moment) -> date:
    return moment.today + timedelta(days=_DAYS[match[1]])


def _counted(match: Match[str], moment: Moment) -> date:
    count, unit = int(match[1]), match[2].removeprefix("个")
    count = -count if match[3] in ("前", "之前", "以前") else count
    if unit == "工作日":
        return add_working_days(moment.today, max(0, count))
    if unit in ("月", "年"):
        return add_months(moment.today, count * (12 if unit == "年" else 1))
    return moment.today + timedelta(days=count * (1 if unit in ("天", "日") else 7))


def _half(match: Match[str], moment: Moment) -> date:
    return add_months(moment.today, 6) if match[1] == "年" else moment.today + timedelta(days=15)


def _weekday(match: Match[str], moment: Moment) -> date:
    which, weekday = match[1], _WEEKDAYS[match[2]]
    if not which:
        return coming_weekday(moment.today, weekday)
    return weekday_of_week(moment.today, weekday, _WEEKS[which])


def _within_week(match: Match[str], moment: Moment) -> date:
    return weekday_of_week(moment.today, 6, _WEEKS[match[1]])


_TO_DAY = r"(?:[日号]? ?[至到~-]+ ?(\d{1,2}) ?[日号])?"
_SPAN = "(之内|以内|内|之后|以后|后|之前|以前|前)"
DATES: tuple[Reading, ...] = (
    (re.compile(r"(?<!\d)(\d{4}) ?年 ?(\d{1,2}) ?月 ?(\d{1,2})(?!\d)" + _TO_DAY), _full),
    (
        re.compile(r"(?:([去今本明后])年 ?)?(?<!\d)(\d{1,2}) ?月 ?(\d{1,2})(?!\d)" + _TO_DAY),
        _month_day,
    ),
    (
        re.compile(r"(?:(\d{4}) ?年 ?)?(?<!\d)(\d{1,2}) ?月(底|末|上旬|中旬|下旬|初|中(?!国))"),
        _part_of_month,
    ),
)
DAYS: tuple[Reading, ...] = (
    (
        re.compile(
            r"(本月|这个?月|下个?月)?(?<!\d)(\d{1,2}) ?"
            r"(?:号(?![线楼院室店])|日(?!后|内|之后|之内|以内))"
        ),
        _day_of_month,
    ),
    (re.compile(r"(上个?|本|这个?|下个?)?月[底末]"), _end_of_some_month),
    (re.compile(r"(?:(\d{4}) ?|([去今本明后]))?年年?[底末]"), _end_of_year),
    (re.compile(r"(?<![目之以提])(大后|[前昨今明后])[天日晚早]"), _named_day),
    (
        re.compile(rf"(?<!\d)(\d{{1,4}}) ?(个?工作日|天|日|周|个?星期|个?礼拜|个月|年){_SPAN}"),
        _counted,
    ),
    (re.compile(r"半个?(月|年)(?:之内|以内|内|之后|以后|后)"), _half),
)
WEEKDAYS: tuple[Reading, ...] = (
    (re.compile(r"(?<!每)(下下|[上本这下])?个?(?:周|星期|礼拜)([一二三四五六日天末])"), _weekday),
    (re.compile(r"([本这下])个?(?:周|星期|礼拜)(?:之内|以内|内)"), _within_week),
)
