"""A résumé's text: which lines their sources support, and where each stands in the Markdown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict

from alfred.services.text_key import one_line

Section = Literal["experience", "education", "skills", "other"]
HEADINGS: Mapping[str, Mapping[Section, str]] = {
    "zh": {"experience": "经历", "education": "教育", "skills": "技能", "other": "其他"},
    "en": {
        "experience": "Experience",
        "education": "Education",
        "skills": "Skills",
        "other": "Other",
    },
}
_TITLES = {"zh": "简历", "en": "Résumé"}
_FUNCTION_WORDS = frozenset(
    str.split(
        """
        a an and as at by for from in into of on or over per than that the their this to under via
        was were which while with within across through using
        built created delivered designed developed did drove implemented improved led maintained
        made managed operated owned ran responsible supported used worked wrote
        """
    )
)
"""Words that a line may add: grammar, and verbs that claim no more than that it was done."""
_FUNCTION_CHARS = frozenset("的了和与及在为对等并将于以从中、，。；：（）其把被由")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+(?:[.,:/-]\d+)*%?|[^\W_]+")
_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+")
_ENDINGS = ("ing", "ed", "es", "s", "e", "d")


class Source(TypedDict):
    """A numbered row that lines may rest on; `id` is a row's id or a reference to an action."""

    number: int
    text: str
    table: str
    id: Any


class Line(TypedDict):
    """One line as a model wrote it, with the numbers of the sources it rests on."""

    section: Section
    text: str
    sources: list[int]


def unsupported_words(text: str, sources: Iterable[str]) -> list[str]:
    """List what a line says and its sources do not: words, names, numbers, dates.

    Numbers must stand in a source as they are. Latin words may differ in their ending. Chinese
    text must consist of pieces of at least two characters of the sources, particles aside. It is
    stricter than grammar needs, on purpose: an unsupported line is dropped, never softened.
    """
    held = _fold("\n".join(sources))
    words = {_stem(word) for word in _latin_words(held)}
    folded = _fold(text)
    foreign = [
        word
        for word in _latin_words(folded)
        if _stem(word) not in words and word not in _FUNCTION_WORDS
    ]
    return [*foreign, *(part for run in _CJK.findall(folded) for part in _uncovered(run, held))]


def supported_lines(
    lines: Sequence[Line], sources: Sequence[Source]
) -> tuple[list[Line], list[tuple[str, str]]]:
    """Divide lines into those that their sources support, and the others with the reason."""
    by_number = {source["number"]: source["text"] for source in sources}
    kept: list[Line] = []
    dropped: list[tuple[str, str]] = []
    for line in lines:
        named = [by_number[number] for number in line["sources"] if number in by_number]
        if not named or len(named) < len(line["sources"]):
            dropped.append((line["text"], "no such source"))
        elif foreign := unsupported_words(line["text"], named):
            dropped.append((line["text"], ", ".join(foreign)))
        else:
            kept.append(line)
    return kept, dropped


def resume_markdown(lines: Sequence[Line], language: str) -> str | None:
    """Write the lines under their sections' headings; None where there is no line."""
    if not lines:
        return None
    return "\n".join(text for text, _ in _layout(lines, language))


def resume_sources(
    lines: Sequence[Line], language: str, sources: Sequence[Source]
) -> list[dict[str, Any]]:
    """Say for each line of `resume_markdown` on which rows it rests; lines count from 1."""
    by_number = {source["number"]: source for source in sources}
    return [
        {"line": number, "source_table": source["table"], "source_id": source["id"]}
        for number, (_, named) in enumerate(_layout(lines, language), start=1)
        for source in (by_number[n] for n in dict.fromkeys(named))
    ]


def _layout(lines: Sequence[Line], language: str) -> Iterator[tuple[str, list[int]]]:
    headings = HEADINGS.get(language, HEADINGS["en"])
    yield f"# {_TITLES.get(language, _TITLES['en'])}", []
    for section, heading in headings.items():
        inside = [line for line in lines if line["section"] == section]
        if inside:
            yield "", []
            yield f"## {heading}", []
            yield "", []
        for line in inside:
            yield f"- {one_line(line['text'])}", line["sources"]


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _latin_words(folded: str) -> list[str]:
    return _WORD.findall(_CJK.sub(" ", folded))


def _stem(word: str) -> str:
    if word[0].isdigit():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _uncovered(run: str, held: str) -> Iterator[str]:
    """Give the parts of a Chinese run that no piece of two or more held characters covers."""
    start = 0
    while start < len(run):
        end = start + 1
        while end < len(run) and run[start : end + 1] in held:
            end += 1
        if end - start < 2 and run[start] not in _FUNCTION_CHARS:
            yield run[start]
        start = end
