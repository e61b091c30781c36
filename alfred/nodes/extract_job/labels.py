"""Reads lines that name what they hold, such as `Company: Alder Labs` or `工作地点：杭州`."""

from __future__ import annotations

import re
from collections.abc import Iterator

LABELS = {
    "company": (
        r"company(?: name)?|employer|client|organi[sz]ation"
        r"|(?:招聘|用人)?(?:公司|单位|企业)(?:名称)?"
    ),
    "title": r"(?:job )?title|position|role|(?:招聘)?(?:职位|岗位)(?:名称)?",
    "location": (
        r"(?:work |job )?location|place of work|work ?place|office|site"
        r"|(?:工作|上班|办公)?(?:地点|地址|城市)|坐标|base"
    ),
}
ANY_LABEL = re.compile(
    rf"(?:{'|'.join(LABELS.values())})\s*[:：]\s*",
    re.IGNORECASE,
)
MAX_VALUE_CHARS = 60
_MIN_LABELS = 2
_BLANK = r" \t\u3000"
"""Within a line: with line ends among them, a text of empty lines would be scanned from each."""
_LINES = {
    field: re.compile(
        rf"^[>*#{_BLANK}-]*(?:{label})[*{_BLANK}]*[:：][*{_BLANK}]*([^\s*].{{0,400}}?)[*{_BLANK}.。]*$",
        re.I | re.M,
    )
    for field, label in LABELS.items()
}
_NO_VALUE = re.compile(
    r"[,;!?]\s\w+\s\w+\s|[。，；！？]|://|^(?:n/?a|none|confidential|undisclosed|tbd|保密|面议|不限|无)$",
    re.IGNORECASE,
)


def read_labels(text: str) -> dict[str, str]:
    """Read company, title and location from labelled lines, where a text has at least two of them.

    A label that stands before different values, or before a sentence, gives nothing: which of them
    is meant is left to be asked. Shapes: a subset of `company`, `title`, `location`.
    """
    found = {field: values for field in LABELS if (values := list(_values(text, field)))}
    if len(found) < _MIN_LABELS:
        return {}
    return {
        field: values[0]
        for field, values in found.items()
        if len({value.casefold() for value in values}) == 1 and _is_value(values[0])
    }


def _values(text: str, field: str) -> Iterator[str]:
    for match in _LINES[field].finditer(text):
        yield match[1]


def _is_value(text: str) -> bool:
    return len(text) <= MAX_VALUE_CHARS and not _NO_VALUE.search(text)
