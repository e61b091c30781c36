"""A probe that finds the sections of runbooks, a folder of Markdown, whose words are asked for."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alfred.errors import ProbeFailed
from alfred.probes.probe import Finding, Window
from alfred.probes.regular_file import open_regular
from alfred.probes.said import say_text
from alfred.probes.tool_call import Kind

MAX_FILES = 500
MAX_FILE_BYTES = 256_000
MAX_SECTIONS = 3
MAX_SECTION_LINES = 12
MAX_WORDS_CHARS = 120
IN_TITLE = 3.0
"""How much more a word counts in a heading than below it."""

_HEADING = re.compile(r"#{1,6}[ \t](.*)")
_WORD = re.compile(r"[a-z0-9][a-z0-9_]+|[\u3400-\u9fff]+")


@dataclass(frozen=True, kw_only=True)
class RunbookSettings:
    """Where the runbooks are: a folder, with Markdown files at any depth."""

    folder: Path
    timeout_s: float = 5.0


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading with what stands below it, and the headings it stands under."""

    file: str
    titles: tuple[str, ...]
    lines: tuple[str, ...]


class Runbooks:
    """`runbooks`: what to do, as somebody wrote it down. It advises and is never evidence."""

    name = "runbooks"
    kind: Kind = "guidance"
    sample_arguments: Mapping[str, Any] = {"words": "error"}
    description = "Advice from runbooks about given words; it is no evidence."
    is_primary = False

    def __init__(self, settings: RunbookSettings) -> None:
        self._folder = settings.folder
        self.timeout_s = settings.timeout_s
        words = {"type": "string", "minLength": 1, "maxLength": MAX_WORDS_CHARS}
        self.parameters: Mapping[str, Any] = {
            "type": "object",
            "properties": {"words": words},
            "required": ["words"],
            "additionalProperties": False,
        }

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        asked = str(arguments["words"])
        sections, is_cut = await asyncio.to_thread(_read_sections, self._folder)
        best = rank(sections, asked)
        lines: list[str] = []
        for section in best[:MAX_SECTIONS]:
            place = say_text(" › ".join((section.file, *section.titles)), 120)
            kept = [line for line in section.lines if line.strip()]
            lines += [f"{place}: {say_text(line)}" for line in kept[:MAX_SECTION_LINES]]
            is_cut |= len(kept) > MAX_SECTION_LINES
        return Finding(
            asked=f"runbook sections about {say_text(asked, MAX_WORDS_CHARS)!r}",
            where=f"{len(sections)} sections of the runbooks",
            lines=tuple(lines),
            truncated=is_cut or len(best) > MAX_SECTIONS,
        )

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> None:
        return None

    async def aclose(self) -> None:
        """Nothing stays open between two questions."""


def rank(sections: Sequence[Section], asked: str) -> list[Section]:
    """Order the sections that have a word asked for, the best first.

    A rare word counts more than one that many sections have, and more in a heading. Chinese is
    compared by pairs of characters.
    """
    wanted = set(_terms(asked))
    has = [
        (set(_terms(" ".join(section.titles))), set(_terms("\n".join(section.lines))))
        for section in sections
    ]
    weights = {
        term: math.log(1 + len(sections) / (1 + sum(term in a or term in b for a, b in has)))
        for term in wanted
    }
    scored: list[tuple[float, int]] = []
    for place, (title, body) in enumerate(has):
        score = sum(
            weights[term] * (IN_TITLE if term in title else 1.0)
            for term in wanted
            if term in title or term in body
        )
        if score:
            scored.append((-score, place))
    return [sections[place] for _, place in sorted(scored)]


def read_sections(file: str, text: str) -> Iterator[Section]:
    """Divide Markdown at its headings; a heading in a code block is none."""
    titles: list[tuple[int, str]] = []
    lines: list[str] = []
    in_code = False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
            continue
        match = None if in_code else _HEADING.fullmatch(line.rstrip())
        if match is None:
            lines.append(line)
            continue
        if any(said.strip() for said in lines):
            yield Section(file=file, titles=tuple(t for _, t in titles), lines=tuple(lines))
        level = match.start(1) - 1
        title = match[1].strip().rstrip("#").rstrip()
        titles = [*(one for one in titles if one[0] < level), (level, title)]
        lines = []
    if any(said.strip() for said in lines):
        yield Section(file=file, titles=tuple(t for _, t in titles), lines=tuple(lines))


def _terms(text: str) -> Iterator[str]:
    for word in _WORD.findall(text.lower()):
        if word.isascii():
            yield word
        else:
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))


def _read_sections(folder: Path) -> tuple[list[Section], bool]:
    """Read the files; those that a link leads out of the folder are left out."""
    if not folder.is_dir():
        message = f"The runbooks' folder {folder} does not exist."
        raise ProbeFailed("probe.unreachable", message, hint="Correct its path in the tools file.")
    root = folder.resolve()
    try:
        paths = sorted(path for path in root.rglob("*.md") if path.is_file())
        inside = [path for path in paths if path.resolve().is_relative_to(root)]
        sections: list[Section] = []
        is_cut = len(inside) > MAX_FILES
        for path in inside[:MAX_FILES]:
            with open_regular(path) as file:
                read = file.read(MAX_FILE_BYTES + 1)
            is_cut |= len(read) > MAX_FILE_BYTES
            text = read[:MAX_FILE_BYTES].decode("utf-8-sig", errors="replace")
            sections += read_sections(path.relative_to(root).as_posix(), text)
    except OSError as exc:
        message = f"The runbooks in {folder} cannot be read: {exc.strerror}."
        raise ProbeFailed("probe.unreachable", message) from exc
    return sections, is_cut
