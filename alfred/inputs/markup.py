"""HTML as a tree: parsed once by lxml, read as the lines a browser would show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, cast

from lxml import etree, html  # pyright: ignore

from alfred.errors import InputRefused

_BLOCKS = frozenset(
    str.split(
        """
        address article aside blockquote body br caption dd details dialog div dl dt fieldset
        figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol
        option p pre section select summary table tbody textarea tfoot thead title tr ul
        """
    )
)
_CELLS = frozenset({"td", "th"})
_BLANK = re.compile(r"\s+")
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*>")


class Element(Protocol):
    """What Alfred uses of an lxml element, which comes without types."""

    tag: str
    text: str | None
    tail: str | None

    def get(self, key: str, default: str) -> str: ...
    def iter(self, *tags: str) -> Iterator[Element]: ...
    def iterancestors(self, *tags: str) -> Iterator[Element]: ...
    def getparent(self) -> Element | None: ...
    def drop_tree(self) -> None: ...
    def __iter__(self) -> Iterator[Element]: ...
    def __len__(self) -> int: ...


_html = cast(Any, html)
_etree = cast(Any, etree)


def parse_markup(text: str) -> Element:
    """Parse a page, a part of one, or a value with tags in it; any tag soup gives a tree.

    Comments are gone from the tree, the text after them is not.
    Errors: `input.empty` for markup without anything in it; `input.unreadable` where lxml gives
    up or would lose what is nested too deeply.
    """
    parser = _html.HTMLParser(encoding="utf-8", huge_tree=True, remove_pis=True)
    try:
        root = _html.document_fromstring(_DECLARATION.sub("", text, count=1).encode(), parser)
    except _etree.ParserError as exc:
        raise InputRefused(
            "input.empty", "The page is empty.", hint="Save it again after it has loaded."
        ) from exc
    except _etree.LxmlError as exc:
        raise InputRefused(
            "input.unreadable", f"The page cannot be parsed: {exc}.", hint="Paste its text instead."
        ) from exc
    if any("depth" in entry.message for entry in parser.error_log):
        raise InputRefused(
            "input.unreadable",
            "The page is nested more than 2,000 elements deep.",
            hint="Paste its text instead.",
        )
    _etree.strip_tags(root, _etree.Comment)
    return cast(Element, root)


def page_comments(text: str) -> Iterable[str]:
    """Give the comments at the top of a page, where browsers note what they saved."""
    return re.findall(r"<!--(.*?)-->", text[:4096], re.DOTALL)


def shown_text(element: Element) -> str:
    """Give an element's text as lines: one for each block, blanks collapsed, no empty lines."""
    pieces: list[str] = []
    verbatim = 0
    for event, node in _etree.iterwalk(element, events=("start", "end")):
        if node.tag in ("pre", "textarea"):
            verbatim += 1 if event == "start" else -1
        if node.tag in _BLOCKS:
            pieces.append("\n")
        if event == "start":
            pieces.append(_inline(node.text, bool(verbatim)))
        else:
            pieces.append(" " if node.tag in _CELLS else "")
            pieces.append("" if node is element else _inline(node.tail, bool(verbatim)))
    lines = (_BLANK.sub(" ", line).strip() for line in "".join(pieces).split("\n"))
    return "\n".join(line for line in lines if line)


def _inline(text: str | None, verbatim: bool) -> str:
    if not text:
        return ""
    return text if verbatim else _BLANK.sub(" ", text)
