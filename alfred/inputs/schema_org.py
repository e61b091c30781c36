"""The schema.org records of a page: what it says about itself to machines, kept as it stands."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

from alfred.engine.skill_input import Record
from alfred.errors import InputRefused
from alfred.inputs.decoding import clean_text
from alfred.inputs.markup import Element, parse_markup, shown_text
from alfred.inputs.microdata import find_items
from alfred.inputs.visibility import drop_hidden

MAX_RECORDS = 50
MAX_RECORD_CHARS = 500_000
"""Characters of all records together, as JSON; what comes after is left out."""

_ABOUT_THE_SITE = frozenset(
    str.split(
        """
        BreadcrumbList ImageObject ItemList Organization ReadAction SearchAction
        SiteNavigationElement WPFooter WPHeader WebPage WebSite
        """
    )
)
_NOT_WORDS = frozenset({"image", "logo", "thumbnailUrl", "sameAs", "potentialAction", "hasMap"})
_WRAPPERS = (("<!--", "-->"), ("<![CDATA[", "]]>"))
_AROUND = " \t\r\n;/*\ufeff"
"""What stands around JSON in a script besides comment marks."""
_IN_JSON = re.compile(r'"(?:[^"\\]|\\.)*"|,\s*(?=[\]}])', re.DOTALL)
_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|&(?:[a-zA-Z]{2,8}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
_MAX_DEPTH = 20
_MAX_LINKED = 3


def page_scripts(root: Element) -> list[str]:
    """Give the texts of a page's JSON-LD scripts; call it before hidden elements are dropped."""
    return [
        node.text or ""
        for node in root.iter("script")
        if node.get("type", "").strip().lower().startswith("application/ld+json")
    ]


def find_records(scripts: Iterable[str], root: Element) -> list[Record]:
    """Collect a page's schema.org objects: JSON-LD first, then microdata and RDFa.

    Shapes: each object of an array or `@graph` is a record; a nested object stays in its place,
            and a mere `{"@id": …}` is replaced by the object of that id. Integers beyond 64 bits
            and numbers that are no JSON numbers become strings.
    Errors: none; a script that is no JSON even after the usual repairs is passed over.
    """
    nodes = [node for script in scripts for node in _objects(_load(script), 0)]
    by_id = {str(node["@id"]): node for node in nodes if "@id" in node and len(node) > 1}
    found = [*(_linked(node, by_id, 0) for node in nodes), *find_items(root)]
    records: list[Record] = []
    seen: set[str] = set()
    room = MAX_RECORD_CHARS
    for value in found:
        written = json.dumps(value, ensure_ascii=False, sort_keys=True)
        room -= len(written)
        if written in seen or not (name := _type_name(value)):
            continue
        if room < 0 or len(records) >= MAX_RECORDS:
            break
        seen.add(written)
        records.append(Record(type=name, value=value))
    return records


def record_lines(records: Iterable[Record]) -> list[str]:
    """Write records as lines `field: value`, the values word for word, tags turned to text.

    Records about the site rather than the page (its name, its breadcrumbs) are left out, unless
    there are no others.
    """
    every = list(records)
    chosen = [record for record in every if record["type"] not in _ABOUT_THE_SITE] or every
    lines: list[str] = []
    for record in chosen:
        lines.append(record["type"])
        for field, text in _leaves(record["value"], ""):
            # A text of several lines begins below its label, so that its first line stays whole.
            lines.extend([f"{field}:", *text.split("\n")] if "\n" in text else [f"{field}: {text}"])
    return lines


def _load(script: str) -> Any:
    text = _unwrapped(script)
    repaired = _IN_JSON.sub(lambda m: m[0] if m[0][0] == '"' else "", text)
    repaired = _BAD_ESCAPE.sub("", repaired)
    for attempt in (text, repaired, html.unescape(repaired)):
        try:
            loaded, _ = _DECODER.raw_decode(attempt)
        except (ValueError, RecursionError):
            continue
        return loaded
    return None


def _unwrapped(script: str) -> str:
    text = script.strip(_AROUND)
    for opening, closing in _WRAPPERS:
        text = text.removeprefix(opening).removesuffix(closing).strip(_AROUND)
    return text


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) < 19 else digits


def _decimal(digits: str) -> float | str:
    number = float(digits)
    return number if abs(number) < 1e300 else digits


_DECODER = json.JSONDecoder(
    strict=False, parse_int=_integer, parse_float=_decimal, parse_constant=str
)


def _objects(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    """Give the objects at the top of a script, of its arrays and of its graphs."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in cast(list[Any], value):
            yield from _objects(item, depth + 1)
    elif isinstance(value, dict):
        node = cast(dict[str, Any], value)
        if "@graph" in node:
            yield from _objects(node["@graph"], depth + 1)
        if "@type" in node:
            yield {clean_text(key): item for key, item in node.items() if key != "@graph"}


def _linked(value: Any, by_id: dict[str, dict[str, Any]], links: int, depth: int = 0) -> Any:
    """Copy a value with its strings valid and its references replaced by what they refer to."""
    if isinstance(value, str):
        return clean_text(value)
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, list):
        return [_linked(item, by_id, links, depth + 1) for item in cast(list[Any], value)[:1000]]
    if not isinstance(value, dict):
        return value
    node = cast(dict[str, Any], value)
    if set(node) == {"@id"} and links < _MAX_LINKED and str(node["@id"]) in by_id:
        return _linked(by_id[str(node["@id"])], by_id, links + 1, depth + 1)
    return {clean_text(k): _linked(item, by_id, links, depth + 1) for k, item in node.items()}


def _type_name(value: dict[str, Any]) -> str:
    kind = value.get("@type")
    if isinstance(kind, list):
        kind = next(iter(cast(list[Any], kind)), None)
    return re.split(r"[/#:]", kind)[-1].strip() if isinstance(kind, str) else ""


def _leaves(value: Any, field: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in cast(dict[str, Any], value).items():
            if not key.startswith("@") and key not in _NOT_WORDS:
                yield from _leaves(item, f"{field}.{key}" if field else key)
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            yield from _leaves(item, field)
    elif isinstance(value, str):
        if text := _plain(value):
            yield field, text
    elif value is not None:
        yield field, json.dumps(value)


def _plain(value: str) -> str:
    """Turn a value that was written for a browser into the text a browser would show."""
    text = value
    for _ in range(2):  # some sites escape their tags, and then escape them again
        if not _MARKUP.search(text):
            break
        if "<" not in text:
            text = html.unescape(text)
            continue
        try:
            tree = parse_markup(f"<div>{text}</div>")
        except InputRefused:
            break
        drop_hidden(tree)
        text = shown_text(tree)
    lines = (" ".join(line.split()) for line in clean_text(text).split("\n"))
    return "\n".join(line for line in lines if line)
