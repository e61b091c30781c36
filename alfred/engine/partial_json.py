"""Reads a JSON object while it is being decoded, to show each value as soon as it is complete."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from alfred.engine import json_pointer

MAX_DEPTH = 64

_STRING_MARK = re.compile(r'["\\\x00-\x1f]')
_WORD = re.compile(r"[-+.0-9A-Za-z]+")


@dataclass
class _Container:
    """An open object or array: `key` is the name or index of the value that comes next."""

    pointer: str
    is_object: bool
    key: str | int
    is_empty: bool = True


class PartialObject:
    """Receives the text of a JSON object in pieces and yields its leaves in order.

    Leaves are texts, numbers, booleans, nulls, and empty objects and arrays. Text that is not
    JSON ends the reading: what came before stays yielded, nothing follows. It shows values and
    decides nothing; the whole text is parsed strictly in the end.
    """

    def __init__(self) -> None:
        self._text = ""
        self._scanned = 0
        self._open: list[_Container] = []
        self._expects = "root"
        self._found: list[tuple[str, Any]] = []

    @property
    def is_over(self) -> bool:
        """Whether nothing more can come: the object is complete, or the text is not JSON."""
        return self._expects == "nothing"

    def feed(self, piece: str) -> list[tuple[str, Any]]:
        """Take the next piece; return the leaves it completed as (JSON pointer, value)."""
        self._found = []
        self._text += piece
        try:
            while self._expects != "nothing" and (symbol := self._next_symbol()):
                self._take(symbol)
        except (ValueError, RecursionError):
            self._expects = "nothing"
        if self._expects == "nothing":
            self._text = ""
        return self._found

    def _next_symbol(self) -> str | None:
        """Cut the next complete symbol off the text; None until there is one."""
        text = self._text.lstrip(" \t\r\n")
        if len(text) != len(self._text):
            self._text, self._scanned = text, 0
        if not text:
            return None
        if self._expects == "root" and text[0] != "{":
            raise ValueError("not an object")
        end: int | None = 1
        if text[0] == '"':
            end = self._string_end()
        elif word := _WORD.match(text):
            # A number may go on in the next piece; within an object something always follows it.
            end = word.end() if word.end() < len(text) else None
        if end is None:
            return None
        self._text, self._scanned = text[end:], 0
        return text[:end]

    def _string_end(self) -> int | None:
        position = max(self._scanned, 1)
        while mark := _STRING_MARK.search(self._text, position):
            if mark.group() == '"':
                return mark.end()
            if mark.group() != "\\":
                raise ValueError("a control character in a string")
            position = mark.end() + 1
            if position > len(self._text):
                self._scanned = mark.start()
                return None
        self._scanned = len(self._text)
        return None

    def _take(self, symbol: str) -> None:
        expects = self._expects
        if expects == "colon" and symbol == ":":
            self._expects = "value"
        elif expects == "comma" and symbol == ",":
            self._expects = "key" if self._open[-1].is_object else "value"
        elif symbol in ("}", "]"):
            self._close(symbol)
        elif symbol in ("{", "["):
            self._begin(symbol)
        elif expects in ("key", "first key") and symbol[0] == '"':
            self._open[-1].key = _scalar(symbol)
            self._open[-1].is_empty = False
            self._expects = "colon"
        elif expects in ("value", "first value"):
            self._leaf(_scalar(symbol))
        else:
            raise ValueError("not JSON")

    def _begin(self, symbol: str) -> None:
        if self._expects == "root":
            pointer = ""
        elif self._expects in ("value", "first value"):
            pointer = self._here()
        else:
            raise ValueError("not JSON")
        is_object = symbol == "{"
        if len(self._open) >= MAX_DEPTH:
            raise ValueError("nested too deeply")
        self._open.append(_Container(pointer, is_object, "" if is_object else 0))
        self._expects = "first key" if is_object else "first value"

    def _close(self, symbol: str) -> None:
        wanted = ("comma", "first key") if symbol == "}" else ("comma", "first value")
        if self._expects not in wanted or self._open[-1].is_object != (symbol == "}"):
            raise ValueError("not JSON")
        container = self._open.pop()
        if container.is_empty:
            self._found.append((container.pointer, {} if container.is_object else []))
        self._value_done()

    def _leaf(self, value: Any) -> None:
        self._found.append((self._here(), value))
        self._value_done()

    def _here(self) -> str:
        container = self._open[-1]
        container.is_empty = False
        return json_pointer.extend(container.pointer, container.key)

    def _value_done(self) -> None:
        if not self._open:
            self._expects = "nothing"
            return
        container = self._open[-1]
        if isinstance(container.key, int):
            container.key += 1
        self._expects = "comma"


def _scalar(symbol: str) -> Any:
    value = json.loads(symbol, parse_constant=_refuse)
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not a finite number")
    return value


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
