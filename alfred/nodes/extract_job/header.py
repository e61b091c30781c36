"""Reads what boards and hiring threads put at the top of a posting in a fixed order.

Only what has one reading is taken: a small model confuses a company in the headline with another
in the text, and here no model is needed. Whatever is unclear is left to be asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto

MAX_LINE_CHARS, MAX_PART_CHARS = 300, 80
_MAX_ABOVE = 2
_MIN_BARS, _MIN_FACTS = 2, 2

_SALARY = re.compile(
    r"\d\s?k\b|[$€£¥]\s?\d|\d\s?(?:[$€£¥]|usd|eur|gbp|rmb|元|万)|面议|薪|\bsalary\b|\bequity\b",
    re.IGNORECASE,
)
_TERMS = re.compile(
    r"\b(?:full|part)[ -]?time\b|\b(?:contract(?:or)?|permanent|temporary|freelance)\b"
    r"|\bvisas?\b|全职|兼职|实习生?$|^实习|合同工|劳务",
    re.IGNORECASE,
)
_BACKGROUND = re.compile(
    r"经验|应届|\d\s?[-~至到]\s?\d+\s?年|\d\s?年(?:以[上下])?$|学历|本科|大专|中专|高中|硕士|博士"
    r"|^\d+\+? years?\b",
    re.IGNORECASE,
)
_STACK_ONLY = re.compile(
    r"(?:python|typescript|javascript|java|kotlin|react|vue|angular|node(?:\.js)?|rust|go(?:lang)?"
    r"|elixir|ruby|rails|django|php|scala|swift|c\+\+|c#|\.net|aws|kubernetes|sql|postgres|and|on"
    r"|[\s,/()&+])+",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://|\S@\S|^(?:[\w-]+\.)+[a-z]{2,}(?:/\S*)?$", re.IGNORECASE)
_MODE = re.compile(r"\b(?:remote|on[ -]?site|hybrid|wfh)\b|远程|现场办公|居家", re.IGNORECASE)
_MODE_ONLY = re.compile(
    r"(?:remote|on[ -]?site|hybrid|wfh|远程|\bor\b|[\s/(),+&-])+", re.IGNORECASE
)
_ROLE = re.compile(
    r"\b(?:engineer(?:ing)?|developer|dev|programmer|architect|designer|scientist|analyst|manager"
    r"|director|lead|head of|officer|administrator|consultant|specialist|technician|recruiter"
    r"|researcher|writer|editor|coordinator|assistant|associate|intern(?:ship)?|trainee"
    r"|accountant|sales|representative|founder|cto|sre|devops|roles?|positions?|worker|nurse"
    r"|teacher|operator|planner|advisor|linguist|\w*entwickler(?:in)?)\b|\((?:m/w/d|h/f|f/h|m/f/d)\)"
    r"|工程师|架构师|设计师|分析师|会计师?$|经理|主管|总监|专员|顾问|助理|开发$|研究员|实习生"
    r"|运营$|程序员|编辑$|教师|讲师|文员|技术员|负责人|店长|客服|销售|插画师|操作工|管培生",
    re.IGNORECASE,
)
_FIRM = re.compile(
    r"公司|集团|事务所|研究所|研究院|\b(?:gmbh|inc|ltd|llc|llp|corp|plc|s\.r\.o|a\.s)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\s*[(（](?:[^()（）]*(?:https?://|www\.)[^()（）]*|YC [A-Z]?\d{2})[)）]$")
_BAR = re.compile(r"\s*[|｜]\s*")
_SLASH = re.compile(r"\s+/\s*|\s*[|｜]\s*|\s*[·•]\s*")
_PLACE = re.compile(
    r"[^\W\d_][^\d,.!?:;|]{1,40}"
    r"(?:, ?(?:[^\W\d_][^\d,.!?:;|]{0,40}|[A-Z]\d)){0,2}"
    r", ?[^\W\d_][^,.!?:;|]{1,30}"
)
"""A place with its region, such as `Leeds, UK` or `Lyon, B3, FR`."""
_COMPANY_AND_PLACE = re.compile(r"(?P<company>.{2,80}?)\s+[·•–—-]\s+(?P<place>[^·•–—]{3,80})")
_AT_COMPANY = re.compile(r"(?P<title>[^.,:;|]{3,60}?) at (?P<company>[A-Z0-9][^.,:;|]{1,50})")
_HIRES = re.compile(
    r"(?:[\[【(（][^\]】)）]{1,20}[\]】)）]\s*)*"
    r"(?P<company>(?![本我该])[^\s，。,:：|\[【(（][^，。,:：|]{1,30}?)(?:\s公司)?\s*"
    r"(?:诚聘|诚招|急聘|急招|招聘|招募)\s*"
    r"(?P<title>[^，。,:：|\d]{2,40}?)(?:\s*[\d一二三两]+\s*[名人]|\s+(?:月|年)?薪.*|\s+\d.*)?"
)
_SENTENCE = re.compile(r"[.!?:;]\s|[.!?:;]$|[。！？：；]")


class _Kind(Enum):
    FACT = auto()
    """Salary, terms, background, tools or an address: never a company, title or place."""
    ROLE = auto()
    MODE = auto()
    """Nothing but remote, on site or hybrid."""
    MODE_AND_PLACE = auto()
    OTHER = auto()


def read_header(text: str) -> dict[str, str]:
    """Read company, title and location from the top of a text, as far as they are plain there.

    Shapes: a subset of `company`, `title`, `location`; each value stands in the text.
    """
    lines = text.lstrip("\ufeff \t\r\n").split("\n", 6)[:6]
    # A line that is too long for a header is cut where it is too long for every pattern, too.
    stripped = [line.strip()[: MAX_LINE_CHARS + 1] for line in lines]
    if len(stripped[0]) > MAX_LINE_CHARS:
        return {}
    for reading in (_thread_line, _card, _titled, _headline):
        if found := reading(stripped):
            return found
    return {}


def _thread_line(lines: Sequence[str]) -> dict[str, str]:
    """Read `Company | Role | Place | Full-time | https://…`, the company always first."""
    parts = _BAR.split(lines[0])
    if len(parts) <= _MIN_BARS or not all(parts):
        return {}
    company = _ASIDE.sub("", parts[0])
    is_fact = _SALARY.search(company) or _TERMS.search(company) or "://" in company
    if is_fact or names_a_role(company) or len(company) > MAX_PART_CHARS:
        return {}
    return {"company": company, **_role_and_place(parts[1:])}


def _role_and_place(parts: Sequence[str]) -> dict[str, str]:
    kinds = [_kind(part) for part in parts]
    named = {kind: [p for p, k in zip(parts, kinds, strict=True) if k is kind] for kind in _Kind}
    titles, others = named[_Kind.ROLE], named[_Kind.OTHER]
    places = [*named[_Kind.MODE_AND_PLACE], *others]
    if not titles and others and parts[0] == others[0] and len(places) > 1:
        titles, places = others[:1], [place for place in places if place != others[0]]
    elif not titles and others and named[_Kind.MODE] and parts[0] == others[0]:
        titles, places = others[:1], []
    places = places or named[_Kind.MODE]
    found = {"title": titles, "location": places}
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _card(lines: Sequence[str]) -> dict[str, str]:
    """Read a card: company and title above one line of facts, of which one is no term: the place.

    Which of the two lines is the title is told by a word for a role, in one of them alone.
    """
    for at, line in enumerate(lines[: _MAX_ABOVE + 1]):
        parts = [part for part in _SLASH.split(line) if part]
        kinds = [_kind(part) for part in parts]
        if len(parts) <= _MIN_FACTS or kinds.count(_Kind.FACT) < _MIN_FACTS:
            continue
        others = [p for p, k in zip(parts, kinds, strict=True) if k is not _Kind.FACT]
        place = {"location": others[0]} if len(others) == 1 else {}
        return {**place, **_company_and_title(lines[:at])}
    return {}


def _company_and_title(above: Sequence[str]) -> dict[str, str]:
    if len(above) != _MAX_ABOVE or not all(0 < len(line) <= MAX_PART_CHARS for line in above):
        return {}
    roles = [line for line in above if names_a_role(line)]
    if len(roles) != 1 or any(map(_SENTENCE.search, above)):
        return {}
    company = next(line for line in above if line != roles[0])
    return {"company": company, "title": roles[0]}


def _headline(lines: Sequence[str]) -> dict[str, str]:
    """Read `Title at Company`, or `[…] 公司 招聘 职位 薪水…`, where it is a line of its own."""
    line = lines[0]
    if len(line) > MAX_PART_CHARS + 20:
        return {}
    is_alone = len(lines) == 1 or not lines[1]
    found = _HIRES.fullmatch(line) or (_AT_COMPANY.fullmatch(line) if is_alone else None)
    if found is None or not names_a_role(found["title"]) or names_a_role(found["company"]):
        return {}
    return {"company": found["company"], "title": found["title"]}


def _titled(lines: Sequence[str]) -> dict[str, str]:
    """Read a title, and below it `Company - Place` or company and place on lines of their own.

    A blank line, or one of facts, has to follow: otherwise it is running text.
    """
    if len(lines) < _MAX_ABOVE + 1 or not _is_heading(lines[0]):
        return {}
    joined = _COMPANY_AND_PLACE.fullmatch(lines[1])
    if joined and not lines[2] and _PLACE.fullmatch(joined["place"]):
        return {"title": lines[0], "company": joined["company"], "location": joined["place"]}
    ends = len(lines) > _MAX_ABOVE + 1 and (not lines[3] or _is_fact(lines[3]))
    if not ends or not names_a_role(lines[0]) or not _is_heading(lines[1]):
        return {}
    if names_a_role(lines[1]) or not _is_place(lines[2], is_sure=_is_fact(lines[3])):
        return {}
    return {"title": lines[0], "company": lines[1], "location": lines[2]}


def _is_heading(line: str) -> bool:
    return 0 < len(line) <= MAX_PART_CHARS + 20 and not _SENTENCE.search(line)


def _is_fact(line: str) -> bool:
    return len(line) <= MAX_PART_CHARS and not _SENTENCE.search(line) and _kind(line) is _Kind.FACT


def _is_place(line: str, *, is_sure: bool) -> bool:
    """Say whether a line is a place: one with its region, or any short one where facts follow."""
    if _SENTENCE.search(line) or _kind(line) in (_Kind.FACT, _Kind.ROLE):
        return False
    return bool(_PLACE.fullmatch(line)) or (is_sure and len(line) <= MAX_PART_CHARS)


def names_a_role(text: str) -> bool:
    """Say whether words name a role, such as engineer; a firm may have such a word in its name."""
    return _ROLE.search(text) is not None and _FIRM.search(text) is None


def _kind(part: str) -> _Kind:
    if _SALARY.search(part) or _TERMS.search(part) or _ADDRESS.search(part):
        return _Kind.FACT
    if _ROLE.search(part):
        return _Kind.ROLE
    if _BACKGROUND.search(part) or _STACK_ONLY.fullmatch(part):
        return _Kind.FACT
    if _MODE.search(part):
        return _Kind.MODE if _MODE_ONLY.fullmatch(part) else _Kind.MODE_AND_PLACE
    return _Kind.OTHER
