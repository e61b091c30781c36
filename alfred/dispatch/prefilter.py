"""Scores nodes for an input by their match rules (L1), without a model."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from itertools import chain
from urllib.parse import urlsplit

from ahocorasick_rs import AhoCorasick

from alfred.engine.manifest import Manifest
from alfred.engine.normalised_text import without_mark_floods
from alfred.engine.skill_input import Modality, SkillInput

MAX_URLS = 20

_URL = re.compile(r"https?://[^\s<>\"'，。；、（）《》「」]{1,2000}", re.IGNORECASE)
_KEYWORD_DOUBT = 0.5
_URL_DOUBT = 0.2
_WITHOUT_BORDERS = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "IDEOGRAPHIC")


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A node that may be meant. `matched` are the keywords and URL patterns that were found."""

    name: str
    domain: str
    score: float
    matched: tuple[str, ...]


@dataclass
class _Matched:
    keywords: list[str] = field(default_factory=list[str])
    patterns: list[str] = field(default_factory=list[str])


class Prefilter:
    """The match rules of a set of nodes, compiled once.

    A node's score is its evidence times its weight. Evidence: each different keyword found halves
    the doubt, a matching URL pattern leaves a fifth of it; evidence is 1 − doubt, and 0 where
    nothing matched or the modality is not among the node's. Weight: 0.5 + priority / 200, so
    that priority breaks ties and never outweighs a clear match.
    """

    def __init__(self, manifests: Iterable[Manifest]) -> None:
        self._manifests = sorted(manifests, key=lambda manifest: manifest.name)
        self._owners: dict[str, list[tuple[int, str]]] = {}
        for index, manifest in enumerate(self._manifests):
            written = {_normal(keyword): keyword for keyword in manifest.match.keywords}
            for normal, keyword in written.items():
                self._owners.setdefault(normal, []).append((index, keyword))
        self._keywords = sorted(self._owners)
        self._automaton = AhoCorasick(self._keywords)
        self._patterns = [
            (index, pattern, re.compile(translate(pattern.casefold())))
            for index, manifest in enumerate(self._manifests)
            for pattern in manifest.match.url_patterns
        ]

    def score(
        self, text: str, *, modality: Modality = "text", url: str | None = None
    ) -> dict[str, float]:
        """Score every node.

        Shapes: one entry per node; values in [0, 1]; the order of the nodes is irrelevant.
        Errors: none.
        """
        matched = self._matched(text, url)
        return {
            manifest.name: _score(manifest, matched.get(index, _Matched()), modality)
            for index, manifest in enumerate(self._manifests)
        }

    def candidates(self, given: SkillInput) -> list[Candidate]:
        """List the nodes with any evidence, the best first; ties go by priority, then by name."""
        matched = self._matched(given["text"], given["url"])
        ranked: list[tuple[float, int, str, Candidate]] = []
        for index, found in matched.items():
            manifest = self._manifests[index]
            score = _score(manifest, found, given["modality"])
            candidate = Candidate(
                name=manifest.name,
                domain=manifest.domain,
                score=score,
                matched=(*found.keywords, *found.patterns),
            )
            ranked.append((-score, -manifest.match.priority, manifest.name, candidate))
        return [
            candidate for score, _, _, candidate in sorted(ranked, key=lambda r: r[:3]) if score
        ]

    def examples(self, domain: str, count: int = 3) -> list[str]:
        """Give some keywords of a domain, those of its most important node first."""
        nodes = [m for m in self._manifests if m.domain == domain]
        nodes.sort(key=lambda manifest: (-manifest.match.priority, manifest.name))
        return [keyword for manifest in nodes for keyword in manifest.match.keywords][:count]

    def _matched(self, text: str, url: str | None) -> dict[int, _Matched]:
        found: dict[int, _Matched] = defaultdict(_Matched)
        for keyword in self._keywords_in(_normal(text)):
            for index, written in self._owners[keyword]:
                found[index].keywords.append(written)
        addresses = [url] if url else _URL.findall(text)[:MAX_URLS]
        targets = list(chain.from_iterable(_targets(address) for address in addresses))
        for index, pattern, compiled in self._patterns:
            if any(compiled.match(target) for target in targets):
                found[index].patterns.append(pattern)
        return found

    def _keywords_in(self, text: str) -> list[str]:
        seen: dict[int, None] = {}
        for number, start, end in self._automaton.find_matches_as_indexes(text, overlapping=True):
            if number not in seen and _stands_alone(text, start, end):
                seen[number] = None
        return [self._keywords[number] for number in sorted(seen)]


def score(
    text: str, manifests: Sequence[Manifest], *, modality: Modality = "text", url: str | None = None
) -> dict[str, float]:
    """Score every node's match rules against a text, as `Prefilter.score` does."""
    return Prefilter(manifests).score(text, modality=modality, url=url)


def _score(manifest: Manifest, matched: _Matched, modality: Modality) -> float:
    if modality not in manifest.match.modalities:
        return 0.0
    doubt = _KEYWORD_DOUBT ** len(matched.keywords) * (_URL_DOUBT if matched.patterns else 1.0)
    return (1.0 - doubt) * (0.5 + manifest.match.priority / 200)


def _normal(text: str) -> str:
    valid = text.encode("utf-8", "replace").decode("utf-8").replace("’", "'")
    folded = unicodedata.normalize("NFKC", without_mark_floods(valid)).casefold()
    return " ".join(folded.split())


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Say whether a match is no part of a longer word: "c" in "用c写", but not in "css"."""
    before = start > 0 and _is_word(text[start]) and _is_word(text[start - 1])
    after = end < len(text) and _is_word(text[end - 1]) and _is_word(text[end])
    return not before and not after


def _is_word(char: str) -> bool:
    """Say whether a character belongs to a script that separates words."""
    if char.isascii():
        return char.isalnum() or char == "_"
    if not (char.isalnum() or unicodedata.combining(char)):
        return False
    return not unicodedata.name(char, "").startswith(_WITHOUT_BORDERS)


def _targets(address: str) -> list[str]:
    """Give what a URL pattern may match: the path, and the whole address."""
    whole = address.casefold()
    try:
        return [urlsplit(whole).path, whole]
    except ValueError:
        return [whole]
