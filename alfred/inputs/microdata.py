"""schema.org objects written into a page's elements: microdata and RDFa Lite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from alfred.inputs.markup import Element, shown_text

_MAX_DEPTH = 20


class _Syntax(NamedTuple):
    """The attributes with which a syntax marks an object's type and its properties."""

    kind: str
    name: str


_MICRODATA = _Syntax("itemtype", "itemprop")
_RDFA = _Syntax("typeof", "property")
_ADDRESSES = {"a": "href", "area": "href", "link": "href", "img": "src", "source": "src"}


def find_items(root: Element) -> Iterator[dict[str, Any]]:
    """Give a page's objects in the shape of JSON-LD: `@type`, then property to value or values.

    A property's value is what its element declares (`content`, `datetime`, an address), else the
    text it shows. Objects that are a property of another stand inside that one only.
    """
    for syntax in (_MICRODATA, _RDFA):
        for element in root.iter():
            if element.get(syntax.kind, "") and not element.get(syntax.name, ""):
                yield _item(element, syntax, 0)


def _item(element: Element, syntax: _Syntax, depth: int) -> dict[str, Any]:
    kind = element.get(syntax.kind, "").split()[0] if element.get(syntax.kind, "").split() else ""
    item: dict[str, Any] = {"@type": kind}
    # Nearest descendants first in document order; what lies in another object is not ours.
    waiting = list(reversed(list(element)))
    while waiting:
        node = waiting.pop()
        names = node.get(syntax.name, "").split()
        is_object = bool(node.get(syntax.kind, ""))
        if names and depth < _MAX_DEPTH:
            value = _item(node, syntax, depth + 1) if is_object else _value(node)
            for name in names:
                _add(item, name.rsplit(":", 1)[-1].rsplit("/", 1)[-1], value)
        if not is_object:
            waiting.extend(reversed(list(node)))
    return item


def _value(element: Element) -> str:
    declared = element.get("content", "") or element.get("datetime", "")
    address = _ADDRESSES.get(element.tag)
    if not declared and address:
        declared = element.get(address, "")
    return declared.strip() if declared else shown_text(element)


def _add(item: dict[str, Any], name: str, value: Any) -> None:
    if value == "":
        return
    if name not in item:
        item[name] = value
    elif isinstance(item[name], list):
        item[name].append(value)
    else:
        item[name] = [item[name], value]
