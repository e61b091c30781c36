"""Which of the shown actions a correction discards or brings back, where its words alone say it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from alfred.engine.correction import ShownAction

_CLAUSES = re.compile(r"[,;，；。！!\n]+|\.(?=\s|$)|\b(?:and|but|then)\b|并且|而且|然后|[并但]")
_BETWEEN_NUMBERS = re.compile(r"(?<=\d)\s*(?:,|、|，|和|及|and|&)\s*(?=\d)")
_BETWEEN_ORDINALS = re.compile(
    r"(first|second|third|fourth|fifth|sixth|\d(?:st|nd|rd|th))(?:\s*,)?\s*(?:and\s+|&\s*)?(?:the\s+)?"
    r"(?=(?:first|second|third|fourth|fifth|sixth|last|\d+(?:st|nd|rd|th))\b)",
    re.IGNORECASE,
)
_DISCARD = re.compile(
    r"\b(?:drop|remove|delete|discard|skip|omit|leave out|get rid of|take out|no need for"
    r"|(?:i )?do(?: not|n['’]t) (?:need|want))\b"
    r"|删掉|删除|去掉|去除|移除|取消|丢掉|丢弃|不需要|不想要|不用|不要|删"
)
_KEEP = re.compile(
    r"\b(?:keep|restore|bring back|put back)\b|保留|恢复|留下|加回来|还是要|要回来|别删|不要删"
)
_FILLERS = re.compile(
    r"\b(?:the|that|this|these|those|my|please|also|again|all|both|of|them|no|yes|sorry|actions?"
    r"|numbers?|entr(?:y|ies)|well|actually)\b"
    r"|请|把|将|也|那个|这个|那条|这条|那些|这些|动作|编号|所有|全部|都|不对|不是|对了|掉|吧|了|的|[个条项号和及与、]"
)
_ORDINALS = re.compile(
    r"\b(?P<word>first|second|third|fourth|fifth|sixth|last)\b|\b(?P<digits>\d+)(?:st|nd|rd|th)\b"
    r"|第(?P<chinese>[一二三四五六七八九十]|\d+)|(?P<end>最后一?)"
)
_NUMBERS = re.compile(r"#?(\d+)")
_DANGLING = re.compile(r"(?:[\s,;，；。]|\b(?:and|but|then)\b)+$", re.IGNORECASE)
_BLANKS = re.compile(" {2,}")
_MASK = "\x1f"
_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth")
_CHINESE = "一二三四五六七八九十"
_EDGES = " \t'\"“”‘’:：-—#()（）"


@dataclass(frozen=True, kw_only=True)
class Discard:
    """What words say about whole actions, by their numbers.

    `rest` are the words that say something else, empty where nothing is left. `unclear` holds, for
    each clause that discards something else than these actions, what it names.
    """

    discarded: set[int] = field(default_factory=set[int])
    restored: set[int] = field(default_factory=set[int])
    rest: str = ""
    unclear: list[str] = field(default_factory=list[str])


def find_discarded(
    words: str, shown: Sequence[ShownAction], called: Mapping[str, Sequence[str]]
) -> Discard:
    """Read "drop the second reminder" and its like, in English and Chinese, clause by clause.

    Shapes: `called` gives the nouns by which people name what a kind of action writes. A clause is
            understood only as a whole: a verb that discards or keeps, and numbers, or a noun with
            an ordinal or with words of the action's own values. Everything else is `rest`.
    """
    here = {action["kind"] for action in shown}
    nouns = {kind: names for kind, names in called.items() if kind in here}
    discarded: set[int] = set()
    restored: set[int] = set()
    rest: list[str] = []
    unclear: list[str] = []
    for start, end, onward in _clauses(words):
        clause = _masked(words)[start:end].casefold().replace(_MASK, " ").strip()
        is_kept = _KEEP.search(clause) is not None
        verb = _KEEP if is_kept else _DISCARD
        found: set[int] = set()
        if verb.search(clause):
            named = verb.sub(" ", clause)
            found = _meant(named, shown, nouns)
            if not found and not is_kept:
                unclear.append(_BLANKS.sub(" ", _FILLERS.sub(" ", named)).strip(_EDGES))
        if found:
            (restored if is_kept else discarded).update(found)
        elif rest or _FILLERS.sub(" ", clause).strip(_EDGES):
            rest.append(words[start:onward])
    said = _BLANKS.sub(" ", "".join(rest)).strip()
    return Discard(
        discarded=discarded,
        restored=restored,
        rest=_DANGLING.sub("", said) if discarded or restored else said,
        unclear=unclear,
    )


def _masked(words: str) -> str:
    """Hide what joins numbers and ordinals, at its length, so that it does not end a clause."""
    joined = _BETWEEN_NUMBERS.sub(lambda found: _MASK * len(found[0]), words)
    return _BETWEEN_ORDINALS.sub(
        lambda found: found[1] + _MASK * (len(found[0]) - len(found[1])), joined
    )


def _clauses(words: str) -> Iterator[tuple[int, int, int]]:
    """Give where each clause begins and ends, and where the next one begins."""
    start = 0
    for found in _CLAUSES.finditer(_masked(words)):
        yield start, found.start(), found.end()
        start = found.end()
    yield start, len(words), len(words)


def _meant(
    clause: str, shown: Sequence[ShownAction], called: Mapping[str, Sequence[str]]
) -> set[int]:
    """Resolve what stands beside the verb; empty where it could mean something else."""
    known = {action["number"] for action in shown}
    bare = _FILLERS.sub(" ", clause)
    numbers = {int(number) for number in _NUMBERS.findall(bare)}
    if numbers and not _NUMBERS.sub(" ", bare).strip(_EDGES):
        # "第二个" alone is an ordinal of nothing; "3 and 5" are the numbers that are shown.
        return numbers if numbers <= known and not _ORDINALS.search(clause) else set()
    kinds, left = _kinds(clause, called)
    if len(kinds) != 1:
        return set()
    of_kind = [action for action in shown if action["kind"] in kinds]
    ordinals = [_ordinal(found, len(of_kind)) for found in _ORDINALS.finditer(left)]
    left = _FILLERS.sub(" ", _ORDINALS.sub(" ", left)).strip(_EDGES)
    if ordinals:
        is_plain = not left and all(0 < place <= len(of_kind) for place in ordinals)
        return {of_kind[place - 1]["number"] for place in ordinals} if is_plain else set()
    if left:
        return {action["number"] for action in of_kind if _says(action, left)}
    return {action["number"] for action in of_kind}


def _kinds(clause: str, called: Mapping[str, Sequence[str]]) -> tuple[set[str], str]:
    """Find the kinds whose nouns stand in a clause, and the clause without these nouns."""
    kinds: set[str] = set()
    left = clause
    for kind, nouns in called.items():
        for noun in nouns:
            word = re.escape(noun.casefold())
            pattern = rf"\b{word}s?\b" if noun.isascii() else word
            if re.search(pattern, clause):
                kinds.add(kind)
                left = re.sub(pattern, " ", left)
    return kinds, left


def _ordinal(found: re.Match[str], count: int) -> int:
    """Count from 1; the last is `count`."""
    if found["end"] or found["word"] == "last":
        return count
    if found["word"]:
        return _WORDS.index(found["word"]) + 1
    written = found["digits"] or found["chinese"]
    return int(written) if written.isdigit() else _CHINESE.index(written) + 1


def _says(action: ShownAction, words: str) -> bool:
    return any(
        words in value.casefold() for value in action["args"].values() if isinstance(value, str)
    )
