"""The Markdown of an incident note: question, answer with citations, facts, gaps, evidence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alfred.nodes.diagnosis_shapes import items, language_of, mapping, text, texts

MAX_BODY = 100_000
_HEADINGS = {
    "question": {"en": "Question", "zh": "问题"},
    "answer": {"en": "Answer", "zh": "回答"},
    "facts": {"en": "Facts", "zh": "事实"},
    "coincidences": {"en": "No cause, but worth a look", "zh": "并非原因，但值得查看"},
    "missing": {"en": "Missing", "zh": "缺失"},
    "next": {"en": "Next checks", "zh": "下一步检查"},
    "evidence": {"en": "Evidence", "zh": "证据"},
}
_COLUMNS = {
    "en": "| | fact | role | verification | evidence |",
    "zh": "| | 事实 | 角色 | 核对结果 | 证据 |",
}
_WORDS = {
    "cause": {"en": "cause", "zh": "原因"},
    "symptom": {"en": "symptom", "zh": "症状"},
    "ruled_out": {"en": "ruled out", "zh": "已排除"},
    "normal": {"en": "normal", "zh": "正常"},
    "direct_support": {"en": "direct support", "zh": "直接支持"},
    "indirect_support": {"en": "indirect support", "zh": "间接支持"},
    "no_evidence": {"en": "no evidence", "zh": "没有证据"},
    "contradicted": {"en": "contradicted", "zh": "相矛盾"},
}


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a note tells of: the question, its bounds in the person's zone, and the answer."""

    question: str
    scope: Mapping[str, str]
    start: datetime
    end: datetime
    answer: Mapping[str, Any]


def write_body(told: Told) -> str:
    """Write the note in the answer's language; a section without content is left out."""
    language = language_of(told.answer)
    sections = (
        ("question", _question(told)),
        ("answer", _answer(told.answer)),
        ("facts", _facts(told.answer, language)),
        ("coincidences", map(_coincidence, items(told.answer, "coincidences"))),
        ("missing", (f"- {_line(gap)}" for gap in texts(told.answer, "missing"))),
        ("next", _next_checks(told.answer)),
        ("evidence", _evidence(told.answer)),
    )
    written = [(name, list(lines)) for name, lines in sections]
    parts = [
        "\n".join([f"## {_HEADINGS[name][language]}", "", *lines])
        for name, lines in written
        if lines
    ]
    return "\n\n".join(parts)[:MAX_BODY]


def _coincidence(coincidence: Mapping[str, Any]) -> str:
    cited = " ".join(f"[{name}]" for name in texts(coincidence, "evidence"))
    return f"- {_line(text(coincidence, 'text'))} {cited}"


def _question(told: Told) -> Iterator[str]:
    yield _line(told.question)
    yield ""
    scope = "".join(f" · {name}={value}" for name, value in sorted(told.scope.items()))
    yield f"{told.start.isoformat(' ', 'minutes')} – {told.end.isoformat(' ', 'minutes')}{scope}"


def _answer(answer: Mapping[str, Any]) -> Iterator[str]:
    yield _line(text(answer, "headline"))
    sentences = items(answer, "sentences")
    if sentences:
        yield ""
    for sentence in sentences:
        yield f"- {_line(text(sentence, 'text'))}{_citation(texts(sentence, 'evidence'))}"


def _facts(answer: Mapping[str, Any], language: str) -> Iterator[str]:
    facts = items(answer, "facts")
    if facts:
        yield _COLUMNS[language]
        yield "|---|---|---|---|---|"
    for fact in facts:
        role, verification = (
            _WORDS.get(text(fact, name), {}).get(language, text(fact, name))
            for name in ("role", "verification")
        )
        cells = (text(fact, "id"), text(fact, "fact"), role, verification)
        cited = ", ".join(texts(fact, "evidence"))
        yield f"| {' | '.join(_cell(cell) for cell in (*cells, cited))} |"


def _next_checks(answer: Mapping[str, Any]) -> Iterator[str]:
    for check in items(answer, "next_checks"):
        arguments = json.dumps(mapping(check, "arguments"), ensure_ascii=False)
        yield f"- {text(check, 'tool')} {_line(arguments)}: {_line(text(check, 'why'))}"


def _evidence(answer: Mapping[str, Any]) -> Iterator[str]:
    digests = {text(call, "id"): text(call, "digest") for call in items(answer, "calls")}
    for each in items(answer, "evidence"):
        name = text(each, "id")
        asked, where = _line(text(each, "asked")), _line(text(each, "where"))
        yield f"- {name} {text(each, 'tool')}: {asked} ({where}), SHA-256 {digests.get(name, '')}"


def _citation(ids: list[str]) -> str:
    return f" [{', '.join(ids)}]" if ids else ""


def _line(words: str) -> str:
    return " ".join(words.split())


def _cell(words: str) -> str:
    return _line(words).replace("|", "\\|")
