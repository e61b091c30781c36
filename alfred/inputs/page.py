"""A saved web page as an input: its records, its head and its main text, without what is hidden."""

from __future__ import annotations

import copy
import logging
import re
from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import Any

from alfred.engine.skill_input import Record, Section, SkillInput
from alfred.errors import InputRefused
from alfred.inputs.decoding import check_size, clean_text, decode_text, known_charset
from alfred.inputs.language import detect_language
from alfred.inputs.markup import Element, page_comments, parse_markup, shown_text
from alfred.inputs.schema_org import find_records, page_scripts, record_lines
from alfred.inputs.text import check_words, stamp
from alfred.inputs.visibility import drop_hidden

MAX_PAGE_CHARS = 10_000_000
"""Longest page with its markup; the text composed of it obeys the limit of every text."""

_CHARSET = re.compile(rb"<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*[\"']?\s*([\w-]+)", re.I)
_WORD_CHARS = re.compile(r"[^\w]+")
_MAX_BLOCK_CHARS = 1_000
"""How much text around the heading counts as its block."""
_MAX_HEADINGS = 20
_MAX_ANCESTORS = 50
_TELLING_CHARS = 16
"""A line at least this long is a repetition where it stands twice; a shorter one may be a label."""
_MAX_ELEMENTS = 50_000
"""trafilatura takes a minute on trees far beyond this."""


def read_page(content: bytes | str, *, received_at: datetime, timezone: str) -> SkillInput:
    """Make an input of a saved HTML page.

    Shapes: the sections `data` (values of the schema.org records, one a line), `head` (title,
            Open Graph, the block around the heading) and `main` (the main text), in this order,
            each possibly empty; a line that an earlier section has is not repeated.
    Errors: `input.too_large`, `input.empty` for a page that shows no text, `input.no_words`,
            `input.unreadable`; for bytes also `input.unsupported`.
    """
    check_size(content, max_chars=MAX_PAGE_CHARS)
    markup = content if isinstance(content, str) else decode_page(content)
    markup = clean_text(markup)
    root = parse_markup(markup)
    url = _address(root, page_comments(markup))
    titles = _head_lines(root)
    scripts = page_scripts(root)
    drop_hidden(root)
    records = find_records(scripts, root)
    blocks = _heading_block(root, " ".join(titles)).split("\n")
    text, sections = _compose(
        {
            "data": record_lines(records),
            "head": [*titles, *blocks],
            "main": _main_text(root).split("\n"),
        }
    )
    return _skill_input(text, sections, records, url, (stamp(received_at), timezone))


def decode_page(content: bytes, *, stated: str | None = None) -> str:
    """Decode a page's bytes by its byte order mark, as UTF-8, or in the charset it declares.

    `stated` is what the site's server called the charset. It goes before the page's own word,
    unless it is Latin 1, which servers state of every page when nobody told them better.
    """
    declared = _CHARSET.search(content[:16_384])
    own = known_charset(declared[1].decode("ascii")) if declared else None
    sent = known_charset(stated) if stated else None
    return decode_text(content, declared=own or sent if sent in (None, "cp1252") else sent)


def _skill_input(
    text: str,
    sections: list[Section],
    records: list[Record],
    url: str | None,
    received: tuple[str, str],
) -> SkillInput:
    if not text:
        raise InputRefused(
            "input.empty",
            "The page shows no text.",
            hint="It may build itself by script: open it in a browser, then save it from there.",
        )
    check_size(text)
    check_words(text)
    received_at, timezone = received
    return SkillInput(
        modality="link",
        text=text,
        language=detect_language(text),
        url=url,
        sections=sections,
        records=records,
        received_at=received_at,
        timezone=timezone,
    )


def _address(root: Element, comments: Iterable[str]) -> str | None:
    """The page's own word for its address, else where the browser noted it was saved from."""
    links = [
        e.get("href", "") for e in root.iter("link") if e.get("rel", "").lower() == "canonical"
    ]
    graph = [e.get("content", "") for e in root.iter("meta") if e.get("property", "") == "og:url"]
    notes = [
        match[1]
        for comment in comments
        if (match := re.search(r"(?:saved from url=\(\d+\)|\burl: *)(\S+)", comment))
    ]
    for url in (*links, *graph, *notes):
        if re.fullmatch(r"https?://\S{1,2000}", url.strip()):
            return url.strip()
    return None


def _head_lines(root: Element) -> list[str]:
    """Title, Open Graph title, site name and description, each once."""
    lines: list[str] = []
    title = next((node for node in root.iter("title") if _is_of_page(node)), None)
    if title is not None:
        lines.append(" ".join((title.text or "").split()))
    metas = {
        (node.get("property", "") or node.get("name", "")).lower(): node.get("content", "")
        for node in reversed(list(root.iter("meta")))
    }
    described = metas.get("og:description") or metas.get("description", "")
    for value in (metas.get("og:title", ""), metas.get("og:site_name", ""), described):
        lines.append(" ".join(value.split()))
    return list(dict.fromkeys(line for line in lines if line))


def _is_of_page(title: Element) -> bool:
    return next(title.iterancestors("svg"), None) is None


def _heading_block(root: Element, titles: str) -> str:
    """Text of the largest element around the page's heading that is still about the heading."""
    headings = list(islice(root.iter("h1"), _MAX_HEADINGS))
    headings = headings or list(islice(root.iter("h2"), _MAX_HEADINGS))
    candidates = [(node, text) for node in headings if (text := shown_text(node))]
    if not candidates:
        return ""
    # A site's logo is often a heading too; the title names the one the page is about.
    element, text = next((pair for pair in candidates if pair[1] in titles), candidates[0])
    for parent in islice(element.iterancestors(), _MAX_ANCESTORS):
        around = shown_text(parent)
        if len(around) > _MAX_BLOCK_CHARS:
            break
        text = around
    return text


def _main_text(root: Element) -> str:
    """The main text as trafilatura finds it; all shown text where it finds none."""
    shown = shown_text(root)
    if sum(1 for _ in root.iter()) > _MAX_ELEMENTS:
        return shown
    # It costs 0.4 s to import, and plain text does not need it.
    import trafilatura  # noqa: PLC0415

    # It warns about every page it finds little in; finding little is an answer here.
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    tree: Any = copy.deepcopy(root)
    try:
        found = trafilatura.extract(tree, include_comments=False, favor_recall=True)
    except RecursionError:
        found = None
    return clean_text(found) if found and found.strip() else shown


def _compose(parts: dict[str, list[str]]) -> tuple[str, list[Section]]:
    """Join the parts, each without the passages that an earlier part already has."""
    known: set[str] = set()
    sections: list[Section] = []
    text = ""
    for name, lines in parts.items():
        kept = _without_repetitions([line.strip() for line in lines if line.strip()], known)
        known.update(key for line in lines for key in _keys(line))
        body = "\n".join(kept)
        if text and body:
            text += "\n\n"
        sections.append(Section(name=name, start=len(text), end=len(text) + len(body)))
        text += body
    return text, sections


def _without_repetitions(lines: list[str], known: set[str]) -> list[str]:
    """Drop each run of known lines in which one is long enough to be no mere label."""
    kept: list[str] = []
    run: list[str] = []
    for line in [*lines, None]:
        if line is not None and _key(line) in known:
            run.append(line)
            continue
        if run and max(len(_key(each)) for each in run) < _TELLING_CHARS:
            kept.extend(run)
        run = []
        if line is not None:
            kept.append(line)
    return kept


def _keys(line: str) -> tuple[str, ...]:
    """What makes a line known: itself and, of `field: value`, the value."""
    _, _, value = line.partition(": ")
    return (_key(line), _key(value)) if value else (_key(line),)


def _key(line: str) -> str:
    return _WORD_CHARS.sub("", line).casefold()
