"""Evidence as it stands in prompts, bounded and told apart from words, and as facts cite it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from alfred.nodes.checkable import Excerpts
from alfred.nodes.diagnosis_shapes import items, text, texts

MAX_CHARS = 6_000
"""All evidence of a prompt, some 1,500 tokens."""
MAX_LINES = 10
MAX_LINE_CHARS = 220
MAX_SENTENCE_CHARS = 320
MAX_QUESTION_CHARS = 600
_TELLING = re.compile(
    r"error|fail|fatal|panic|exception|timed? ?out|timeout|refused|denied|oom|kill|full|exhaust"
    r"|firing|restart|crash|unhealthy|critical|exceed|expired|->|^[+-]|错误|失败|超时|异常",
    re.IGNORECASE,
)
_WORD = re.compile(r"[!-~]{2}")
_LAST_WORD = re.compile(r"[!-~]+$")


def evidence_block(excerpts: Sequence[Mapping[str, Any]], max_chars: int = MAX_CHARS) -> str:
    """Write evidence for a prompt: a heading for each piece, its lines behind a bar.

    No line of evidence can pass for a heading or an instruction, since each begins with the bar.
    Where there is more than the bounds allow, each piece keeps its telling lines, and says how many
    are left out.
    """
    share = max_chars // max(len(excerpts), 1)
    left = max_chars
    blocks: list[str] = []
    for excerpt in excerpts:
        block = _block(excerpt, max(share, 160) if left > share else max(left, 160))
        left -= len(block)
        blocks.append(block)
    return "\n".join(blocks) or "(none)"


def barred(sentences: Iterable[str]) -> str:
    """Write sentences for a prompt as data: each in a line of its own behind a bar."""
    return "\n".join(f"| {shortened(sentence, MAX_SENTENCE_CHARS)}" for sentence in sentences)


def _block(excerpt: Mapping[str, Any], max_chars: int) -> str:
    where = f" @ {shortened(text(excerpt, 'where'), 60)}" if text(excerpt, "where") else ""
    heading = f"{text(excerpt, 'id')} {shortened(text(excerpt, 'asked'), 120)}{where}"
    lines = texts(excerpt, "lines")
    if not lines:
        return f"{heading}\n| (nothing was found)"
    kept = _kept(lines, max_chars - len(heading))
    rest = [f"(+{len(lines) - len(kept)} lines)"] if len(kept) < len(lines) else []
    return "\n".join([heading, *(f"| {line}" for line in kept), *rest])


def _kept(lines: Sequence[str], max_chars: int) -> list[str]:
    """Keep the telling lines first, within the bounds, in their own order; at least one."""
    ranked = sorted(range(len(lines)), key=lambda i: (not _TELLING.search(lines[i]), i))
    chosen: list[int] = []
    for index in ranked[:MAX_LINES]:
        cost = min(len(lines[index]), MAX_LINE_CHARS) + 3
        if chosen and cost > max_chars:
            break
        chosen.append(index)
        max_chars -= cost
    return [shortened(lines[index], MAX_LINE_CHARS) for index in sorted(chosen)]


def shortened(words: str, max_chars: int) -> str:
    """Write a text in one line of at most so many characters, cut between two words.

    A number or a name that a cut divides would be another one.
    """
    flat = " ".join(words.split())
    if len(flat) <= max_chars:
        return flat
    kept = flat[: max_chars - 1]
    if _WORD.match(flat[max_chars - 2 : max_chars]):
        kept = _LAST_WORD.sub("", kept)
    return f"{kept.rstrip()}…"


def excerpt_of(call: Mapping[str, Any]) -> dict[str, Any]:
    """Take from a call or an admitted piece of evidence what a model may see of it."""
    return {
        "id": text(call, "id"),
        "asked": text(call, "asked"),
        "where": text(call, "where"),
        "lines": texts(call, "lines"),
    }


def cited(evidence: Sequence[Mapping[str, Any]], ids: Sequence[str]) -> Excerpts:
    """Collect the lines of the pieces of evidence that are cited, with what was asked and where.

    Of a question that was answered, the numbers count that the tool put in it, and not those that
    the asker did.
    """
    lines: list[str] = []
    for excerpt in evidence:
        if text(excerpt, "id") in ids:
            lines += [_asked(excerpt), text(excerpt, "where"), *texts(excerpt, "lines")]
    return Excerpts(lines)


def cited_lines(evidence: Sequence[Mapping[str, Any]], ids: Sequence[str]) -> list[str]:
    """Collect what the tools answered in the pieces of evidence that are cited."""
    return [line for each in evidence if text(each, "id") in ids for line in texts(each, "lines")]


def _asked(excerpt: Mapping[str, Any]) -> str:
    asked = text(excerpt, "asked")
    if excerpt.get("is_negative") is True:
        return asked
    for number in sorted(texts(excerpt, "chosen"), key=len, reverse=True):
        asked = re.sub(rf"(?<![\w.]){re.escape(number)}(?!\d)", " ", asked)
    return asked


def call_line(call: Mapping[str, Any]) -> str:
    """Write a call and what came of it in one line."""
    lines = texts(call, "lines")
    came = text(call, "error") if text(call, "error") else f"{len(lines)} lines"
    return f"{text(call, 'tool')} {arguments_text(call)}: {text(call, 'outcome')}, {came}"


def arguments_text(call: Mapping[str, Any]) -> str:
    """Write the arguments of a call as JSON in one line."""
    return json.dumps(call.get("arguments") or {}, ensure_ascii=False, sort_keys=True)


def usable_calls(trace: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Keep the calls that came back with something that can be evidence, the latest round first.

    Guidance advises and is never evidence.
    """
    usable = [
        call
        for call in items({"trace": list(trace)}, "trace")
        if call.get("outcome") in ("ok", "empty") and call.get("kind") != "guidance"
    ]
    return sorted(usable, key=lambda call: call.get("round") != 2)
