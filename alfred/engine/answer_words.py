"""Words that stand for no value: "not stated" in two languages, and placeholders."""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property

_NOT_STATED = frozenset(
    (
        *("n/a", "n.a", "na", "null", "none", "nil", "nan", "undefined", "unknown", "unspecified"),
        *("not specified", "not stated", "not mentioned", "not provided", "not available"),
        *("not given", "not applicable", "not found", "not disclosed", "no information"),
        *("to be determined", "to be announced", "to be confirmed", "tbd", "tba", "tbc"),
        *("未提供", "未提及", "未说明", "未注明", "未指定", "未公布", "未明确", "未知", "未填写"),
        *("不详", "不明", "不明确", "不适用", "无", "暂无", "没有", "没有提及", "没有说明", "待定"),
        *("原文未提及", "原文未说明", "文中未提及"),
    )
)
_PLACEHOLDERS = frozenset(
    (
        *("string", "str", "text", "number", "integer", "boolean", "array", "object", "value"),
        *("todo", "fixme", "placeholder", "example", "sample", "lorem ipsum", "foo", "bar"),
        *("占位符", "占位", "示例", "待填写", "待补充", "字符串", "文本"),
    )
)
_PLACEHOLDER_FORM = re.compile(
    r"<[^<>]{1,80}>|\[[^\[\]]{1,80}\]|【[^【】]{1,80}】|\{.{0,80}\}|\$\{.{0,80}\}"
    r"|\.{2,}|…+|x{3,}|_{2,}|\?{2,}|\*{2,}"
)
_AROUND = " \t\r\n()（）[]【】.。,，;；:：-—–/\\\"'“”‘’"


class Source:
    """The text an answer was read from, to tell a word of the text from a word for nothing."""

    def __init__(self, text: str) -> None:
        self._raw = text

    @cached_property
    def _text(self) -> str:
        return normal(self._raw)

    def states(self, value: str) -> bool:
        """Say whether the value stands in the text by itself: "无" does not in "无锡"."""
        wanted = normal(value)
        start = self._text.find(wanted) if wanted else -1
        while start >= 0:
            before = self._text[start - 1 : start]
            after = self._text[start + len(wanted) : start + len(wanted) + 1]
            joined = (before.isalnum() and wanted[0].isalnum()) or (
                after.isalnum() and wanted[-1].isalnum()
            )
            if not joined:
                return True
            start = self._text.find(wanted, start + 1)
        return False


def normal(text: str) -> str:
    """Compare texts without regard to width, case and the amount of white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def says_nothing(value: str, source: Source) -> bool:
    """Say whether a text is empty, or means "not stated" and is not the source's own word."""
    bare = normal(value).strip(_AROUND)
    if not bare:
        return not _PLACEHOLDER_FORM.fullmatch(value.strip())
    return bare in _NOT_STATED and not source.states(value.strip())


def is_placeholder(value: str, echoes: frozenset[str], source: Source) -> bool:
    """Say whether a text only marks where a value belongs, and does not stand in the source.

    `echoes` are the schema's own words for the field, normalised.
    """
    bare = normal(value)
    marked = bare in _PLACEHOLDERS or bare in echoes or _PLACEHOLDER_FORM.fullmatch(bare)
    return bool(marked) and not source.states(value.strip())
